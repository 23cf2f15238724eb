"""Units of match queries: their templates and statistics, and how they are planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Self

import pyarrow as pa

from elsinore.errors import QueryError, raise_errors
from elsinore.matches.aggregates import user_aggregates
from elsinore.matches.build import match_template
from elsinore.matches.columns import partial_schema
from elsinore.matches.template import MatchTemplate, column_of
from elsinore.model.clock import Clock
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import Carried, Partition, Travel, Unit, partition_of
from elsinore.plan.classes import classes_of
from elsinore.plan.modes import Uncertainty
from elsinore.plan.trends import Cache
from elsinore.plan.unit import fingerprint


@dataclass(frozen=True, slots=True)
class MatchUnit:
    """The templates of a unit's queries."""

    templates: tuple[MatchTemplate, ...]
    cache: Cache = field(init=False, repr=False, compare=False, default_factory=Cache)

    @property
    def fingerprint(self) -> str:
        """A digest that is equal for two units only if one can load the states of the other."""
        if "fingerprint" not in self.cache:  # each state that is saved or loaded has it
            self.cache["fingerprint"] = fingerprint(self.templates)
        return str(self.cache["fingerprint"])

    def partials(self, types: Mapping[str, pa.DataType]) -> list[pa.Schema]:
        """Return the schemas of partial outputs, query by query."""
        return [partial_schema(template, types) for template in self.templates]


@dataclass(slots=True)
class MatchStatistics(OperatorStatistics):
    """The counters of a match operator.

    `open_windows` [query]: windows relative to a match that are open at the end of a stream without
    an end, one for each event with which a match may begin.
    """

    open_windows: tuple[int, ...] = ()

    def added(self, other: Self) -> Self:
        """Return the sums of the counters of two operators of one unit."""
        total = OperatorStatistics.added(self, other)
        pairs = zip_longest(self.open_windows, other.open_windows, fillvalue=0)
        total.open_windows = tuple(map(sum, pairs))
        return total


def spec_of(unit: Unit) -> MatchUnit:
    """Return the spec of a unit of match queries."""
    if not isinstance(unit.spec, MatchUnit):
        raise TypeError(f"not a unit of match queries: {unit.names}")
    return unit.spec


def plan_matches(
    queries: Sequence[tuple[int, Query]],
    kind: str,
    aggregates: Mapping[str, object] | None = None,
    attributes: tuple[str, ...] = (),
    uncertain: Uncertainty | None = None,
    clock: Clock | None = None,
) -> tuple[Unit, ...]:
    """Plan match queries with their numbers in the workload, as units of `kind`.

    `aggregates` are those that the user defines, by name; `attributes` those of events, if known;
    `uncertain` describes times that are intervals; `clock` counts times.
    Raises the errors of all of them at once (`match_template`).
    """
    made = user_aggregates(aggregates or {}, [query for _, query in queries])
    errors: list[QueryError] = []
    templates: dict[int, MatchTemplate] = {}
    for number, query in queries:
        try:
            templates[number] = match_template(query, made, attributes, uncertain, clock)
        except QueryError as error:
            errors.append(error)
    raise_errors(errors)
    together: dict[Partition, list[int]] = {}
    for number, query in queries:
        together.setdefault(partition_of(query), []).append(number)
    return tuple(
        match_unit(kind, partition, numbers, [templates[n] for n in numbers])
        for partition, numbers in together.items()
    )


def match_unit(
    kind: str,
    partition: Partition,
    numbers: Sequence[int],
    templates: Sequence[MatchTemplate],
) -> Unit:
    """Return the unit of queries that partition the stream equally."""
    local: dict[str, dict[Expression, None]] = {}
    predicate_sets: dict[str, dict[frozenset[Expression], None]] = {}
    for template in templates:
        for name, predicates in sorted(template.predicates.items()):
            local.setdefault(name, {}).update(dict.fromkeys(sorted(predicates, key=repr)))
        for name, needs in template.predicate_sets.items():
            predicate_sets.setdefault(name, {}).update(needs)
    attributes = dict.fromkeys(name for template in templates for name in template.attributes)
    computed = dict(pair for template in templates for pair in template.computed)
    carried = [
        Carried(column_of(name), computed.get(name, name), Travel.RAW) for name in attributes
    ]
    return Unit(
        kind=kind,
        queries=tuple(numbers),
        names=tuple(template.query.name for template in templates),
        types_of=tuple(tuple(template.predicates) for template in templates),
        partition=partition,
        classes=classes_of(local.items()),
        columns=tuple(carried),
        predicate_sets=tuple((name, tuple(needs)) for name, needs in predicate_sets.items()),
        keeps_all=any(t.strategy is Strategy.CONTIGUOUS for t in templates),
        spec=MatchUnit(tuple(templates)),
    )
