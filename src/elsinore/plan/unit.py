"""Units: queries that one operator runs over one keyed stream; and the plan they make up.

A unit says everything that a driver needs to bring events to an operator: what they are keyed by,
what their classes are, which columns travel with them. What the operator does with them is in
`spec`, which only the unit's kind of query reads (`elsinore.operators`).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from elsinore.model.expression import Expression, attributes
from elsinore.model.query import Query, Workload
from elsinore.plan.classes import Classes


class Travel(Enum):
    """The form in which a column is sent to the operator."""

    DOUBLE = "double"  # as doubles; NaN, like null, is null
    RANK = "rank"  # as 64-bit integers in the order of the values (`elsinore.operators.ranks`)
    RAW = "raw"  # as the input has it; a dictionary is decoded


@dataclass(frozen=True, slots=True)
class Carried:
    """A column that is sent to the operator beside key, group, time and class.

    `name` is its name in the operator's batches; `source` the attribute, or an expression over the
    event's attributes with any variables.
    """

    name: str
    source: str | Expression
    travel: Travel

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it is made from."""
        if isinstance(self.source, str):
            return (self.source,)
        return tuple(
            attribute.name for attribute in attributes(self.source) if attribute.name is not None
        )

    @property
    def quoted(self) -> str:
        """The attributes as messages name them."""
        return ", ".join(f"'{name}'" for name in self.attributes)


@dataclass(frozen=True, slots=True)
class Partition:
    """How a stream is partitioned: the attributes of keys, and those that must have a value.

    Events are keyed by `group_by + equivalence`; results are by `group_by` alone. A null in one of
    `required` makes an event match nothing.
    """

    group_by: tuple[str, ...] = ()
    equivalence: tuple[str, ...] = ()  # those not in group_by already
    required: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes that events are keyed by."""
        return self.group_by + self.equivalence


def partition_of(query: Query) -> Partition:
    """Return how a query partitions the stream.

    >>> from elsinore.language import parse_workload
    >>> text = "QUERY q RETURN a, COUNT(*) PATTERN X WHERE [b, a] GROUP BY a;"
    >>> partition_of(parse_workload(text).queries[0])
    Partition(group_by=('a',), equivalence=('b',), required=('a', 'b'))
    """
    group_by = tuple(sorted(query.group_by))
    remaining = tuple(sorted(set(query.equivalence) - set(group_by)))
    return Partition(group_by, remaining, tuple(sorted(query.equivalence)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Queries of one kind with equal partitions of the stream: one operator for each partition.

    An operator numbers its queries by their places here. `predicate_sets` has, by type, sets of
    local predicates: an event is used if it satisfies all predicates of a set, or if its type is
    among `types` and has no sets. With `keeps_all`, the operator also receives unused events, with
    a class below 0.
    """

    kind: str  # the module that has the kind as KIND
    queries: tuple[int, ...]  # their numbers in the workload
    names: tuple[str, ...]
    types_of: tuple[tuple[str, ...], ...]  # [query] -> the event types that it names
    partition: Partition
    classes: Classes
    columns: tuple[Carried, ...] = ()
    predicate_sets: tuple[tuple[str, tuple[frozenset[Expression], ...]], ...] = ()
    keeps_all: bool = False
    spec: object = None

    @property
    def group_by(self) -> tuple[str, ...]:
        """The attributes that results are grouped by."""
        return self.partition.group_by

    @property
    def equivalence(self) -> tuple[str, ...]:
        """The attributes that are in keys and not in groups."""
        return self.partition.equivalence

    @property
    def required(self) -> tuple[str, ...]:
        """The attributes whose null makes an event match nothing."""
        return self.partition.required

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes that events are keyed by."""
        return self.partition.key

    @property
    def types(self) -> tuple[str, ...]:
        """The event types that some query of the unit takes."""
        return tuple(classes.type for classes in self.classes.types)

    @property
    def carried(self) -> tuple[str, ...]:
        """The attributes that columns are made from, each once."""
        return tuple(dict.fromkeys(name for column in self.columns for name in column.attributes))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes the unit reads, each once."""
        read = (*self.key, *self.required, *sorted(self.classes.attributes), *self.carried)
        return tuple(dict.fromkeys(read))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a workload is run; `aggregates` are those that the user defines, by name."""

    workload: Workload
    units: tuple[Unit, ...]
    aggregates: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def types(self) -> tuple[str, ...]:
        """The event types that the workload names."""
        return tuple(dict.fromkeys(name for unit in self.units for name in unit.types))

    @property
    def passes(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of units with equal partitions: one pass over the events for each of them."""
        by_partition: dict[Partition, list[int]] = {}
        for number, unit in enumerate(self.units):
            by_partition.setdefault(unit.partition, []).append(number)
        return tuple(map(tuple, by_partition.values()))


def fingerprint(meaning: object) -> str:
    """Return a digest that two values share only if they are equal.

    They are built of records, tuples, sets and plain values. The order of a set's members, which
    differs from process to process, does not matter, nor do fields that are not compared.

    >>> fingerprint((1, frozenset("ab"))) == fingerprint((1, frozenset("ba")))
    True
    """
    return hashlib.sha256(_canonical(meaning).encode()).hexdigest()[:16]


def _canonical(value: object) -> str:
    if dataclasses.is_dataclass(value):
        fields = (
            _canonical(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare
        )
        return f"{type(value).__name__}({','.join(fields)})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_canonical, value)))}}}"
    if isinstance(value, tuple):
        return f"({','.join(map(_canonical, value))})"
    return repr(value)
