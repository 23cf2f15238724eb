"""Matches by brute force: every assignment of a pattern is made, then checked as a whole.

Nothing of the match engine is used: assignments follow the derivatives of the pattern (Antimirov),
and each condition, NOT and strategy is checked on the complete assignment, as documented.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.computed import ComputedName
from elsinore.model.evaluate import evaluate, is_true
from elsinore.model.expression import AGGREGATES, Attribute, Call, Expression, Literal, Reference
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.model.time_values import Span, arithmetic

SPREADS: dict[str, Callable[[Any], Any]] = {
    "VARIANCE": lambda values: float(statistics.variance(values)),
    "STDDEV": lambda values: float(statistics.variance(values)) ** 0.5,
    "VAR_POP": lambda values: float(statistics.pvariance(values)),
    "STDDEV_POP": lambda values: float(statistics.pvariance(values)) ** 0.5,
}
State = tuple[pt.Pattern, ...]
Site = tuple[int, ...]
LIMIT = 20_000  # assignments of one part; drawn cases with more are skipped
INDEXED = {
    *(Reference.CURRENT, Reference.PREVIOUS, Reference.BACK),
    *(Reference.EARLIER, Reference.RECENT),
}
SINGLE = {Reference.PLAIN, Reference.CURRENT}
LATE = {Reference.LAST, Reference.ALL, Reference.NTH, Reference.FROM_LAST}


class TooMany(Exception):  # noqa: N818
    """There are more assignments than brute force can check."""


@dataclass(frozen=True)
class Happening:
    """An event: its time, type and attributes."""

    time: int
    type: str
    attributes: Mapping[str, Any]

    def value(self, name: str | None) -> Any:
        """Return the value of an attribute, or of an expression over the event."""
        if isinstance(name, ComputedName):
            return evaluate(name.expression, lambda leaf: self.value(leaf.name))
        return self.attributes.get(name or "")


@dataclass(frozen=True)
class Bound:
    """An event (its number in the part) bound to a variable at a site, and the NOTs before it."""

    event: int
    variable: str
    site: Site
    nots: tuple[pt.Pattern, ...]


@dataclass(frozen=True)
class Match:
    """A match: group, window with SLIDE, pairs of event number and variable, values of RETURN."""

    group: tuple[Any, ...]
    window: tuple[int, int] | None
    steps: tuple[tuple[int, str], ...]
    values: tuple[Any, ...]


def brute_force(
    query: Query,
    events: Sequence[Happening],
    *,
    ordered: bool = False,
    users: Mapping[str, type] | None = None,
) -> list[Match]:
    """Return all matches of a query in events ordered by time; `users`: user-defined aggregates."""
    parts: dict[tuple[tuple[Any, ...], tuple[Any, ...]], list[int]] = {}
    for number, event in enumerate(events):
        group = tuple(event.attributes.get(name) for name in query.group_by)
        same = tuple(event.attributes.get(name) for name in query.equivalence)
        if None not in same:
            parts.setdefault((group, same), []).append(number)
    matches: list[Match] = []
    for (group, _), numbers in parts.items():
        for window, inside in _windows(query, events, numbers):
            part = _Part(query, [events[n] for n in inside], window, ordered, users or {})
            for steps, values in part.matches():
                pairs = tuple((inside[step.event], step.variable) for step in steps)
                matches.append(Match(group, window, pairs, values))
    return matches


def _windows(
    query: Query, events: Sequence[Happening], numbers: Sequence[int]
) -> Iterator[tuple[tuple[int, int] | None, list[int]]]:
    window = query.window
    if window is None or window.slide is None:
        yield None, list(numbers)
        return
    starts = set()
    for number in numbers:
        start = window.origin + (events[number].time - window.origin) // window.slide * window.slide
        while start + window.within > events[number].time:
            starts.add(start)
            start -= window.slide
    for start in sorted(starts):
        end = start + window.within
        yield (start, end), [n for n in numbers if start <= events[n].time < end]


# --- patterns, by derivatives -------------------------------------------------------------------


@dataclass(frozen=True)
class _Remaining:
    """The remaining parts of PERMUTE, with their sites, in any order."""

    parts: tuple[tuple[pt.Pattern, Site], ...]


def _empties(pattern: pt.Pattern) -> list[tuple[pt.Pattern, ...]]:
    """Return the ways in which a pattern matches no event, each with its NOTs."""
    match pattern:
        case pt.Event():
            return []
        case pt.Negation(inner):
            return [(inner,)]
        case pt.Sequence(parts):
            return [sum(ways, ()) for ways in itertools.product(*map(_empties, parts))]
        case pt.Kleene(inner, least, _):
            return [()] if least == 0 or pt.nullable(inner) else []
        case pt.Disjunction(parts):
            return [way for part in parts for way in _empties(part)]
        case pt.Permutation(parts):
            return [()] if all(map(_empties, parts)) else []
        case _Remaining(parts):
            return [()] if all(_empties(part) for part, _ in parts) else []
        case _:
            raise TypeError(pattern)


def _firsts(
    pattern: pt.Pattern, site: Site
) -> Iterator[tuple[pt.Event, Site, tuple[pt.Pattern, ...], tuple[tuple[pt.Pattern, Site], ...]]]:
    """Yield the first events of a pattern, with site, NOTs before it, and remaining pattern."""
    match pattern:
        case pt.Event():
            yield pattern, site, (), ()
        case pt.Sequence(parts):
            yield from _steps(tuple((part, (*site, n)) for n, part in enumerate(parts)))
        case pt.Disjunction(parts):
            for number, part in enumerate(parts):
                yield from _firsts(part, (*site, number))
        case pt.Permutation(parts):
            numbered = tuple((part, (*site, number)) for number, part in enumerate(parts))
            yield from _firsts(_Remaining(numbered), site)
        case _Remaining(parts):
            for number, (part, place) in enumerate(parts):
                others = (_Remaining(parts[:number] + parts[number + 1 :]), site)
                for event, inner, nots, left in _firsts(part, place):
                    yield event, inner, nots, (*left, others)
        case pt.Kleene(inner, least, most):
            if most == 0:
                return
            again = pt.Kleene(inner, max(least - 1, 0), None if most is None else most - 1)
            rest = ((again, site),) if again.most != 0 else ()
            for event, place, nots, left in _firsts(inner, (*site, 0)):
                yield event, place, nots, left + rest


def _steps(state):  # type: ignore[no-untyped-def]
    """Yield the first events of a sequence of patterns, as `_firsts` does."""
    if not state:
        return
    (pattern, site), rest = state[0], state[1:]
    for event, place, nots, left in _firsts(pattern, site):
        yield event, place, nots, left + rest
    for skipped in _empties(pattern):
        for event, place, nots, left in _steps(rest):
            yield event, place, skipped + nots, left


def _endings(state) -> list[tuple[pt.Pattern, ...]]:  # type: ignore[no-untyped-def]
    return [sum(ways, ()) for ways in itertools.product(*(_empties(p) for p, _ in state))]


class _Part:
    """The events of a partition, or with SLIDE of a window of it."""

    def __init__(
        self,
        query: Query,
        events: Sequence[Happening],
        window: tuple[int, int] | None,
        ordered: bool,
        users: Mapping[str, type],
    ) -> None:
        self.query = query
        self.users = users
        self.events = events
        self.window = window
        self.ordered = ordered
        self.made = 0
        self._negatives: dict[tuple[pt.Pattern, frozenset[int]], list[tuple[Bound, ...]]] = {}
        self._pairs: dict[pt.Pattern, set[tuple[str, str]]] = {}

    def matches(self) -> list[tuple[tuple[Bound, ...], tuple[Any, ...]]]:
        """Return the matches, each assignment of variables once, with the values of RETURN."""
        matches: dict[tuple[tuple[int, str], ...], tuple[Bound, ...]] = {}
        whole = self.query.pattern
        for steps, ending in self._assignments(whole):
            if self._is_match(whole, steps, ending, self.query.strategy, self._around(steps)):
                matches.setdefault(tuple((s.event, s.variable) for s in steps), steps)
        return [(steps, self._values(steps)) for steps in matches.values()]

    def precedes(self, first: int, second: int) -> bool:
        """Return whether an event precedes another one."""
        if self.ordered:
            return first < second
        return self.events[first].time < self.events[second].time

    def _assignments(
        self, whole: pt.Pattern
    ) -> Iterator[tuple[tuple[Bound, ...], tuple[pt.Pattern, ...]]]:
        """Yield every way to bind events to a pattern, with the NOTs at its end."""
        within = self.query.window.within if self.query.window else None
        pending = [((), ((whole, ()),))]
        while pending:
            steps, state = pending.pop()
            if steps:
                for ending in _endings(state):
                    yield steps, ending
            self.made += 1
            if self.made > LIMIT:
                raise TooMany
            for event, site, nots, left in _steps(state):
                for number, happening in enumerate(self.events):
                    if happening.type != event.type:
                        continue
                    if steps and not self.precedes(steps[-1].event, number):
                        continue
                    span = happening.time - self.events[steps[0].event].time if steps else 0
                    if within is not None and self.window is None and span > within:
                        continue
                    step = Bound(number, event.variable, site, nots)
                    if self._satisfies_local(step):
                        pending.append(((*steps, step), left))

    def _satisfies_local(self, step: Bound) -> bool:
        event = self.events[step.event]
        for predicate in self.query.where:
            read = ex.attributes(predicate)
            names = {leaf.variable for leaf in read}
            if len(names) > 1 or any(leaf.reference not in SINGLE for leaf in read):
                continue
            applies = not names or step.variable in variables_named(self.query.pattern, names.pop())
            if applies and not is_true(predicate, lambda a: event.value(a.name)):
                return False
        return True

    def _is_match(
        self,
        whole: pt.Pattern,
        steps: tuple[Bound, ...],
        ending: tuple[pt.Pattern, ...],
        strategy: Strategy,
        around: frozenset[int],
    ) -> bool:
        return (
            all(
                self._is_satisfied(whole, predicate, steps, complete=True)
                for predicate in self._conditions_of(whole)
            )
            and self._is_free(steps, ending, around)
            and self._selected(whole, steps, strategy, around)
        )

    # --- NOT ------------------------------------------------------------------------------------

    def _around(self, steps: tuple[Bound, ...]) -> frozenset[int]:
        """Return the events of a match's window: those among which NOTs are searched.

        A window relative to the match begins WITHIN before its last event, and ends WITHIN after
        its first one.
        """
        if self.query.window is None or self.window is not None:
            return frozenset(range(len(self.events)))
        within = self.query.window.within
        first, last = self.events[steps[0].event].time, self.events[steps[-1].event].time
        return frozenset(
            number
            for number, event in enumerate(self.events)
            if last - within <= event.time <= first + within
        )

    def _forbidden(self, negated: pt.Pattern, around: frozenset[int]) -> list[tuple[Bound, ...]]:
        """Return all matches, in a window, of a pattern under NOT."""
        if (negated, around) not in self._negatives:
            self._negatives[negated, around] = [
                steps
                for steps, ending in self._assignments(negated)
                if around.issuperset(step.event for step in steps)
                and self._is_match(negated, steps, ending, Strategy.ANY, around)
            ]
        return self._negatives[negated, around]

    def _is_free(
        self,
        steps: tuple[Bound, ...],
        ending: tuple[pt.Pattern, ...],
        around: frozenset[int],
        *,
        extending: bool = False,
    ) -> bool:
        """Return whether no gap contains a match of its NOT.

        While a run is `extending`, a NOT at its beginning is not checked: it does not decide which
        events may be skipped.
        """
        for number, step in enumerate(steps):
            if extending and number == 0:
                continue
            for negated in step.nots:
                for under in self._forbidden(negated, around):
                    after = number == 0 or self.precedes(steps[number - 1].event, under[0].event)
                    if (
                        after
                        and self.precedes(under[-1].event, step.event)
                        and self._is_related(negated, under, steps, number, complete=not extending)
                    ):
                        return False
        return not any(
            self.precedes(steps[-1].event, under[0].event)
            and self._is_related(negated, under, steps, None, complete=True)
            for negated in ending
            for under in self._forbidden(negated, around)
        )

    def _is_related(
        self,
        negated: pt.Pattern,
        under: tuple[Bound, ...],
        steps: tuple[Bound, ...],
        number: int | None,
        *,
        complete: bool,
    ) -> bool:
        """Return whether the events of a NOT fulfil all conditions that relate them to a match.

        A variable under NOT denotes each of its events in turn. `number`: the step after the gap,
        None at the end. Another variable denotes that step, or else its latest one before the gap;
        later events are known when the match is complete.
        """
        whole = self.query.pattern
        predicates = [p for p in self.query.where if self._relates(negated, p)]
        is_late = {
            (id(p), a): number is not None
            and (
                number == 0
                or a.reference is Reference.LAST
                or steps[number].variable in self._variables(a.variable, whole)
                or all(
                    goes_back(whole, v, steps[number].variable)
                    for v in self._variables(a.variable, whole)
                )
            )
            for p in predicates
            for a in ex.attributes(p)
        }
        for predicate in predicates:
            values: dict[Attribute, list[int]] = {}
            for a in ex.attributes(predicate):
                variables = self._variables(a.variable, whole)
                if not variables:
                    forbidden = self._variables(a.variable, negated)
                    values[a] = [step.event for step in under if step.variable in forbidden]
                    if a.reference in {Reference.FIRST, Reference.LAST}:
                        place = 0 if a.reference is Reference.FIRST else -1
                        values[a] = values[a] and [values[a][place]]
                    continue
                following = number is not None and steps[number].variable in variables
                if number is not None and following and a.reference in SINGLE:
                    values[a] = [steps[number].event]
                    continue
                if is_late[id(predicate), a] and not complete:
                    return False
                known = steps if number is None or is_late[id(predicate), a] else steps[:number]
                bound = [step.event for step in known if step.variable in variables]
                values[a] = bound[:1] if a.reference is Reference.FIRST else bound[-1:]
            each = next((events for events in values.values() if len(events) > 1), [0])
            for event in each:  # of the repeated variable
                chosen = {a: e if len(e) < 2 else [event] for a, e in values.items()}
                if all(chosen.values()) and not is_true(
                    predicate, lambda a, c=chosen: self.events[c[a][0]].value(a.name)
                ):
                    return False
        return True

    def _relates(self, negated: pt.Pattern, predicate: Expression) -> bool:
        """Return whether a condition reads events of a NOT and other events."""
        names = {a.variable for a in ex.attributes(predicate)}
        variables = {event.variable for event in pt.positive_events(negated)}
        whole = self.query.pattern
        under = {name for name in names if not self._variables(name, whole)}
        reads_negated = any(variables.intersection(variables_named(whole, name)) for name in under)
        return reads_negated and under != names

    # --- strategies -----------------------------------------------------------------------------

    def _selected(
        self,
        whole: pt.Pattern,
        steps: tuple[Bound, ...],
        strategy: Strategy,
        around: frozenset[int],
    ) -> bool:
        if strategy is Strategy.ANY:
            return True
        for number, (first, second) in enumerate(itertools.pairwise(steps), start=1):
            for event in range(len(self.events)):
                if self.precedes(first.event, event) and self.precedes(event, second.event):
                    if strategy is Strategy.CONTIGUOUS:
                        return False
                    if self._extends(whole, steps[:number], event, around):
                        return False
        return True

    def _extends(
        self, whole: pt.Pattern, steps: tuple[Bound, ...], event: int, around: frozenset[int]
    ) -> bool:
        """Return whether a run, with events bound at their sites, can continue with an event."""
        states = [(((whole, ()),), ())]
        for step in steps:
            states = [
                (left, (*taken, Bound(step.event, step.variable, site, nots)))
                for state, taken in states
                for node, site, nots, left in _steps(state)
                if site == step.site and node.variable == step.variable
            ]
        for state, taken in states:
            for node, site, nots, _ in _steps(state):
                step = Bound(event, node.variable, site, nots)
                if node.type != self.events[event].type or not self._satisfies_local(step):
                    continue
                longer = (*taken, step)
                if all(
                    self._is_satisfied(whole, predicate, longer, complete=False)
                    for predicate in self._conditions_of(whole)
                ) and self._is_free(longer, (), around, extending=True):
                    return True
        return False

    # --- conditions -----------------------------------------------------------------------------

    def _conditions_of(self, whole: pt.Pattern) -> list[Expression]:
        """Return the conditions on several events of a pattern."""
        variables = {event.variable for event in pt.positive_events(whole)}
        predicates = []
        for predicate in self.query.where:
            read = ex.attributes(predicate)
            names = {a.variable for a in read}
            if len(names) <= 1 and all(a.reference in SINGLE for a in read):
                continue
            if all(
                variables.intersection(variables_named(self.query.pattern, name)) for name in names
            ):
                predicates.append(predicate)
        return predicates

    def _variables(self, name: str, whole: pt.Pattern) -> set[str]:
        positive = {event.variable for event in pt.positive_events(whole)}
        return positive.intersection(variables_named(self.query.pattern, name))

    def _neighbours(self, whole: pt.Pattern) -> set[tuple[str, str]]:
        """Return the variables that may be bound to neighbours."""
        if whole not in self._pairs:
            pairs = set()
            seen = set()
            pending = [(None, ((whole, ()),))]
            while pending:
                before, state = pending.pop()
                for node, _, _, left in _steps(state):
                    if before is not None:
                        pairs.add((before, node.variable))
                    if (node.variable, left) not in seen:
                        seen.add((node.variable, left))
                        pending.append((node.variable, left))
            self._pairs[whole] = pairs
        return self._pairs[whole]

    def _is_satisfied(
        self, whole: pt.Pattern, predicate: Expression, steps: tuple[Bound, ...], *, complete: bool
    ) -> bool:
        """Return whether a condition is true for all events that it is about."""
        read = ex.attributes(predicate)
        names = list(dict.fromkeys(a.variable for a in read))
        late = any(a.reference in LATE for a in read)
        if late and not complete:
            return True
        if not self._binds(whole, predicate, steps):
            return True
        if len(names) == 2 and {a.reference for a in read} <= SINGLE:
            return all(
                is_true(predicate, lambda a, at=at: self._value(steps[at[a.variable]], a.name))
                for at in self._pairs_of(whole, names, steps)
            )
        kleene = pt.kleene_variables(whole)

        def several(name: str) -> bool:
            variables = self._variables(name, whole)
            return len(variables) > 1 or bool(kleene & variables)

        iterated = [
            n
            for n in names
            if any(
                a.variable == n
                and (a.reference in INDEXED or (a.reference is Reference.PLAIN and several(n)))
                for a in read
            )
        ]
        if late and not iterated:
            places = [len(steps)]
        else:
            triggers = iterated if late else names
            places = [
                number
                for number, step in enumerate(steps)
                if any(step.variable in self._variables(name, whole) for name in triggers)
            ]
        for place in places:
            filled = self._with_values(whole, predicate, steps, place, late, several)
            if filled is not None and not is_true(filled, lambda _: None):
                return False
        return True

    def _binds(self, whole: pt.Pattern, predicate: Expression, steps: tuple[Bound, ...]) -> bool:
        """Return whether an assignment binds all variables of a condition.

        Otherwise the condition does not apply. COUNT(a[]) needs no event: without any it is 0.
        """
        counted = {
            id(leaf)
            for node in ex.walk(predicate)
            if isinstance(node, Call) and node.name in ex.COUNTS
            for leaf in ex.attributes(node)
            if leaf.reference is Reference.ALL
        }
        return all(
            any(step.variable in self._variables(leaf.variable, whole) for step in steps)
            for leaf in ex.attributes(predicate)
            if id(leaf) not in counted
        )

    def _pairs_of(
        self, whole: pt.Pattern, names: list[str], steps: tuple[Bound, ...]
    ) -> Iterator[dict[str, int]]:
        kleene = pt.kleene_variables(whole)
        for number, step in enumerate(steps):
            for earlier_name, later_name in itertools.permutations(names):
                if step.variable not in self._variables(later_name, whole):
                    continue
                for earlier in self._variables(earlier_name, whole):
                    if goes_back(whole, earlier, step.variable):
                        continue
                    before = [n for n in range(number) if steps[n].variable == earlier]
                    if earlier in kleene and (earlier, step.variable) in self._neighbours(whole):
                        before = [n for n in before if n == number - 1]
                    if before:
                        yield {earlier_name: before[-1], later_name: number}

    def _value(self, step: Bound, name: str | None) -> Any:
        return self.events[step.event].value(name)

    def _with_values(self, whole, predicate, steps, place, late, several):  # type: ignore[no-untyped-def]
        """Return a condition with values for attributes; None if it does not apply to the event."""
        current = steps[place] if place < len(steps) else None
        read = ex.attributes(predicate)
        missing = object()

        def events_of(name: str, upto: int) -> list[Bound]:
            variables = self._variables(name, whole)
            return [step for step in steps[:upto] if step.variable in variables]

        def is_current(name: str) -> bool:
            return current is not None and current.variable in self._variables(name, whole)

        def earlier(name: str) -> list[Bound]:
            if current is None:
                return []
            if all(goes_back(whole, v, current.variable) for v in self._variables(name, whole)):
                return []
            return events_of(name, place)

        def chosen(a: Attribute) -> Any:
            name = a.variable
            iterates = any(
                leaf.variable == name and leaf.reference in INDEXED | SINGLE for leaf in read
            )
            match a.reference:
                case Reference.LAST:
                    events = events_of(name, len(steps))[-1:]
                case Reference.NTH:
                    events = events_of(name, len(steps))[a.position - 1 : a.position]
                case Reference.FROM_LAST:
                    events = events_of(name, len(steps))[-a.position - 1 :][:1]
                    events = events if len(events_of(name, len(steps))) > a.position else []
                case Reference.BACK:
                    events = []
                    before = events_of(name, place)
                    if is_current(name) and place and steps[place - 1] in before[-1:]:
                        events = before[-a.position :][:1] if len(before) >= a.position else []
                case Reference.FIRST if late:
                    events = events_of(name, len(steps))[:1]
                case Reference.FIRST if is_current(name) and not iterates:
                    events = [current] if not events_of(name, place) else []
                case Reference.FIRST:
                    events = earlier(name)[:1]
                case Reference.PREVIOUS:
                    events = []
                    if (
                        is_current(name)
                        and place
                        and (steps[place - 1].variable in self._variables(name, whole))
                    ):
                        events = [steps[place - 1]]
                case _ if is_current(name):
                    events = [current]
                case _ if late and not several(name):
                    events = events_of(name, len(steps))[-1:]
                case _:
                    events = earlier(name)[-1:]
            return self._value(events[0], a.name) if events else missing

        def fill(node: Expression) -> Expression | None:
            match node:
                case Call(name) if name in AGGREGATES or name in self.users:
                    over = ex.attributes(node)[0]
                    if over.reference is Reference.EARLIER:
                        if not is_current(over.variable) or not events_of(over.variable, place):
                            return None
                        ranged = events_of(over.variable, place)
                    elif over.reference is Reference.RECENT:
                        before = events_of(over.variable, place)
                        if not is_current(over.variable) or len(before) < over.nearest:
                            return None
                        end = len(before) - over.nearest + 1
                        ranged = before[max(len(before) - over.position, 0) : end]
                    else:
                        ranged = events_of(over.variable, len(steps))
                    return Literal(self._aggregate(node, ranged))
                case Attribute():
                    value = chosen(node)
                    return None if value is missing else Literal(value)
                case ex.Not(operand) | ex.Negative(operand) | ex.IsNull(operand):
                    inner = fill(operand)
                    return None if inner is None else type(node)(inner)
                case ex.InList(operand, choices):
                    inner = fill(operand)
                    return None if inner is None else ex.InList(inner, choices)
                case ex.Binary(operator, left, right):
                    sides = fill(left), fill(right)
                    return None if None in sides else ex.Binary(operator, *sides)
                case Call(name, arguments):
                    parts = [fill(argument) for argument in arguments]
                    return None if None in parts else Call(name, tuple(parts))
                case _:
                    return node

        return fill(predicate)

    def _aggregate(self, call: Call, ranged: Sequence[Bound]) -> Any:
        name = call.name
        if ex.attributes(call)[0].name is None:
            return len(ranged)
        rows = [
            tuple(
                evaluate(a, lambda leaf, s=step: self._value(s, leaf.name)) for a in call.arguments
            )
            for step in ranged
        ]
        rows = [row for row in rows if None not in row]
        if name in self.users:
            aggregate = self.users[name]()
            state = aggregate.init()
            for row in rows:
                state = aggregate.step(state, *row)
            return aggregate.value(state) if rows else None
        values = [row[0] for row in rows]
        if name == "COUNT":
            return len(values)
        if name == "COUNT_DISTINCT":
            return len(set(values))
        if not values:
            return None
        if name == "MEDIAN" and isinstance(values[0], str):
            return statistics.median_low(values)
        if name == "MEDIAN":
            return float(statistics.median(values))
        if name in {"VARIANCE", "STDDEV"} and len(values) < 2:
            return None
        if name in ex.SPREADS:
            return SPREADS[name](list(map(Fraction, values)))
        if name in {"MIN", "MAX"}:
            return {"MIN": min, "MAX": max}[name](values)
        if isinstance(values[0], Span):
            total = Span(sum(value.nanoseconds for value in values))
            return total if name == "SUM" else arithmetic(ex.Operator.DIV, total, len(values))
        return sum(values) / len(values) if name == "AVG" else sum(values)

    # --- RETURN ---------------------------------------------------------------------------------

    def _values(self, steps: tuple[Bound, ...]) -> tuple[Any, ...]:
        whole = self.query.pattern

        def bound(name: str) -> list[Bound]:
            variables = self._variables(name, whole)
            return [step for step in steps if step.variable in variables]

        def fill(node: Expression) -> Expression:
            match node:
                case Call(name) if name in AGGREGATES or name in self.users:
                    over = ex.attributes(node)[0]
                    return Literal(self._aggregate(node, bound(over.variable)))
                case Attribute(name, attribute, reference):
                    events = bound(name)
                    if reference is Reference.NTH:
                        events = events[node.position - 1 : node.position]
                    elif reference is Reference.FROM_LAST:
                        events = events[: len(events) - node.position]
                    place = 0 if reference is Reference.FIRST else -1
                    return Literal(self._value(events[place], attribute) if events else None)
                case ex.Column(name):
                    return Literal(self._value(steps[0], name))
                case _:
                    return ex.with_children(node, tuple(map(fill, ex.children(node))))

        values = []
        for item in self.query.returns:
            node = item.expression
            if isinstance(node, ex.Column) and node.name in self.query.group_by:
                continue
            if isinstance(node, Call) and node.name == "EVENT_IDS":
                (column,) = node.arguments
                values.append(tuple(self._value(step, column.name) for step in steps))
            elif isinstance(node, Attribute) and node.name is None:
                values.append(
                    tuple(dict(self.events[step.event].attributes) for step in bound(node.variable))
                )
            elif isinstance(node, Attribute) and node.reference is Reference.ALL:
                values.append(tuple(self._value(step, node.name) for step in bound(node.variable)))
            else:
                values.append(evaluate(fill(node), lambda _: None))
        return tuple(values)


def goes_back(whole: pt.Pattern, first: str, second: str) -> bool:
    """Return whether `second` comes before `first` in a SEQ, and `first` before it in none."""

    def is_ordered(before: str, after: str) -> bool:
        return any(
            before in _names(node.parts[p]) and after in _names(node.parts[q])
            for node in pt.walk(whole)
            if isinstance(node, pt.Sequence)
            for p, q in itertools.combinations(range(len(node.parts)), 2)
        )

    return is_ordered(second, first) and not is_ordered(first, second)


def _names(pattern: pt.Pattern) -> set[str]:
    return {event.variable for event in pt.positive_events(pattern)}
