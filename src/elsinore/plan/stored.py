"""Templates for the engine, which stores the sums of events: guarded templates without ambiguity.

- A condition between neighbours is a range of the earlier events in the order of an attribute
  (`elsinore.plan.ranges`), or is checked for each earlier event.
- A trend may continue over a NOT of single events if none of these has occurred since. So trends
  that end in the state before the NOT are summed a second time, in the *accumulator* of that state
  and NOT, which such an event empties; before the first event it contains one empty trend from the
  start of the window (HAMLET, Section 5; GRETA's negative sub-patterns).
- For any other NOT, the engine knows the time at which the latest negative match began, and
  compares it with that of the earlier event.
- If events are compared with an *anchor* far before them, the engine stores trends with different
  anchors separately.
- Under NEXT and CONTIGUOUS an event removes what it extends.
- AND is the templates of its two patterns and of both, side by side.
- Ambiguous patterns are determinized if they are plain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from elsinore.automata.nfa import closure
from elsinore.automata.positions import FREE, Ways
from elsinore.model import expression as ex
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan.aggregates import TRENDS, Aggregation, Field, FieldKind
from elsinore.plan.between import ANCHOR, PREVIOUS
from elsinore.plan.determinized import unambiguous
from elsinore.plan.ranges import MOST_RANGES, both, common_sort_key, ranges_of
from elsinore.plan.taken_apart import taken_apart
from elsinore.plan.template import (
    ALL,
    AS_SUM,
    START,
    Cut,
    End,
    Events,
    Move,
    Reads,
    Rows,
    State,
    Storage,
    Template,
    side_by_side,
)

_CHECKED = Rows(None, is_checked=True)
_BEGINNING = Field(FieldKind.BEGINNING)
_NO_EVENTS = State(type="", needs=frozenset(), variable="")  # the state of a seed


class Negatives:
    """The negative patterns of a unit for which resets are not enough; the engine numbers them."""

    def __init__(self) -> None:
        self._numbers: dict[Template, int] = {}

    def number(self, negative: Template) -> int:
        """Return the number of a negative pattern."""
        return self._numbers.setdefault(negative, len(self._numbers))

    def templates(self, is_range: Callable[[Cut], bool]) -> list[Template]:
        """Return their templates, which store the latest beginning of a match."""
        templates: list[Template] = []
        while len(templates) < len(self._numbers):  # those under NOT in them are added
            negative = list(self._numbers)[len(templates)]
            templates.append(_Storing(_with_beginning(negative), is_range, self).template())
        return templates


def _with_beginning(negative: Template) -> Template:
    """Return a negative pattern as a query: whatever the strategy, any later event may follow."""
    return replace(
        negative,
        query=replace(negative.query, strategy=Strategy.ANY),
        aggregation=Aggregation((TRENDS,), (_BEGINNING,), ()),
    )


def stored_template(
    guarded: Template,
    negatives: Negatives | None = None,
    is_range: Callable[[Cut], bool] = lambda _: True,
) -> Template | str:
    """Return a template with the earlier events that transitions read, or the reason against one.

    negatives: those of the unit, to which the template's are added. is_range: whether a comparison
    can be looked up in an order, given the types of the attributes.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v >= b[i-1].v;"
    >>> found = stored_template(guarded_template(parse_workload(text).queries[0]))
    >>> [len(move.reads.ranges) for move in found.moves]
    [0, 0, 1]
    """
    negatives = negatives or Negatives()
    if guarded.sides == 1 and guarded.is_plain:
        guarded = unambiguous(guarded)
    parts = taken_apart(guarded) if guarded.sides > 1 else (guarded,)
    if isinstance(parts, str):
        return parts
    for part in parts:
        refusal = _refusal(part)
        if refusal is not None:
            return refusal
    templates = [_Storing(part, is_range, negatives).template() for part in parts]
    if guarded.sides == 1:
        return templates[0]
    return replace(side_by_side(templates), query=guarded.query)


def _refusal(guarded: Template) -> str | None:
    if guarded.ambiguous:
        return "the pattern is ambiguous"
    negatives = guarded.negatives_at_any_depth
    if any(negative.related for negative in negatives):
        return "what NOT forbids is compared with the events around it"
    if len(guarded.anchors) > 1 or any(negative.anchors for negative in negatives):
        return "events are compared with several that need not precede them directly"
    at_edges = [start.reads.free for n in negatives for start in n.starts]
    at_edges += [end.ways for n in negatives for end in n.ends]
    if any(ways != FREE for ways in at_edges):
        return "a pattern under NOT begins or ends with NOT, which its window decides"
    return None


class _Stored(NamedTuple):
    """A state of the guarded template, or START, as the engine stores it.

    `since`: the NOTs of single events that empty it. `closing`: trends end in it for which a NOT
    at the end is decided when the window closes.
    """

    state: int
    since: frozenset[int]
    rows: Rows | None = None
    closing: Ways = FREE


class _Storing:
    """One guarded template as it is made into a template."""

    def __init__(
        self, guarded: Template, is_range: Callable[[Cut], bool], negatives: Negatives
    ) -> None:
        self._guarded = guarded
        self._is_range = is_range
        self._negatives = negatives
        self._is_any = guarded.query.strategy is Strategy.ANY
        # those of single events, which empty what is before them
        self._resetting = frozenset(
            number
            for number, negative in enumerate(guarded.negatives)
            if self._is_any and not negative.steps
        )
        checked = {step.source for step in guarded.steps if step.reads.checks}
        backward = [(step.target, step.source) for step in guarded.steps]
        self._anchored = closure(checked, backward)  # states whose trends keep their anchors
        self._moves: list[tuple[_Stored, int, Reads]] = []
        self._order: dict[_Stored, None] = {}

    def template(self) -> Template:
        """Return the template."""
        guarded, begin = self._guarded, _Stored(START, frozenset())
        seeded: dict[frozenset[int], list[int]] = {}
        onward: dict[tuple[int, frozenset[int]], list[Move]] = {}
        for start in guarded.starts:
            since = self._since(start.reads)
            if since:
                seeded.setdefault(since, []).append(start.target)
            else:
                reads = ALL if since is not None else Reads(free=self._numbered(start.reads.free))
                self._moves.append((begin, start.target, reads))
        for step in guarded.steps:
            since = self._since(step.reads) or frozenset()
            onward.setdefault((step.source, since), []).append(step)
        for since, targets in seeded.items():
            seed = _Stored(START, since)
            self._order.setdefault(seed)
            self._moves += [(seed, target, ALL) for target in targets]
        for (state, since), steps in onward.items():
            self._add_steps(state, since, steps)
        ends = [self._end(end) for end in guarded.ends]
        self._order |= dict.fromkeys(ends)
        if guarded.query.strategy is Strategy.NEXT:  # what leads nowhere removes what it extends
            known = {stored_state.state for stored_state in self._order}
            reached = sorted({target for _, target, _ in self._moves} - known)
            self._order |= dict.fromkeys(_Stored(target, frozenset()) for target in reached)
        return self._filled(ends)

    def _since(self, reads: Reads) -> frozenset[int] | None:
        """Return the NOTs whose events empty the source of a move, or None if more is needed."""
        if len(reads.free) == 1 and not reads.unless:
            (way,) = reads.free
            if way <= self._resetting:
                return way
        return None

    def _numbered(self, ways: Ways) -> Ways:
        """Return ways by the unit's numbers of negatives."""
        templates, number = self._guarded.negatives, self._negatives.number
        return frozenset(frozenset(number(templates[n]) for n in way) for way in ways)

    def _reads(self, guards: Reads, *, has_ranges: bool) -> Reads:
        """Return the guards of a step as ranges of one attribute, and the rest as checks."""
        ranges: list[list[Cut]] = [[]]
        conditions = []
        for condition in guards.conditions:
            of_condition = ranges_of(condition)
            if of_condition is not None and has_ranges:
                together = both(ranges, of_condition)
                cuts = [cut for part in together for cut in part]
                if (
                    len(together) <= MOST_RANGES
                    and common_sort_key(cuts) is not None
                    and all(map(self._is_range, cuts))
                ):
                    ranges = together
                    continue
            conditions.append(condition)
        checks = tuple((anchor, _of_anchor(check)) for anchor, check in guards.checks)
        by_range = tuple(map(tuple, ranges)) if ranges != [[]] else ()
        reads = Reads(by_range, tuple(conditions), checks=checks)
        if self._since(guards) is not None:
            return reads
        free, unless = self._numbered(guards.free), self._numbered(guards.unless)
        return reads._replace(free=free, unless=unless)

    def _add_steps(self, state: int, since: frozenset[int], steps: list[Move]) -> None:
        """Add the steps from a state, which under ANY is stored once for each sort key."""
        reads = [self._reads(step.reads, has_ranges=True) for step in steps]
        rows = list(map(_rows_of, reads))
        is_anchored = state in self._anchored
        if is_anchored or (not self._is_any and len(set(rows) - {None}) > 1):
            reads = [self._reads(step.reads, has_ranges=False) for step in steps]
            rows = list(map(_rows_of, reads))
        if is_anchored:
            is_anchor = self._guarded.states[state].variable in self._guarded.anchors
            rows = [Rows(None, is_checked=True, holds_anchor=True, is_anchor=is_anchor)] * len(rows)
        first = next((of_step for of_step in rows if of_step is not None), None)
        for step, of_step, read in zip(steps, rows, reads, strict=True):
            source = _Stored(state, since, of_step or first)
            self._order.setdefault(source)
            self._moves.append((source, step.target, read))

    def _end(self, end: End) -> _Stored:
        """Return the stored state from which the trends of an end are read."""
        since = self._since(Reads(free=end.ways))
        if since is None:
            return _Stored(end.source, frozenset(), _CHECKED, self._numbered(end.ways))
        known = (each for each in self._order if each[:2] == (end.source, since))
        return next(known, _Stored(end.source, since))

    def _filled(self, ends: list[_Stored]) -> Template:
        guarded, order = self._guarded, list(self._order)
        number = {stored_state: place for place, stored_state in enumerate(order)}
        number[_Stored(START, frozenset())] = START
        places: dict[int, list[int]] = {}
        for place, stored_state in enumerate(order):
            places.setdefault(stored_state.state, []).append(place)
        resets = [
            frozenset(Events(type=state.type, needs=state.needs) for state in negative.states)
            for negative in guarded.negatives
        ]
        states = [
            replace(
                _NO_EVENTS if stored_state.state == START else guarded.states[stored_state.state],
                storage=Storage(
                    frozenset[Events]().union(*(resets[n] for n in stored_state.since)),
                    stored_state.state == START,
                    stored_state.rows,
                ),
            )
            for stored_state in order
        ]
        moves = [
            Move(number[source], place, reads._replace(carries=_carries(source, order[place])))
            for source, target, reads in self._moves
            for place in places.get(target, ())
        ]
        template = Template(
            query=guarded.query,
            states=tuple(states),
            moves=tuple(moves),
            ends=tuple(End(number[end], end.closing) for end in dict.fromkeys(ends)),
            aggregation=guarded.aggregation,
        )
        return template if self._is_any else _emptied(template)


def _of_anchor(condition: Expression) -> Expression:
    """Return a condition on the event before as one on the anchor."""
    return ex.with_attributes(
        condition,
        lambda read: replace(read, variable=ANCHOR) if read.variable == PREVIOUS else read,
    )


def _carries(source: _Stored, target: _Stored) -> bool:
    """Return whether trends keep their anchor on the way from one state to another."""
    if source.rows is None or target.rows is None or target.rows.is_anchor:
        return False
    return source.rows.holds_anchor and target.rows.holds_anchor


def _rows_of(reads: Reads) -> Rows | None:
    """Return how the events must be kept that a transition reads; None if sums will do."""
    if reads == ALL:
        return None
    return Rows(common_sort_key(reads.cuts) if reads.ranges else None, reads.is_checked)


def _emptied(template: Template) -> Template:
    """Let events empty states without rows; trends end in copies of these states.

    Under NEXT an event that extends all trends of a state empties it; under CONTIGUOUS the engine
    empties such states at every event.
    """
    followers: dict[int, list[State]] = {}
    for step in template.steps:
        followers.setdefault(step.source, []).append(template.states[step.target])
    states = list(template.states)
    copies: dict[int, int] = {}
    for number, state in enumerate(template.states):
        if number not in followers or state.storage.rows is not None:
            continue
        if template.query.strategy is Strategy.NEXT:
            taking = {Events(type=after.type, needs=after.needs) for after in followers[number]}
            resets = state.storage.resets | taking
            states[number] = replace(state, storage=state.storage._replace(resets=resets))
        if number in template.accepting:
            copies[number] = len(states)
            states.append(replace(state, storage=AS_SUM))
    into_copies = [
        replace(move, target=copies[move.target])
        for move in template.moves
        if move.target in copies
    ]
    return replace(
        template,
        states=tuple(states),
        moves=(*template.moves, *into_copies),
        ends=tuple(
            replace(end, source=copies.get(end.source, end.source)) for end in template.ends
        ),
    )
