"""What the match engine reads of a unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from elsinore.errors import QueryError, raise_errors
from elsinore.matches.aggregates import user_aggregates
from elsinore.matches.columns import partial_schema
from elsinore.matches.template import MatchTemplate, match_template
from elsinore.model.clock import Clock
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan import Carried, Partition, Travel, Unit, partition_of
from elsinore.plan.classes import classes_of
from elsinore.plan.modes import Uncertainty
from elsinore.plan.trends import Kept
from elsinore.plan.unit import fingerprint

_VALUE = "value:"  # before an attribute, in the name of its column


@dataclass(frozen=True, slots=True)
class MatchUnit:
    """The templates of a unit's queries, of a unit."""

    templates: tuple[MatchTemplate, ...]
    kept: Kept = field(init=False, repr=False, compare=False, default_factory=Kept)

    @property
    def fingerprint(self) -> str:
        """A digest that two units share only if their states mean the same."""
        if "fingerprint" not in self.kept:  # each state that is saved or loaded has it
            self.kept["fingerprint"] = fingerprint(self.templates)
        return str(self.kept["fingerprint"])

    def partials(self, types: Mapping[str, pa.DataType]) -> list[pa.Schema]:
        """Return the schemas of partial outputs, query by query."""
        return [partial_schema(template, types) for template in self.templates]


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
    """Plan match queries, given with their numbers in the workload; `kind` is their units'.

    `aggregates` are those that the user defines, by name, `attributes` what events have,
    `uncertain` what is known of times that are intervals; `clock` counts times.
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
    wanted: dict[str, dict[frozenset[Expression], None]] = {}
    for template in templates:
        for name, predicates in sorted(template.predicates.items()):
            local.setdefault(name, {}).update(dict.fromkeys(sorted(predicates, key=repr)))
        for name, needs in template.wanted.items():
            wanted.setdefault(name, {}).update(needs)
    attributes = dict.fromkeys(name for template in templates for name in template.attributes)
    computed = dict(pair for template in templates for pair in template.computed)
    return Unit(
        kind=kind,
        queries=tuple(numbers),
        names=tuple(template.query.name for template in templates),
        types_of=tuple(tuple(template.predicates) for template in templates),
        partition=partition,
        classes=classes_of(local.items()),
        columns=tuple(_carried(name, computed.get(name)) for name in attributes),
        wanted=tuple((name, tuple(needs)) for name, needs in wanted.items()),
        keeps_all=any(t.strategy is Strategy.CONTIGUOUS for t in templates),
        spec=MatchUnit(tuple(templates)),
    )


def _carried(name: str, computed: Expression | None) -> Carried:
    if computed is not None:
        return Carried(f"{_VALUE}{name}", computed, Travel.RAW)
    return Carried(f"{_VALUE}{name}", name, Travel.RAW)


def attribute_of(column: Carried) -> str:
    """Return the attribute that a column of a unit of match queries holds."""
    return column.name.removeprefix(_VALUE)
