"""Templates for the engine, which stores what events add: guarded templates without guards.

- A condition between neighbours is a range of the earlier events in the order of an attribute
  (`elsinore.plan.ranges`), or is checked for each earlier event.
- A trend may go on over a NOT of single events as long as none of these has come since. So what
  ends in the state before the NOT is added up a second time, in a state of its own, the
  *accumulator* of that state and NOT, which such an event empties; before the first event it holds
  one empty trend from the start of the window (HAMLET, Section 5; GRETA's negative sub-patterns).
- For any other NOT, the engine knows the moment at which the latest negative match began, and
  compares that of the earlier event with it.
- Where events are compared with one far before them, their *anchor*, the engine keeps trends with
  different anchors apart.
- Under NEXT and CONTIGUOUS an event removes what it extends.
- AND is the templates of its two patterns and of both, side by side.
- Ambiguous patterns are determinized if nothing is asked of two events or of those between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from elsinore.automata.nfa import closure
from elsinore.automata.positions import FREE, NO_WAY, Ways
from elsinore.model import expression as ex
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan.aggregates import TRENDS, Aggregation, Field, FieldKind
from elsinore.plan.between import ANCHOR, PREVIOUS
from elsinore.plan.determinized import unambiguous
from elsinore.plan.guarded import Events, GuardedTemplate, Move
from elsinore.plan.ranges import MOST_RANGES, both, common_sort_key, ranges_of
from elsinore.plan.taken_apart import taken_apart
from elsinore.plan.template import (
    ALL,
    START,
    Cut,
    Reads,
    Rows,
    State,
    Template,
    Transition,
    label,
)

_CHECKED = Rows(None, is_checked=True)
_BEGINNING = Field(FieldKind.BEGINNING)


class Negatives:
    """The negative patterns of a unit for which resets are not enough; the engine numbers them."""

    def __init__(self) -> None:
        self._numbers: dict[GuardedTemplate, int] = {}

    def number(self, negative: GuardedTemplate) -> int:
        """Return the number of a negative pattern."""
        return self._numbers.setdefault(negative, len(self._numbers))

    def templates(self, is_range: Callable[[Cut], bool]) -> list[Template]:
        """Return their templates, which keep the latest beginning of a match."""
        templates: list[Template] = []
        while len(templates) < len(self._numbers):  # those under NOT in them are added
            negative = list(self._numbers)[len(templates)]
            templates.append(_Storing(_with_beginning(negative), is_range, self).template())
        return templates


def _with_beginning(negative: GuardedTemplate) -> GuardedTemplate:
    """Return a negative pattern as a query: whatever the strategy, any later event may follow."""
    return replace(
        negative,
        query=replace(negative.query, strategy=Strategy.ANY),
        aggregation=Aggregation((TRENDS,), (_BEGINNING,), ()),
    )


def stored(
    guarded: GuardedTemplate,
    negatives: Negatives | None = None,
    is_range: Callable[[Cut], bool] = lambda _: True,
) -> Template | str:
    """Return a template whose transitions say which earlier events they read, or why there is none.

    negatives: those of the unit, to which the template's are added. is_range: whether a comparison
    can be looked up in an order, given the types of the attributes.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v >= b[i-1].v;"
    >>> found = stored(guarded_template(parse_workload(text).queries[0]))
    >>> [len(move.reads.ranges) for move in found.transitions]
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
    return templates[0] if guarded.sides == 1 else _side_by_side(guarded, templates)


def _refusal(guarded: GuardedTemplate) -> str | None:
    if guarded.ambiguous:
        return "the pattern is ambiguous"
    negatives = guarded.negatives_at_any_depth
    if any(negative.related for negative in negatives):
        return "what NOT forbids is compared with the events around it"
    if len(guarded.anchors) > 1 or any(negative.anchors for negative in negatives):
        return "events are compared with several that need not precede them directly"
    at_edges = [start.ways for n in negatives for start in n.starts]
    at_edges += [end.ways for n in negatives for end in n.ends]
    if any(ways != FREE for ways in at_edges):
        return "a pattern under NOT begins or ends with NOT, which its window decides"
    return None


def _side_by_side(guarded: GuardedTemplate, parts: list[Template]) -> Template:
    """Return one template of the patterns that AND joins and of both, if there are trends of both.

    Its sides are the states in which the trends of each of them end.
    """
    shifts = list(itertools.accumulate((len(part.states) for part in parts), initial=0))
    shifted = list(zip(parts, shifts, strict=False))
    sides = [frozenset(state + shift for state in part.accepting) for part, shift in shifted]
    return replace(
        parts[0],
        query=guarded.query,
        states=tuple(state for part in parts for state in part.states),
        transitions=tuple(
            replace(
                move,
                source=move.source if move.source == START else move.source + shift,
                target=move.target + shift,
            )
            for part, shift in shifted
            for move in part.transitions
        ),
        accepting=frozenset().union(*sides),
        sides=(*sides, frozenset[int]())[:3],
    )


class _Kept(NamedTuple):
    """A state, or START, as one of the template's states keeps its events.

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
        self, guarded: GuardedTemplate, is_range: Callable[[Cut], bool], negatives: Negatives
    ) -> None:
        self._guarded = guarded
        self._is_range = is_range
        self._negatives = negatives
        self._is_any = guarded.query.strategy is Strategy.ANY
        # those of single events, which empty what is before them
        self._resetting = frozenset(
            number
            for number, negative in enumerate(guarded.negatives)
            if self._is_any and not negative.moves
        )
        asking = {move.source for move in guarded.moves if move.checks}
        backward = [(move.target, move.source) for move in guarded.moves]
        self._anchored = closure(asking, backward)  # states whose trends are looked at by anchors
        self._steps: list[tuple[_Kept, int, Reads]] = []
        self._order: dict[_Kept, None] = {}

    def template(self) -> Template:
        """Return the template."""
        guarded, begin = self._guarded, _Kept(START, frozenset())
        seeded: dict[frozenset[int], list[int]] = {}
        onward: dict[tuple[int, frozenset[int]], list[Move]] = {}
        for start in guarded.starts:
            since = self._since(start.ways)
            if since is None:
                self._steps.append((begin, start.target, Reads(free=self._numbered(start.ways))))
            elif since:
                seeded.setdefault(since, []).append(start.target)
            else:
                self._steps.append((begin, start.target, ALL))
        for move in guarded.moves:
            since = self._since(move.ways, move.unless) or frozenset()
            onward.setdefault((move.source, since), []).append(move)
        for since, targets in seeded.items():
            kept = _Kept(START, since)
            self._order.setdefault(kept)
            self._steps += [(kept, target, ALL) for target in targets]
        for (state, since), moves in onward.items():
            self._add_moves(state, since, moves)
        ends = [self._end(end.source, end.ways) for end in guarded.ends]
        self._order |= dict.fromkeys(ends)
        if guarded.query.strategy is Strategy.NEXT:  # what leads nowhere removes what it extends
            known = {kept.state for kept in self._order}
            reached = sorted({target for _, target, _ in self._steps} - known)
            self._order |= dict.fromkeys(_Kept(target, frozenset()) for target in reached)
        return self._filled(frozenset(ends))

    def _since(self, ways: Ways, unless: Ways = NO_WAY) -> frozenset[int] | None:
        """Return the NOTs that empty what came before them, or None if that is not enough."""
        if len(ways) == 1 and not unless:
            (way,) = ways
            if way <= self._resetting:
                return way
        return None

    def _numbered(self, ways: Ways) -> Ways:
        """Return ways by the unit's numbers of negatives."""
        templates, number = self._guarded.negatives, self._negatives.number
        return frozenset(frozenset(number(templates[n]) for n in way) for way in ways)

    def _reads(self, move: Move, *, has_ranges: bool) -> Reads:
        """Return what a move reads: ranges of one attribute, and what is left to check."""
        ranges: list[list[Cut]] = [[]]
        conditions = []
        for condition in move.conditions:
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
        checks = tuple(_of_anchor(check) for _, check in move.checks)
        found_ranges = tuple(map(tuple, ranges)) if ranges != [[]] else ()
        reads = Reads(found_ranges, tuple(conditions), checks=checks)
        if self._since(move.ways, move.unless) is not None:
            return reads
        free, unless = self._numbered(move.ways), self._numbered(move.unless)
        return reads._replace(free=free, unless=unless)

    def _add_moves(self, state: int, since: frozenset[int], moves: list[Move]) -> None:
        """Add the moves from a state, which under ANY is kept once for each order that is read."""
        reads = [self._reads(move, has_ranges=True) for move in moves]
        rows = list(map(_rows_of, reads))
        is_held = state in self._anchored
        if is_held or (not self._is_any and len(set(rows) - {None}) > 1):
            reads = [self._reads(move, has_ranges=False) for move in moves]
            rows = list(map(_rows_of, reads))
        if is_held:
            is_anchor = self._guarded.states[state].variable in self._guarded.anchors
            rows = [Rows(None, is_checked=True, holds_anchor=True, is_anchor=is_anchor)] * len(rows)
        first = next((of_move for of_move in rows if of_move is not None), None)
        for move, of_move, read in zip(moves, rows, reads, strict=True):
            kept = _Kept(state, since, of_move or first)
            self._order.setdefault(kept)
            self._steps.append((kept, move.target, read))

    def _end(self, state: int, ways: Ways) -> _Kept:
        """Return the kept state that has the trends that end in a state."""
        since = self._since(ways)
        if since is None:
            return _Kept(state, frozenset(), _CHECKED, self._numbered(ways))
        known = (kept for kept in self._order if kept[:2] == (state, since))
        return next(known, _Kept(state, since))

    def _filled(self, ends: frozenset[_Kept]) -> Template:
        guarded, order = self._guarded, list(self._order)
        number = {_Kept(START, frozenset()): START}
        number |= {kept: place for place, kept in enumerate(order)}
        places: dict[int, list[int]] = {}
        for place, kept in enumerate(order):
            places.setdefault(kept.state, []).append(place)
        transitions = tuple(
            Transition(
                type=guarded.states[target].type,
                needs=guarded.states[target].needs,
                lacks=guarded.states[target].lacks,
                source=number[source],
                target=place,
                variable=guarded.states[target].variable,
                reads=reads._replace(carries=_carries(source, order[place])),
            )
            for source, target, reads in self._steps
            for place in places.get(target, ())
        )
        resets = [
            frozenset(Events(type=state.type, needs=state.needs) for state in negative.states)
            for negative in guarded.negatives
        ]
        states = tuple(
            State(
                label=_label(guarded, kept),
                resets=frozenset[Events]().union(*(resets[n] for n in kept.since)),
                is_seed=kept.state == START,
                rows=kept.rows,
                closing=kept.closing,
            )
            for kept in order
        )
        template = Template(
            query=guarded.query,
            states=states,
            transitions=transitions,
            accepting=frozenset(number[end] for end in ends),
            aggregation=guarded.aggregation,
        )
        return template if self._is_any else _emptied(template)


def _label(guarded: GuardedTemplate, kept: _Kept) -> str:
    """Return what ends in a state, and what has not come since."""
    text = "start"
    if kept.state != START:
        state = guarded.states[kept.state]
        text = label(state.type, state.variable)
    names = sorted({state.type for n in kept.since for state in guarded.negatives[n].states})
    return f"{text}, no {' or '.join(names)} since" if names else text


def _of_anchor(condition: Expression) -> Expression:
    """Return a condition on the event before as one on the anchor."""
    return ex.with_attributes(
        condition,
        lambda read: replace(read, variable=ANCHOR) if read.variable == PREVIOUS else read,
    )


def _carries(source: _Kept, target: _Kept) -> bool:
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
    """Let states without rows be emptied as a whole; trends end in copies of them.

    Under NEXT an event that extends all trends of a state empties it; under CONTIGUOUS the engine
    empties such states at every event.
    """
    onward: dict[int, list[Transition]] = {}
    for move in template.transitions:
        if move.source != START:
            onward.setdefault(move.source, []).append(move)
    states = list(template.states)
    ends: set[int] = set()
    added: list[Transition] = []
    for number, state in enumerate(template.states):
        moves = onward.get(number, [])
        if not moves or state.rows is not None:
            ends |= {number} & template.accepting
            continue
        if template.query.strategy is Strategy.NEXT:
            taking = {Events(type=move.type, needs=move.needs) for move in moves}
            states[number] = replace(state, resets=state.resets | taking)
        if number in template.accepting:
            ends.add(len(states))
            added += [
                replace(move, target=len(states))
                for move in template.transitions
                if move.target == number
            ]
            states.append(State(label=f"{state.label}, ended"))
    return replace(
        template,
        states=tuple(states),
        transitions=template.transitions + tuple(added),
        accepting=frozenset(ends),
    )
