"""Guarded templates: a query's automaton with all that an event may be asked of earlier ones.

Where the coarse engine's templates (`elsinore.plan.template`) know types and local predicates only,
the moves of a guarded template may ask for predicates between two events, for the absence of
negative matches in between, and its ends likewise (SEMANTICS 3; HAMLET, Section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.automata import Ambiguity, Nfa, Symbol, Transition, ambiguity
from elsinore.automata.nfa import closure
from elsinore.errors import QuerySemanticError
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.expression import Expression
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation, aggregation
from elsinore.plan.between import Reading, is_local, readings
from elsinore.plan.guards import GuardedPositions, Ways, guarded_positions
from elsinore.plan.predicates import (
    local_predicates,
    place_of,
    refuse_unreadable,
    wholes_of,
)
from elsinore.plan.readings import refuse_readings


@dataclass(frozen=True, slots=True)
class GuardedState:
    """The last event of a trend stands here: its type, variable and local predicates.

    `anchor` is the anchor that the event becomes, if any: it is then remembered by the trend.
    """

    type: str
    variable: str
    needs: frozenset[Expression]
    anchor: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """A trend may begin in `target` where no negative match of some way ended before."""

    target: int
    ways: Ways


@dataclass(frozen=True, slots=True)
class Move:
    """An event that fits state `target` may follow one in state `source`.

    All of `conditions` must hold between the two, all of `checks` (anchor, condition) between the
    anchor's event, if the trend has one, and the later event, and some way must be free of
    negative matches that lie strictly between.
    """

    source: int
    target: int
    ways: Ways
    conditions: frozenset[int] = frozenset()
    checks: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class End:
    """A trend may end in `source` where no negative match of some way begins after it.

    `side` tells the patterns apart that AND joins.
    """

    source: int
    ways: Ways
    side: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedTemplate:
    """The automaton of a pattern with its guards; states are 0, 1, ...

    `conditions` read their attributes from two events, `PREVIOUS` and `CURRENT` of
    `elsinore.plan.between`. `anchors` are variables whose event later ones are compared with.
    `negatives` are the patterns under NOT, each with `sides` 1 and no aggregates of its own. Under
    AND there are two sides.
    """

    query: Query
    states: tuple[GuardedState, ...]
    starts: tuple[Start, ...]
    moves: tuple[Move, ...]
    ends: tuple[End, ...]
    conditions: tuple[Expression, ...]
    anchors: tuple[str, ...]
    negatives: tuple[GuardedTemplate, ...]
    aggregation: Aggregation
    sides: int
    ambiguous: bool  # whether some sequence of events may have two runs
    warnings: tuple[str, ...] = ()

    @property
    def accepting(self) -> frozenset[int]:
        """The states in which a trend may end."""
        return frozenset(end.source for end in self.ends)

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates that tell events apart, by type, those of negatives included."""
        found: dict[str, frozenset[Expression]] = {}
        for state in self.states:
            found[state.type] = found.get(state.type, frozenset()) | state.needs
        for negative in self.negatives:
            for name, predicates in negative.predicates.items():
                found[name] = found.get(name, frozenset()) | predicates
        return found

    @property
    def compared(self) -> frozenset[str]:
        """The attributes that conditions read."""
        own = {a.name for c in self.conditions for a in ex.attributes(c) if a.name is not None}
        return frozenset(own).union(*(negative.compared for negative in self.negatives))

    def fits(self, type_name: str, true: frozenset[Expression]) -> frozenset[int]:
        """Return the states that an event of this type and truth of predicates may take."""
        return frozenset(
            number
            for number, state in enumerate(self.states)
            if state.type == type_name and state.needs <= true
        )


@dataclass(frozen=True, slots=True)
class _Spot:
    """A position, and which first events (`Reading.first`) have been seen by then."""

    position: int
    seen: frozenset[frozenset[str]]


def guarded_template(query: Query) -> GuardedTemplate:
    """Build the guarded template of a trend query.

    Raises QuerySemanticError for predicates that no pair of events of one trend can be read for,
    for AND of more than two patterns, and for an aggregate over a variable of an ambiguous pattern.
    """
    refuse_unreadable(query)
    _refuse_strangers(query)
    if isinstance(query.pattern, pt.Conjunction):
        if len(query.pattern.parts) != 2:
            raise QuerySemanticError(
                "AND counts pairs of trends: it joins two patterns. Ask for the other pairs in "
                "queries of their own.",
                span=query.pattern.span or query.span,
                query=query.name,
            )
        ones, others = (_build(query, part) for part in query.pattern.parts)
        return _joined(ones, others)
    return _build(query, query.pattern)


def _build(query: Query, whole: pt.Pattern) -> GuardedTemplate:
    local = local_predicates(query)
    positions = guarded_positions(whole)
    between = [
        reading
        for predicate in query.where
        if not is_local(predicate)
        for reading in readings(query, whole, predicate) or ()
    ]
    nfa = _automaton(positions, local)
    useful = nfa.trim()
    witness = ambiguity(nfa) if useful & nfa.accepting else None
    fields = aggregation(query)
    if witness is not None and whole is query.pattern:
        refuse_readings(query, fields, positions.events, witness)
    return _assembled(query, positions, local, between, useful, witness, fields)


def _automaton(positions: GuardedPositions, local: dict[str, frozenset[Expression]]) -> Nfa:
    symbols = [Symbol(event.type, local[event.variable]) for event in positions.events]
    moves = [Transition(0, symbols[p], p + 1) for p in sorted(positions.first)]
    moves += [Transition(p + 1, symbols[q], q + 1) for p, q in sorted(positions.follow)]
    accepting = frozenset(p + 1 for p in positions.last)
    return Nfa(len(symbols) + 1, tuple(moves), accepting)


def _assembled(
    query: Query,
    positions: GuardedPositions,
    local: dict[str, frozenset[Expression]],
    between: list[Reading],
    useful: frozenset[int],
    witness: Ambiguity | None,
    fields: Aggregation,
) -> GuardedTemplate:
    """Walk from the first positions on; make a state of each spot that is reached."""
    variable = [event.variable for event in positions.events]
    firsts = frozenset(reading.first for reading in between if reading.first)
    follow = {pair: w for pair, w in positions.follow.items() if {p + 1 for p in pair} <= useful}
    anchored = _anchored(between, follow, variable)
    anchors = tuple(dict.fromkeys(reading.earlier for reading in anchored))
    conditions: dict[Expression, int] = {}

    def numbered(condition: Expression) -> int:
        return conditions.setdefault(condition, len(conditions))

    def entered(seen: frozenset[frozenset[str]], position: int) -> _Spot:
        return _Spot(position, seen | {names for names in firsts if variable[position] in names})

    spots: dict[_Spot, int] = {}
    starts: list[Start] = []
    moves: list[Move] = []
    for position, ways in sorted(positions.first.items()):
        if position + 1 in useful:
            spot = entered(frozenset(), position)
            spots.setdefault(spot, len(spots))
            starts.append(Start(spots[spot], ways))
    for spot in (order := [*spots]):  # grows while it is gone through
        for (p, q), ways in sorted(follow.items(), key=lambda entry: entry[0]):
            if p != spot.position:
                continue
            target = entered(spot.seen, q)
            if target not in spots:
                spots[target] = len(spots)
                order.append(target)
            asked = [
                reading
                for reading in between
                if reading.later == variable[q]
                and not (reading.first and reading.first in spot.seen)
            ]
            moves.append(
                Move(
                    spots[spot],
                    spots[target],
                    ways,
                    frozenset(
                        numbered(reading.condition)
                        for reading in asked
                        if reading not in anchored and reading.earlier == variable[p]
                    ),
                    frozenset(
                        (anchors.index(reading.earlier), numbered(reading.condition))
                        for reading in asked
                        if reading in anchored
                    ),
                )
            )
    states = tuple(
        GuardedState(
            positions.events[spot.position].type,
            variable[spot.position],
            local[variable[spot.position]],
            anchors.index(variable[spot.position]) if variable[spot.position] in anchors else None,
        )
        for spot in spots
    )
    ends = tuple(
        End(number, positions.last[spot.position])
        for spot, number in spots.items()
        if spot.position in positions.last
    )
    return GuardedTemplate(
        query=query,
        states=states,
        starts=tuple(starts),
        moves=tuple(moves),
        ends=ends,
        conditions=tuple(conditions),
        anchors=anchors,
        negatives=tuple(_build(query, negative) for negative in positions.negatives),
        aggregation=fields,
        sides=1,
        ambiguous=witness is not None,
    )


def _refuse_strangers(query: Query) -> None:
    """Refuse predicates between events none of which can come after another as they ask."""
    for predicate in query.where:
        if is_local(predicate):
            continue
        if not any(_applies(query, whole, predicate) for whole in wholes_of(query.pattern)):
            names = dict.fromkeys(attribute.variable for attribute in ex.attributes(predicate))
            told = " and ".join(names) if len(names) > 1 else f"two of {next(iter(names))}"
            raise QuerySemanticError(
                f"{told} are never neighbours in a trend of this pattern, so the condition would "
                "never be looked at. Compare events that follow one another, or an event that "
                "occurs once with later ones.",
                span=place_of(predicate),
                query=query.name,
            )


def _applies(query: Query, whole: pt.Pattern, predicate: Expression) -> bool:
    positions = guarded_positions(whole)
    variable = [event.variable for event in positions.events]
    neighbours = {(variable[p], variable[q]) for p, q in positions.follow}
    later = {
        (variable[p], variable[r])
        for p, q in positions.follow
        for r in closure({q}, positions.follow)
    }
    return any(
        (reading.earlier, reading.later) in (later if reading.anchored else neighbours)
        for reading in readings(query, whole, predicate) or ()
    )


def _anchored(
    between: list[Reading], follow: dict[tuple[int, int], Ways], variable: list[str]
) -> frozenset[Reading]:
    """Return the readings for which the earlier event must be remembered beyond the next one."""
    steps: dict[int, set[int]] = {}
    for p, q in follow:
        steps.setdefault(p, set()).add(q)
    found = set()
    for reading in between:
        if not reading.anchored:
            continue
        for place in (p for p in range(len(variable)) if variable[p] == reading.earlier):
            beyond = {r for q in steps.get(place, ()) for r in steps.get(q, ())}
            later = closure(beyond, follow)
            if any(variable[r] == reading.later for r in later):
                found.add(reading)
    return frozenset(found)


def _joined(one: GuardedTemplate, other: GuardedTemplate) -> GuardedTemplate:
    """Put the automata of the two patterns that AND joins side by side."""
    more = len(one.states)
    conditions = tuple(dict.fromkeys(one.conditions + other.conditions))
    anchors = tuple(dict.fromkeys(one.anchors + other.anchors))
    negatives = tuple(dict.fromkeys(one.negatives + other.negatives))

    def ways_of(part: GuardedTemplate, ways: Ways) -> Ways:
        return frozenset(frozenset(negatives.index(part.negatives[n]) for n in way) for way in ways)

    states: list[GuardedState] = []
    starts: list[Start] = []
    moves: list[Move] = []
    ends: list[End] = []
    for side, (part, shift) in enumerate(((one, 0), (other, more))):
        for state in part.states:
            anchor = None if state.anchor is None else anchors.index(part.anchors[state.anchor])
            states.append(GuardedState(state.type, state.variable, state.needs, anchor))
        starts += [Start(s.target + shift, ways_of(part, s.ways)) for s in part.starts]
        ends += [End(e.source + shift, ways_of(part, e.ways), side) for e in part.ends]
        moves += [
            Move(
                move.source + shift,
                move.target + shift,
                ways_of(part, move.ways),
                frozenset(conditions.index(part.conditions[n]) for n in move.conditions),
                frozenset(
                    (anchors.index(part.anchors[a]), conditions.index(part.conditions[n]))
                    for a, n in move.checks
                ),
            )
            for move in part.moves
        ]
    return GuardedTemplate(
        query=one.query,
        states=tuple(states),
        starts=tuple(starts),
        moves=tuple(moves),
        ends=tuple(ends),
        conditions=conditions,
        anchors=anchors,
        negatives=negatives,
        aggregation=one.aggregation,
        sides=2,
        ambiguous=True,
        warnings=one.warnings + other.warnings,
    )
