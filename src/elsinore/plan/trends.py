"""Planning trend queries: which of them run together, each by its path, and what they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import NamedTuple, TypeVar, cast

from elsinore.errors import QueryError, raise_errors
from elsinore.model.expression import Duration, Expression, walk
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.between import is_local
from elsinore.plan.classes import Classes, classes_of
from elsinore.plan.merged import MergedTemplate, merge_templates
from elsinore.plan.modes import PlanOptions
from elsinore.plan.paths import Path, Routed, Routes, Way
from elsinore.plan.stored import Negatives, stored_template
from elsinore.plan.template import Cut, Template
from elsinore.plan.unit import Carried, Partition, Travel, Unit, fingerprint, partition_of

MOST_SHIFTS = 2**6  # of one operator: each of its totals contains all of them
Result = TypeVar("Result")


class Cache(dict[object, object]):
    """Results of engines' computations on a unit, cached in this process and not pickled.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(Cache(layout=1)))
    {}
    """

    def __reduce__(self) -> tuple[type[Cache], tuple[()]]:
        return Cache, ()


class Squared(NamedTuple):
    """An attribute that is looked at from shifts: in events of these types, in such windows."""

    attribute: str
    types: frozenset[str]
    window: Window | None


@dataclass(frozen=True)
class TrendUnit:
    """What the trend engine reads of a unit: its queries' templates, all on one path."""

    path: Path
    why: tuple[Way, ...]  # for each query, why it goes this way
    members: tuple[Template, ...]
    templates: tuple[Template, ...]  # that the engine runs; none on the path SETS
    classes: Classes
    merged: MergedTemplate
    exact: bool = False  # whether it computes with integers of any size
    cache: Cache = field(init=False, repr=False, compare=False, default_factory=Cache)

    @cached_property
    def addends(self) -> tuple[Addend, ...]:
        """The columns of numbers that sums add up: attributes' values, deviations and squares."""
        return tuple(
            dict.fromkeys(
                Addend.of(entry.kind, entry.attribute, member.query.window, entry.turn)
                for member in self.members
                for entry in member.aggregation.linear
                if entry.attribute is not None and entry.kind is not FieldKind.PRESENT
            )
        )

    @cached_property
    def summed(self) -> tuple[str, ...]:
        """The attributes that addends are made from."""
        return tuple(dict.fromkeys(addend.attribute for addend in self.addends))

    @cached_property
    def squared(self) -> tuple[Squared, ...]:
        """The attributes with shifts, each with the types of events that share a shift.

        Each type has its own shifts, unless these are too many for partial totals.
        """
        spreads = dict.fromkeys(
            (spread.attribute, spread.type, member.query.window)
            for member in self.members
            for spread in member.aggregation.spreads
        )
        if len(spreads) <= MOST_SHIFTS:
            return tuple(Squared(name, frozenset({kind}), window) for name, kind, window in spreads)
        types: dict[tuple[str, Window | None], set[str]] = {}
        for name, kind, window in spreads:
            types.setdefault((name, window), set()).add(kind)
        return tuple(Squared(name, frozenset(of), window) for (name, window), of in types.items())

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The attributes that MIN and MAX read."""
        entries = (entry for member in self.members for entry in member.aggregation.extremes)
        kinds = {FieldKind.LEAST, FieldKind.GREATEST}
        return tuple(
            dict.fromkeys(
                entry.attribute
                for entry in entries
                if entry.kind in kinds and entry.attribute is not None
            )
        )

    @cached_property
    def linear(self) -> int:
        """The sums of the query that has most of them."""
        return max((len(member.aggregation.linear) for member in self.members), default=0)

    @cached_property
    def extremes(self) -> int:
        """The least and greatest values of the query that has most of them."""
        return max((len(member.aggregation.extremes) for member in self.members), default=0)

    def place(self, attribute: str, event_type: str, window: Window | None) -> int:
        """Return which of `squared` a type's values of an attribute are, in such windows."""
        return next(
            number
            for number, squared in enumerate(self.squared)
            if (squared.attribute, squared.window) == (attribute, window)
            and event_type in squared.types
        )

    @property
    def keeps_all(self) -> bool:
        """Whether events that no state takes matter all the same: they break CONTIGUOUS runs."""
        return any(member.query.strategy is Strategy.CONTIGUOUS for member in self.members)

    @cached_property
    def has_fine_lengths(self) -> bool:
        """Whether predicates between two events have constants with parts of a microsecond."""
        return any(
            isinstance(node, Duration) and node.nanoseconds % 1_000 > 0
            for member in self.members
            for predicate in member.query.where
            if not is_local(predicate)
            for node in walk(predicate)
        )

    @property
    def compared(self) -> tuple[str, ...]:
        """The attributes that predicates between two events read."""
        return tuple(sorted({name for member in self.members for name in member.compared}))

    @property
    def columns(self) -> tuple[Carried, ...]:
        """What travels to the operator."""
        addend = Travel.RAW if self.exact else Travel.DOUBLE
        return (
            *(Carried(f"sum:{name}", name, addend) for name in self.summed),
            *(Carried(f"rank:{name}", name, Travel.RANK) for name in self.ranked),
            *(Carried(f"pair:{name}", name, Travel.RAW) for name in self.compared),
        )

    @property
    def predicate_sets(self) -> dict[str, tuple[frozenset[Expression], ...]]:
        """The sets of local predicates of states, by type (see `Unit.predicate_sets`)."""
        by_type: dict[str, dict[frozenset[Expression], None]] = {}
        for member in self.members:
            for template in (member, *member.negatives_at_any_depth):
                for state in template.states:
                    by_type.setdefault(state.type, {})[state.needs] = None
        return {name: tuple(needs) for name, needs in by_type.items()}

    @cached_property
    def fingerprint(self) -> str:
        """A digest that two units share only if their states mean the same."""
        return fingerprint((self.members, self.exact))


def once_per_unit(function: Callable[[TrendUnit], Result]) -> Callable[[TrendUnit], Result]:
    """Let a function of a unit keep its result with the unit."""

    @wraps(function)
    def cached(unit: TrendUnit) -> Result:
        if function not in unit.cache:
            unit.cache[function] = function(unit)
        return cast("Result", unit.cache[function])

    return cached


def plan_trends(
    queries: Sequence[tuple[int, Query]], kind: str, options: PlanOptions
) -> tuple[Unit, ...]:
    """Plan trend queries, given with their numbers in the workload; `kind` is their units'.

    Raises the errors of all of them at once: QuerySemanticError where a query cannot be aggregated
    (`guarded_template`).
    """
    errors: list[QueryError] = []
    routed: dict[int, Routed] = {}
    routes = Routes(options.granularity, exact=options.exact)
    for number, query in queries:
        try:
            routed[number] = routes.of(query)
        except QueryError as error:
            errors.append(error)
    raise_errors(errors)
    together: dict[tuple[Partition, Path], list[int]] = {}
    for number, query in queries:
        together.setdefault((partition_of(query), routed[number].path), []).append(number)
    return tuple(
        unit_of(
            kind, partition, numbers, trend_unit([routed[n] for n in numbers], exact=options.exact)
        )
        for (partition, _), numbers in together.items()
    )


def unit_of(kind: str, partition: Partition, numbers: Sequence[int], spec: TrendUnit) -> Unit:
    """Return the unit of some queries, given by their numbers, that is of a kind."""
    return Unit(
        kind=kind,
        queries=tuple(numbers),
        names=tuple(member.query.name for member in spec.members),
        types_of=tuple(tuple(member.predicates) for member in spec.members),
        partition=partition,
        classes=spec.classes,
        columns=spec.columns,
        predicate_sets=tuple(spec.predicate_sets.items()),
        keeps_all=spec.keeps_all,
        spec=spec,
    )


def trend_unit(routed: Sequence[Routed], *, exact: bool = False) -> TrendUnit:
    """Return what the engine reads of queries that go one way."""
    local: dict[str, dict[Expression, None]] = {}
    for route in routed:
        for type_name, predicates in sorted(route.guarded.predicates.items()):
            ordered = sorted(predicates, key=repr)
            local.setdefault(type_name, {}).update(dict.fromkeys(ordered))
    path, members = routed[0].path, tuple(route.guarded for route in routed)
    if path is Path.GRAPH and any(member.negatives for member in members):
        templates, merged = _stored_and_merged(members)
    else:
        templates = tuple(route.template for route in routed if route.template is not None)
        merged = merge_templates(templates)
    return TrendUnit(
        path=path,
        why=tuple(route.why for route in routed),
        members=members,
        templates=templates,
        classes=classes_of(local.items()),
        merged=merged,
        exact=exact,
    )


def stored_unit(unit: TrendUnit, is_range: Callable[[Cut], bool]) -> TrendUnit:
    """Return a unit of the path GRAPH with other templates; is_range: as for `stored`."""
    templates, merged = _stored_and_merged(unit.members, is_range)
    return replace(unit, templates=templates, merged=merged)


def _stored_and_merged(
    members: Sequence[Template], is_range: Callable[[Cut], bool] = lambda _: True
) -> tuple[tuple[Template, ...], MergedTemplate]:
    """Return templates of queries, and these merged with templates of the patterns under NOT."""
    negatives = Negatives()
    templates = [stored_template(member, negatives, is_range) for member in members]
    known = tuple(template for template in templates if isinstance(template, Template))
    assert len(known) == len(templates)
    return known, merge_templates(known, negatives.templates(is_range))
