"""Plans: a workload taken apart into units that run over one keyed stream each (DESIGN 4, 5)."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.errors import QueryError, Span, UnsupportedError, raise_errors
from elsinore.model import expression as ex
from elsinore.model.check import first_value_of_a_match
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query, Workload
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.classes import Classes, classes_of
from elsinore.plan.fingerprint import fingerprint
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.merged import MergedTemplate, merge_templates
from elsinore.plan.modes import Granularity
from elsinore.plan.paths import Path, Routed, route
from elsinore.plan.predicates import place_of
from elsinore.plan.template import Template


@dataclass(frozen=True, slots=True)
class Unit:
    """Queries that partition the stream in the same way: one shuffle, one operator.

    Events are partitioned by `group_by + equivalence`; results are by `group_by` alone.
    """

    queries: tuple[int, ...]  # their numbers in the workload
    path: Path
    why: tuple[str, ...]  # for each query, why it goes this way
    templates: tuple[Template, ...]  # on the coarse and the shared path
    guarded: tuple[GuardedTemplate, ...]  # on the others
    group_by: tuple[str, ...]
    equivalence: tuple[str, ...]  # those not in group_by already
    required: tuple[str, ...]  # attributes whose null makes an event match nothing
    classes: Classes
    merged: MergedTemplate
    exact: bool = False  # whether it computes with integers of any size

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes that events are partitioned by."""
        return self.group_by + self.equivalence

    @property
    def members(self) -> tuple[Template | GuardedTemplate, ...]:
        """The templates of the queries, whichever kind the path has."""
        return self.templates + self.guarded

    @property
    def keeps_all(self) -> bool:
        """Whether events that no state takes matter all the same: they break CONTIGUOUS runs."""
        return any(one.query.strategy is Strategy.CONTIGUOUS for one in self.members)

    @property
    def compared(self) -> tuple[str, ...]:
        """The attributes that predicates between two events read."""
        read = {name for one in self.guarded for name in one.compared}
        for one in self.templates:
            for move in one.transitions:
                if move.adjacent is not None:
                    read |= {move.adjacent.current, move.adjacent.previous}
        return tuple(sorted(read))

    @property
    def types(self) -> tuple[str, ...]:
        """The event types that some query of the unit takes."""
        return tuple(classes.type for classes in self.classes.types)

    @property
    def summed(self) -> tuple[str, ...]:
        """The attributes that SUM and AVG read."""
        return self._read({FieldKind.SUM, FieldKind.PRESENT})

    @property
    def ranked(self) -> tuple[str, ...]:
        """The attributes that MIN and MAX read."""
        return self._read({FieldKind.LEAST, FieldKind.GREATEST})

    def _read(self, kinds: set[FieldKind]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for one in self.members:
            for entry in one.aggregation.linear + one.aggregation.extremes:
                if entry.kind in kinds and entry.attribute is not None:
                    found[entry.attribute] = None
        return tuple(found)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes the unit reads, each once."""
        read = dict.fromkeys(self.key)
        read.update(dict.fromkeys(sorted(self.classes.attributes)))
        read.update(dict.fromkeys(self.summed + self.ranked + self.compared))
        return tuple(read)

    @property
    def fingerprint(self) -> str:
        """A digest that two units share only if their states mean the same."""
        return fingerprint((self.members, self.group_by, self.equivalence, self.required))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a workload is run."""

    workload: Workload
    units: tuple[Unit, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """The event types that the workload names."""
        return tuple(dict.fromkeys(name for unit in self.units for name in unit.types))


def plan(workload: Workload, *, granularity: Granularity = Granularity.AUTO) -> Plan:
    """Plan a workload.

    Raises the errors of all its queries at once: UnsupportedError where a clause has no engine
    yet, QuerySemanticError where a query cannot be aggregated (`guarded_template`).
    """
    errors: list[QueryError] = []
    routed: list[Routed] = []
    for query in workload:
        try:
            routed.append(route(_trend_query(query), granularity, exact=workload.exact))
        except QueryError as error:
            errors.append(error)
    raise_errors(errors)
    by_key: dict[tuple[tuple[tuple[str, ...], ...], Path], list[int]] = {}
    for number, query in enumerate(workload):
        by_key.setdefault((_partition(query), routed[number].path), []).append(number)
    units = tuple(
        _unit(partition, path, numbers, [routed[n] for n in numbers], exact=workload.exact)
        for (partition, path), numbers in by_key.items()
    )
    return Plan(workload, units)


def _trend_query(query: Query) -> Query:
    value = first_value_of_a_match(query)
    if value is not None:
        raise UnsupportedError(
            "RETURN: queries that return matches are not supported yet; aggregates over all "
            "trends, such as COUNT(*) or SUM(T.x), are.",
            span=place_of(value) or query.span,
            query=query.name,
        )
    return query


def _partition(query: Query) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    group_by = tuple(sorted(query.group_by))
    rest = tuple(sorted(set(query.equivalence) - set(group_by)))
    return group_by, rest, tuple(sorted(query.equivalence))


def _unit(
    partition: tuple[tuple[str, ...], ...],
    path: Path,
    numbers: list[int],
    routed: list[Routed],
    *,
    exact: bool,
) -> Unit:
    local: dict[str, dict[Expression, None]] = {}
    for one in routed:
        for type_name, predicates in sorted(one.template.predicates.items()):
            ordered = sorted(predicates, key=repr)
            local.setdefault(type_name, {}).update(dict.fromkeys(ordered))
    group_by, equivalence, required = partition
    templates = tuple(r.template for r in routed if isinstance(r.template, Template))
    return Unit(
        queries=tuple(numbers),
        path=path,
        why=tuple(one.why for one in routed),
        templates=templates,
        guarded=tuple(r.template for r in routed if isinstance(r.template, GuardedTemplate)),
        group_by=group_by,
        equivalence=equivalence,
        required=required,
        classes=classes_of(local.items()),
        merged=merge_templates(templates),
        exact=exact,
    )


def attributes_read(query: Query) -> tuple[tuple[str, Span | None], ...]:
    """Return every attribute a query reads, with its place in the text where known."""
    read: list[tuple[str, Span | None]] = [
        (name, query.places.get(clause, query.span))
        for clause, names in (("GROUP BY", query.group_by), ("[ ]", query.equivalence))
        for name in names
    ]
    for expression in (*query.where, *(item.expression for item in query.returns)):
        read.extend(
            (found.name, found.span)
            for found in ex.attributes(expression)
            if found.name is not None
        )
    return tuple(read)
