"""The reference engine: it builds every trend separately, according to the definitions.

It is small, slow and easy to read, and tests compare the real engine with it. It uses patterns and
expressions, and none of the templates, classes and sums that make the engine fast.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from elsinore.errors import InputError, UnsupportedError
from elsinore.language import column_name
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.evaluate import is_true
from elsinore.model.expression import Attribute, Call, Column, Expression, Reference
from elsinore.model.kinds import Strategy
from elsinore.model.pattern import Pattern
from elsinore.model.query import Query

LIMIT = 10**6  # trends of one group in one window; there are 2**n of n events


@dataclass(frozen=True, slots=True)
class ReferenceEvent:
    """An event: its time in microseconds, its type, its attributes (absent ones are null)."""

    time: int
    type: str
    attributes: Mapping[str, Any]

    def value(self, name: str | None) -> Any:
        """Return an attribute's value, None for null and NaN; `time` unless it is one of them."""
        if name == "time" and name not in self.attributes:
            return self.time
        value = self.attributes.get(name or "")
        return None if isinstance(value, float) and math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """A row of a result: group, window (None without WITHIN), exact values by column name."""

    group: tuple[Any, ...]
    window: tuple[int, int] | None
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """An event, by its place in a part of the stream, and its variable.

    `branches`: the branches of OR in which the variable was bound.
    """

    event: int
    variable: str
    branches: tuple[int, ...] = ()


# The bound events in order, and each NOT between them.
Assignment = tuple[Step | pt.Negation, ...]


def reference(
    query: Query, events: Iterable[ReferenceEvent], *, ordered: bool = False
) -> list[ReferenceRow]:
    """Return the result of a trend query over events in stream order, a row per group and window.

    Counts and sums are exact (int or Fraction), averages are Fractions. `ordered`: simultaneous
    events follow each other in stream order, as with a tie-breaking column; otherwise neither
    precedes the other. Nulls in GROUP BY form a group, as in SQL; in `[ ]` a null equals nothing,
    so its event is in no trend. Raises InputError for more than `LIMIT` trends, and for a trend
    with two readings that give an aggregate two values; UnsupportedError for predicates on other
    events than one or two neighbours, and for AND of more than two patterns or with other
    aggregates than COUNT(*). (HAMLET, Section 2.)

    >>> from elsinore.model import Event, Kleene, ReturnItem
    >>> count = ReturnItem(Call("COUNT", ()))
    >>> query = Query(name="q", returns=(count,), pattern=Kleene(Event("A", "a"), 1, None))
    >>> [row.values for row in reference(query, [ReferenceEvent(t, "A", {}) for t in range(3)])]
    [{'count(*)': 7}]
    """
    _refuse_predicates_across(query)
    parts_of: dict[tuple[Any, ...], dict[tuple[int, int] | None, list[_Part]]] = {}
    for group, partition in _partitions(query, events):
        for window, inside in _windows(query, partition):
            part = _Part(query, inside, ordered)
            parts_of.setdefault(group, {}).setdefault(window, []).append(part)
    rows: list[ReferenceRow] = []
    for group, windows in parts_of.items():
        for window, parts in windows.items():
            values = _values(query, parts)
            if values is not None:
                rows.append(ReferenceRow(group, window, values))
    return rows


def _partitions(
    query: Query, events: Iterable[ReferenceEvent]
) -> Iterator[tuple[tuple[Any, ...], list[ReferenceEvent]]]:
    """Yield the group and the events of each partition.

    Nulls form a group, but equal nothing in `[ ]`.
    """
    parts: dict[tuple[tuple[Any, ...], tuple[Any, ...]], list[ReferenceEvent]] = {}
    for event in events:
        group = tuple(event.value(name) for name in query.group_by)
        same = tuple(event.value(name) for name in query.equivalence)
        if None not in same:
            parts.setdefault((group, same), []).append(event)
    for (group, _), part in parts.items():
        yield group, part


def _windows(
    query: Query, events: Sequence[ReferenceEvent]
) -> Iterator[tuple[tuple[int, int] | None, list[ReferenceEvent]]]:
    """Yield every window with events, and its events."""
    window = query.window
    if window is None:
        yield None, list(events)
        return
    starts: set[int] = set()
    for event in events:
        # the latest start at or before the event, and all earlier ones that still reach it
        start = window.origin + (event.time - window.origin) // window.step * window.step
        while start + window.within > event.time:
            starts.add(start)
            start -= window.step
    for start in sorted(starts):
        end = start + window.within
        yield (start, end), [event for event in events if start <= event.time < end]


class _Part:
    """The events of one partition in one window, and the trends among them."""

    def __init__(self, query: Query, events: Sequence[ReferenceEvent], ordered: bool) -> None:
        self.query = query
        self.events = events
        self._ordered = ordered
        self._known: dict[tuple[int, int | None], frozenset[Assignment]] = {}
        self._negative: dict[int, dict[tuple[int, ...], list[Assignment]]] = {}
        self._begun: dict[int, dict[tuple[Step, ...], set[Assignment]]] = {}
        self._bound: dict[str, frozenset[str]] = {}
        self._next_rounds: dict[tuple[int, str, str], bool] = {}
        self._local = [predicate for predicate in query.where if _is_local(predicate)]
        self._of_gaps: dict[str, list[Expression]] = {}  # by the variable under NOT
        self._between: list[Expression] = []
        for predicate in query.where:
            forbidden = _forbidden_in(query, predicate)
            for variable in forbidden:
                self._of_gaps.setdefault(variable, []).append(predicate)
            if not forbidden and not _is_local(predicate):
                self._between.append(predicate)

    def trends(
        self, pattern: Pattern, strategy: Strategy = Strategy.ANY
    ) -> dict[tuple[int, ...], list[Assignment]]:
        """Return the trends of a pattern: sequences of events, and the assignments of each."""
        trends: dict[tuple[int, ...], list[Assignment]] = {}
        for assignment in self._assignments(pattern, None):
            if self._allowed(pattern, assignment, strategy):
                events = tuple(step.event for step in _steps(assignment))
                trends.setdefault(events, []).append(assignment)
        return trends

    def _later(self, before: int | None, after: int | None) -> bool:
        """Return whether one event precedes another; None is before or after all events."""
        if before is None or after is None:
            return True
        if self._ordered:
            return before < after
        return self.events[before].time < self.events[after].time

    def _assignments(self, pattern: Pattern, after: int | None) -> frozenset[Assignment]:
        """Return all assignments of a pattern to events after an event."""
        place = (id(pattern), after)
        if place not in self._known:
            self._known[place] = frozenset(self._collect(self._generate(pattern, after)))
        return self._known[place]

    def _collect(self, assignments: Iterable[Assignment]) -> set[Assignment]:
        """Return different assignments. Raises InputError for more than `LIMIT`."""
        collected: set[Assignment] = set()
        for assignment in assignments:
            collected.add(assignment)
            if len(collected) > LIMIT:
                raise InputError(
                    f"There are more than {LIMIT:,} trends among {len(self.events)} events: "
                    "too many to build one by one."
                )
        return collected

    def _generate(self, pattern: Pattern, after: int | None) -> Iterator[Assignment]:
        match pattern:
            case pt.Event(type_name, variable):
                for place, event in enumerate(self.events):
                    if event.type == type_name and self._later(after, place):
                        step = Step(place, variable)
                        if self._fits(step):
                            yield (step,)
            case pt.Sequence(()):
                yield ()
            case pt.Sequence((first, *rest)):
                remaining = pt.Sequence(tuple(rest))
                for head in self._assignments(first, after):
                    for tail in self._generate(remaining, _end(head, after)):
                        yield head + tail
            case pt.Kleene(inner, least, most):
                # rounds that take no event change nothing, but count where they are possible
                rounds = 0
                level: set[Assignment] = {()}
                while level and (most is None or rounds <= most):
                    if rounds >= least or pt.nullable(inner):
                        yield from level
                    level = self._collect(
                        before + again
                        for before in level
                        for again in self._assignments(inner, _end(before, after))
                        if any(_steps(again))
                    )
                    rounds += 1
            case pt.Disjunction(parts):
                for number, part in enumerate(parts):
                    for assignment in self._assignments(part, after):
                        yield _branched(assignment, number)
            case pt.Negation():
                yield (pattern,)
            case _:
                raise TypeError(f"not a pattern of one trend: {pattern}")

    def _fits(self, step: Step) -> bool:
        """Return whether an event satisfies the local predicates of a variable."""
        event = self.events[step.event]
        return all(
            is_true(predicate, lambda attribute: event.value(attribute.name))
            for predicate in self._local
            if _binds(self.query, predicate, step.variable)
        )

    def _allowed(self, pattern: Pattern, assignment: Assignment, strategy: Strategy) -> bool:
        """Return whether predicates between events, NOT and the strategy allow an assignment."""
        steps = tuple(_steps(assignment))
        return (
            bool(steps)
            and self._related(pattern, steps)
            and not self._negated(assignment)
            and self._selected(pattern, steps, strategy)
        )

    def _negated(self, assignment: Assignment) -> bool:
        """Return whether a NOT has a match between the events around it."""
        for place, item in enumerate(assignment):
            if not isinstance(item, pt.Negation):
                continue
            last = list(_steps(assignment[:place]))[-1:]
            following = list(_steps(assignment[place:]))[:1]
            before = _end(assignment[:place], None)
            after = following[0].event if following else None
            for match in self._trends_of_negated(item.pattern):
                is_between = self._later(before, match[0]) and self._later(match[-1], after)
                if is_between and (
                    len(match) > 1 or self._relates(item.pattern, match[0], last + following)
                ):
                    return True
        return False

    def _relates(self, pattern: Pattern, forbidden: int, around: Sequence[Step]) -> bool:
        """Return whether an event under NOT fulfils the conditions on it and those around its gap.

        A condition on an unbound variable does not apply. If both events around the gap have the
        variable, the later one counts.
        """
        if not isinstance(pattern, pt.Event):
            return True
        event = self.events[forbidden]
        for predicate in self._of_gaps.get(pattern.variable, ()):
            values: dict[Attribute, Any] = {}
            for read in ex.attributes(predicate):
                named = variables_named(self.query.pattern, read.variable)
                if pattern.variable in named:
                    values[read] = event.value(read.name)
                for step in around:
                    if step.variable in named:
                        values[read] = self.events[step.event].value(read.name)
            applies = len(values) == len(set(ex.attributes(predicate)))
            if applies and not is_true(predicate, values.__getitem__):
                return False
        return True

    def _trends_of_negated(self, pattern: Pattern) -> dict[tuple[int, ...], list[Assignment]]:
        if id(pattern) not in self._negative:
            self._negative[id(pattern)] = self.trends(pattern)
        return self._negative[id(pattern)]

    def _related(self, whole: Pattern, steps: Sequence[Step]) -> bool:
        """Return whether the predicates between events hold for all pairs that they apply to."""
        return all(
            _holds(predicate, events)
            for predicate in self._between
            for events in self._readings(whole, predicate, steps)
        )

    def _readings(
        self, whole: Pattern, predicate: Expression, steps: Sequence[Step]
    ) -> Iterator[dict[Attribute, ReferenceEvent]]:
        """Yield the event of each attribute that a predicate reads, for each pair it applies to."""
        read = ex.attributes(predicate)
        kleene = pt.kleene_variables(whole)
        names = sorted({attribute.variable for attribute in read})
        references = {attribute.reference for attribute in read}
        backward = [a for a in read if a.reference is Reference.PREVIOUS]
        firsts = {a.variable for a in read if a.reference is Reference.FIRST}
        if backward and not firsts and len(names) == 1:
            # T[i] and T[i-1]: neighbours that are both bound to T
            for first, second in itertools.pairwise(steps):
                if {first.variable, second.variable} <= self._variables(names[0]):
                    yield self._reading(read, backward, first, second)
        elif len(firsts) == 1 and not backward and len(names) == 2:
            # R and T[1]: the first T, and R if it is single or stands right before it
            (after,) = firsts
            (before,) = set(names) - firsts
            earlier = [a for a in read if a.variable == before]
            places = [n for n, step in enumerate(steps) if step.variable in self._variables(after)]
            for place, step in enumerate(steps[: places[0]] if places else ()):
                near = place + 1 == places[0] or step.variable not in kleene
                if near and step.variable in self._variables(before):
                    yield self._reading(read, earlier, step, steps[places[0]])
        elif references <= {Reference.PLAIN, Reference.CURRENT} and len(names) == 2:
            # A and B: neighbours; a variable of one event is compared with all that come later
            for place, first in enumerate(steps):
                reach = None if first.variable not in kleene else place + 2
                for second in steps[place + 1 : reach]:
                    if self._is_next_round(whole, first.variable, second.variable):
                        continue
                    for before, after in (names, names[::-1]):
                        if first.variable in self._variables(before) and (
                            second.variable in self._variables(after)
                        ):
                            earlier = [a for a in read if a.variable == before]
                            yield self._reading(read, earlier, first, second)
        else:
            raise UnsupportedError("The reference engine cannot read this predicate.")

    def _reading(
        self, read: Iterable[Attribute], earlier: Sequence[Attribute], first: Step, second: Step
    ) -> dict[Attribute, ReferenceEvent]:
        return {a: self.events[first.event if a in earlier else second.event] for a in read}

    def _variables(self, name: str) -> frozenset[str]:
        if name not in self._bound:
            self._bound[name] = frozenset(variables_named(self.query.pattern, name))
        return self._bound[name]

    def _is_next_round(self, whole: Pattern, first: str, second: str) -> bool:
        place = (id(whole), first, second)
        if place not in self._next_rounds:
            self._next_rounds[place] = _is_next_round(whole, first, second)
        return self._next_rounds[place]

    def _selected(self, pattern: Pattern, steps: Sequence[Step], strategy: Strategy) -> bool:
        """Return whether the strategy lets the events between two neighbours be skipped."""
        if strategy is Strategy.ANY:
            return True
        for place, (first, second) in enumerate(itertools.pairwise(steps), start=1):
            for event in range(len(self.events)):
                if not (self._later(first.event, event) and self._later(event, second.event)):
                    continue
                if strategy is Strategy.CONTIGUOUS:
                    return False
                if self._extends(pattern, tuple(steps[:place]), event):
                    return False
        return True

    def _extends(self, pattern: Pattern, steps: tuple[Step, ...], event: int) -> bool:
        """Return whether an event can extend a run of these steps.

        It cannot if a NOT forbids it in every reading of the pattern.
        """
        if id(pattern) not in self._begun:
            begun: dict[tuple[Step, ...], set[Assignment]] = {}
            for assignment in self._beginnings(pattern, None):
                if assignment and isinstance(assignment[-1], Step):
                    taken = tuple(_steps(assignment))
                    begun.setdefault(taken[:-1], set()).add(assignment)
            self._begun[id(pattern)] = begun
        return any(
            step.event == event
            and self._related(pattern, (*steps, step))
            and not self._negated(assignment)
            for assignment in self._begun[id(pattern)].get(steps, ())
            for step in (next(_steps(assignment[-1:])),)
        )

    def _beginnings(self, pattern: Pattern, after: int | None) -> Iterator[Assignment]:
        """Yield the beginnings of assignments of a pattern, whether or not they are completed."""
        yield ()
        match pattern:
            case pt.Event():
                yield from self._assignments(pattern, after)
            case pt.Sequence((first, *rest)):
                yield from self._beginnings(first, after)
                for head in self._assignments(first, after):
                    for tail in self._beginnings(pt.Sequence(tuple(rest)), _end(head, after)):
                        yield head + tail
            case pt.Kleene(inner, _, most):
                rounds = 0
                level: set[Assignment] = {()}
                while level and (most is None or rounds < most):
                    for before in level:
                        for tail in self._beginnings(inner, _end(before, after)):
                            yield before + tail
                    level = self._collect(
                        before + again
                        for before in level
                        for again in self._assignments(inner, _end(before, after))
                        if any(_steps(again))
                    )
                    rounds += 1
            case pt.Disjunction(parts):
                for number, part in enumerate(parts):
                    for assignment in self._beginnings(part, after):
                        yield _branched(assignment, number)
            case _:
                return


def _is_next_round(whole: Pattern, first: str, second: str) -> bool:
    """Return whether `second` follows `first` only in the next round of a repeated group.

    So it is if each SEQ that contains them in different members has `second` earlier. In different
    branches of an OR neither is earlier.
    """
    orders = {
        before[step] < after[step]
        for before in _paths(whole, first)
        for after in _paths(whole, second)
        for step in (_first_difference(before, after),)
        if step is not None and before[step][0] == "SEQ"
    }
    return orders == {False}


def _paths(pattern: Pattern, variable: str) -> list[tuple[tuple[str, int], ...]]:
    """Return the paths from a pattern's root to a variable: operator and part at each step."""
    match pattern:
        case pt.Event(_, name):
            return [()] if name == variable else []
        case pt.Negation():
            return []
        case _:
            kind = "SEQ" if isinstance(pattern, pt.Sequence) else "other"
            return [
                ((kind, number), *rest)
                for number, part in enumerate(pt.children(pattern))
                for rest in _paths(part, variable)
            ]


def _first_difference(
    left: tuple[tuple[str, int], ...], right: tuple[tuple[str, int], ...]
) -> int | None:
    """Return the first step in which two paths differ; None for equal paths."""
    steps = enumerate(zip(left, right, strict=False))
    return next((number for number, (here, there) in steps if here != there), None)


def _holds(predicate: Expression, events: Mapping[Attribute, ReferenceEvent]) -> bool:
    return is_true(predicate, lambda attribute: events[attribute].value(attribute.name))


def _steps(assignment: Assignment) -> Iterator[Step]:
    return (item for item in assignment if isinstance(item, Step))


def _branched(assignment: Assignment, number: int) -> Assignment:
    """Add the number of a branch of OR to each step of an assignment."""
    return tuple(
        replace(item, branches=(number, *item.branches)) if isinstance(item, Step) else item
        for item in assignment
    )


def _end(assignment: Assignment, otherwise: int | None) -> int | None:
    """Return the last event of an assignment, or a default for empty assignments."""
    last = otherwise
    for step in _steps(assignment):
        last = step.event
    return last


def _wholes(pattern: Pattern) -> list[Pattern]:
    """Return the patterns with separate trends: the query's, and those under NOT."""
    wholes = [node.pattern for node in pt.walk(pattern) if isinstance(node, pt.Negation)]
    return wholes + (list(pattern.parts) if isinstance(pattern, pt.Conjunction) else [pattern])


def _refuse_predicates_across(query: Query) -> None:
    """Raise UnsupportedError for predicates on events of two patterns, as no trend contains both.

    A condition may relate a single event under NOT to others.
    """
    wholes = [
        {event.variable for event in pt.positive_events(whole)} for whole in _wholes(query.pattern)
    ]
    for predicate in query.where:
        if _forbidden_in(query, predicate):
            continue
        names = dict.fromkeys(attribute.variable for attribute in ex.attributes(predicate))
        for bound in itertools.product(*(variables_named(query.pattern, name) for name in names)):
            if not any(whole.issuperset(bound) for whole in wholes):
                raise UnsupportedError(
                    f"A condition on {' and '.join(bound)} relates events that are never in one "
                    "trend: those under a NOT, or of two patterns joined by AND.",
                    query=query.name,
                )


def _forbidden_in(query: Query, predicate: Expression) -> frozenset[str]:
    """Return the variables under NOT that a predicate relates to others; they have one name."""
    single = {
        node.pattern.variable
        for node in pt.walk(query.pattern)
        if isinstance(node, pt.Negation) and isinstance(node.pattern, pt.Event)
    }
    by_name = {
        frozenset(variables_named(query.pattern, attribute.variable))
        for attribute in ex.attributes(predicate)
    }
    under_not = [variables for variables in by_name if variables <= single]
    return under_not[0] if len(under_not) == 1 and len(by_name) > 1 else frozenset()


def _is_local(predicate: Expression) -> bool:
    read = ex.attributes(predicate)
    return len({attribute.variable for attribute in read}) <= 1 and all(
        attribute.reference in {Reference.PLAIN, Reference.CURRENT} for attribute in read
    )


def _binds(query: Query, predicate: Expression, variable: str) -> bool:
    """Return whether a local predicate applies to a variable; a constant applies to all."""
    read = ex.attributes(predicate)
    return not read or variable in variables_named(query.pattern, read[0].variable)


def _values(query: Query, parts: Sequence[_Part]) -> dict[str, Any] | None:
    """Return the aggregates over all trends of the parts of a group; None if there is no trend."""
    if isinstance(query.pattern, pt.Conjunction):
        return _pair_values(query, query.pattern, parts)
    trends = [(part, part.trends(query.pattern, query.strategy)) for part in parts]
    count = sum(len(of_part) for _, of_part in trends)
    if count == 0:
        return None
    values: dict[str, Any] = {}
    for item in query.returns:
        name = column_name(item)
        match item.expression:
            case Column():
                continue
            case Call("COUNT", ()):
                values[name] = count
            case Call("LOG2"):
                values[name] = math.log2(count)
            case Call(function, (Attribute() as over,)):
                events = [
                    event
                    for part, of_part in trends
                    for assignments in of_part.values()
                    for event in _aggregated(part, assignments, over)
                ]
                if function == "COUNT":
                    values[name] = len(events)
                else:
                    known = [event.value(over.name) for event in events]
                    values[name] = _aggregate(function, [v for v in known if v is not None])
            case _:
                raise TypeError(f"not an aggregate of a trend query: {item.expression}")
    return values


def _pair_values(
    query: Query, pattern: pt.Conjunction, parts: Sequence[_Part]
) -> dict[str, Any] | None:
    """Return the number of pairs of different trends, one of each pattern that AND joins."""
    if len(pattern.parts) != 2:
        raise UnsupportedError("The reference engine pairs the trends of two patterns only.")
    count = 0
    for part in parts:
        left, right = (part.trends(joined, query.strategy) for joined in pattern.parts)
        if len(left) * len(right) > LIMIT:
            raise InputError(f"There are more than {LIMIT:,} pairs of trends to build one by one.")
        count += len({frozenset((a, b)) for a in left for b in right if a != b})
    if count == 0:
        return None
    values: dict[str, Any] = {}
    for item in query.returns:
        match item.expression:
            case Column():
                continue
            case Call("COUNT", ()):
                values[column_name(item)] = count
            case Call("LOG2"):
                values[column_name(item)] = math.log2(count)
            case _:
                raise UnsupportedError("AND counts pairs of trends: RETURN COUNT(*).")
    return values


def _aggregated(
    part: _Part, assignments: Sequence[Assignment], over: Attribute
) -> tuple[ReferenceEvent, ...]:
    """Return the events of a trend that an aggregate is over."""
    variables = variables_named(part.query.pattern, over.variable)
    readings = {
        tuple(step.event for step in _steps(assignment) if step.variable in variables)
        for assignment in assignments
    }
    if len(readings) > 1:
        raise InputError(f"'{over.variable}' is ambiguous: one trend can be read in two ways.")
    return tuple(part.events[place] for place in readings.pop())


def _aggregate(function: str, known: Sequence[Any]) -> Any:
    if not known:
        return None
    if function in {"MIN", "MAX"}:
        return min(known) if function == "MIN" else max(known)
    total = sum((Fraction(value) for value in known), Fraction(0))
    if function in ex.SPREADS:
        return _spread(function, [Fraction(value) - total / len(known) for value in known])
    if function == "AVG":
        return total / len(known)
    return int(total) if total.denominator == 1 else total


def _spread(function: str, deviations: Sequence[Fraction]) -> Any:
    """Return a variance or standard deviation, given the deviations of values from their mean."""
    divisor = len(deviations) - (function in {"VARIANCE", "STDDEV"})
    if divisor == 0:
        return None
    variance = sum((deviation**2 for deviation in deviations), Fraction(0)) / divisor
    return variance if function in {"VARIANCE", "VAR_POP"} else root(variance)


def root(number: Fraction) -> Fraction:
    """Return a square root to 60 digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(number.numerator) / Decimal(number.denominator)).sqrt())
