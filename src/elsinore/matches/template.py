"""Templates: a match query as an automaton whose runs are its matches (SASE++, Section 2.2).

A state determines the variable of the latest event; an edge, the type of the next event and the
conditions that it must satisfy against events selected before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from elsinore.automata.positions import FREE, NO_WAY, Ways
from elsinore.matches.arrays import EVER, NEVER, NO_WINDOW, Ints
from elsinore.matches.conditions import Condition
from elsinore.matches.registers import Register
from elsinore.matches.relations import Deadline, Relation
from elsinore.matches.returns import Column, ColumnKind
from elsinore.model import pattern as pt
from elsinore.model.expression import Duration, Expression, walk
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.model.window import first_window
from elsinore.plan.modes import HIGH, LAW, Uncertainty

START = -1  # the source of an edge that begins a match


class WindowSpan(NamedTuple):
    """WITHIN, SLIDE and ORIGIN of a query in the unit of times."""

    within: int = NO_WINDOW  # the whole stream
    slide: int = 0  # windows are relative to each match
    origin: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """The type, variable and local predicates of the latest event of a match."""

    type: str
    variable: str
    needs: frozenset[Expression]


@dataclass(frozen=True, slots=True)
class Edge:
    """An event that fits `target` may follow one in `source`, or begin a match (START).

    One of `ways` must be free of negative matches, and none of `unless`; `relations` are those of
    NOTs in `ways`. `checks` (numbers of conditions) are evaluated when the event is selected,
    `late` for this event when the match is complete.
    """

    source: int
    target: int
    ways: Ways
    checks: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    unless: Ways = NO_WAY
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """A match may end in `state` if one of `ways` has no negative match after it.

    That is known once all `deadlines` have passed; without deadlines, at the end of the window.
    """

    state: int
    ways: Ways
    relations: tuple[Relation, ...] = ()
    deadlines: tuple[Deadline, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTemplate:
    """The automaton of a match query, or of a pattern under NOT in one; states are 0, 1, ...

    `final` are the conditions of the whole match. `duplicates`: two runs may bind the same events
    to the same variables; they are one match. `computed` are attributes that are computed of each
    event. `uncertain` describes times that are intervals; `sets` are the variables whose events
    are a set then, as their order does not matter (`elsinore.matches.dependence`).
    """

    query: Query
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    ends: tuple[End, ...]
    conditions: tuple[Condition, ...]
    final: tuple[int, ...]
    registers: tuple[Register, ...]
    negatives: tuple[MatchTemplate, ...]
    columns: tuple[Column, ...]
    duplicates: bool
    computed: tuple[tuple[str, Expression], ...] = ()
    uncertain: Uncertainty | None = None
    sets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_negative: bool = False  # whether the pattern is under NOT

    @property
    def window(self) -> WindowSpan:
        """The window of the query."""
        window = self.query.window
        if window is None:
            return WindowSpan()
        return WindowSpan(window.within, window.slide or 0, window.origin)

    @property
    def strategy(self) -> Strategy:
        """The selection strategy; a pattern under NOT may skip any events."""
        return Strategy.ANY if self.is_negative else self.query.strategy

    @property
    def ends_with_not(self) -> bool:
        """Whether a match may end with NOT."""
        return any(any(way for way in end.ways) for end in self.ends)

    @property
    def relates_negatives(self) -> bool:
        """Whether the events that a NOT forbids depend on the events of the match."""
        parts: tuple[Edge | End, ...] = (*self.edges, *self.ends)
        return any(part.relations for part in parts)

    @property
    def listed(self) -> dict[int, tuple[int, ...]]:
        """The patterns under NOT whose matches are listed, and the registers of their events.

        These patterns have several events, which conditions relate to the match.
        """
        parts: tuple[Edge | End, ...] = (*self.edges, *self.ends)
        return {
            relation.negative: relation.reads
            for part in parts
            for relation in part.relations
            if relation.reads
        }

    @property
    def begins_with_not(self) -> bool:
        """Whether a match may begin with NOT."""
        return any(edge.source == START and any(edge.ways - FREE) for edge in self.edges)

    @property
    def depends_on_later(self) -> bool:
        """Whether events after a match, up to the end of the window, may exclude it."""
        return self.ends_with_not or any(n.depends_on_later for n in self.negatives)

    @property
    def depends_on_earlier(self) -> bool:
        """Whether events before a match, from the start of the window, may exclude it."""
        return self.begins_with_not or any(n.depends_on_earlier for n in self.negatives)

    @property
    def depends_on_window(self) -> bool:
        """Whether the matches of a pattern under NOT depend on the window of the whole match.

        They do if that pattern begins or ends with NOT itself.
        """
        return any(n.depends_on_earlier or n.depends_on_later for n in self.negatives)

    @property
    def gathers(self) -> bool:
        """Whether rows in collapsed form are made of single matches."""
        is_any = self.query.strategy is Strategy.ANY
        return self.query.collapsed and (self.uncertain is not None or not is_any)

    @property
    def is_local(self) -> bool:
        """Whether each match is one event and is returned at once."""
        return pt.is_single(self.query.pattern) and not self.waits

    @property
    def waits(self) -> bool:
        """Whether a match is returned only when its window has ended."""
        searches_by_window = self.depends_on_window and self.query.window is not None
        is_open = self.depends_on_later or searches_by_window
        is_longest = self.query.after_match is not None
        return is_open or self.query.collapsed or self.is_unsure or is_longest

    @property
    def decides_early(self) -> bool:
        """Whether a match that waits may be returned before its window has ended."""
        query = self.query
        selects = query.collapsed or query.after_match is not None or query.suppress is not None
        is_plain = not (
            selects or self.numbers_matches or self.is_negative or self.depends_on_window
        )
        return is_plain and self.uncertain is None and any(end.deadlines for end in self.ends)

    @property
    def deadline_ticks(self) -> tuple[int, ...]:
        """How long after an event a match with it may become final before its window ends."""
        ticks = {deadline.ticks for end in self.ends for deadline in end.deadlines}
        return tuple(sorted({0, *ticks})) if self.decides_early else ()

    @property
    def numbers_matches(self) -> bool:
        """Whether RETURN has MATCH_NUMBER()."""
        return any(column.kind is ColumnKind.MATCH_NUMBER for column in self.columns)

    @property
    def is_unsure(self) -> bool:
        """Whether events that a NOT forbids, also later ones, make a match less probable."""
        return self.uncertain is not None and bool(self.negatives)

    @property
    def predicate_sets(self) -> dict[str, dict[frozenset[Expression], None]]:
        """The sets of local predicates of states, by type (see `Unit.predicate_sets`)."""
        by_type: dict[str, dict[frozenset[Expression], None]] = {}
        for state in self.states:
            by_type.setdefault(state.type, {})[state.needs] = None
        for negative in self.negatives:
            for name, needs in negative.predicate_sets.items():
                by_type.setdefault(name, {}).update(needs)
        return by_type

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates that distinguish events, by type, also those under NOT."""
        return {name: frozenset().union(*needs) for name, needs in self.predicate_sets.items()}

    @property
    def has_fine_lengths(self) -> bool:
        """Whether conditions have constant lengths of time with fractions of a microsecond."""
        conditions = (node for c in self.conditions for node in walk(c.expression))
        return any(
            isinstance(node, Duration) and node.nanoseconds % 1_000 for node in conditions
        ) or any(negative.has_fine_lengths for negative in self.negatives)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that conditions, registers and columns read, each once."""
        read: dict[str, None] = {}
        for condition in self.conditions:
            read.update(dict.fromkeys(condition.attributes))
        read.update((name, None) for r in self.registers for name in r.attributes)
        for column in self.columns:
            read.update(dict.fromkeys(column.attributes))
        for negative in self.negatives:
            read.update(dict.fromkeys(negative.attributes))
        if self.uncertain is not None:
            read[HIGH] = None
            if self.uncertain.by_event:
                read[LAW] = None
        return tuple(read)


def column_of(attribute: str) -> str:
    """Return the name of the column with an attribute, in batches of events."""
    return f"value:{attribute}"


def needed_from(template: MatchTemplate, reached: Ints, longest: int) -> Ints:
    """Return for each key the time from which its events may be in a later match of a template.

    reached: the times that keys have reached. longest: the longest interval of possible times.
    """
    within, slide, origin = template.window
    if within == NO_WINDOW:
        return reached - longest if template.is_local else np.full(len(reached), NEVER)
    if slide == 0:
        return np.asarray(reached - _reach_back(template, within, longest))
    # from the first window that has not ended
    number = first_window(reached, within, slide, origin)
    return np.asarray(origin + number * slide - longest)


def release_time(template: MatchTemplate, last: int, longest: int) -> int | None:
    """Return the time from which a template does not need an event at `last`; None: never.

    longest: the longest interval of possible times.
    """
    window = template.query.window
    if window is None:
        return last + longest + 1 if template.is_local else None
    if window.slide is not None:
        return int(window.bounds(window.last(last))[1]) + longest
    return last + _reach_back(template, window.within, longest) + 1


def _reach_back(template: MatchTemplate, within: int, longest: int) -> int:
    """Return how long before the time that is reached the first possible time of an event may be.

    within: the length of windows that are relative to the match. longest: the longest interval of
    possible times. A match waits until its window has passed from the last possible time of its
    first event, and its other events may have earlier first possible times than that event.
    """
    if template.waits and template.depends_on_earlier:
        return 2 * (within + longest)  # NOT reads events before a match that waits
    return within + (2 if template.waits else 1) * longest


def waiting_times(
    template: MatchTemplate, passed: int, reached: int, longest: int
) -> tuple[int, int]:
    """Return the first and last time of events whose windows end from `passed` to `reached`.

    Without windows: of events whose deadlines do.
    """
    within, _, _ = template.window
    if within == NO_WINDOW:
        if reached == EVER:
            return NEVER, EVER
        if not template.decides_early:
            return EVER, NEVER
        within = template.deadline_ticks[-1]
    return max(passed - within - longest, NEVER), reached


def next_deadline(template: MatchTemplate, times: Ints, latest: Ints, passed: int) -> int | None:
    """Return when the first open window ends or the first deadline passes.

    None if no match waits for either. `times` [event] are the first possible times, `latest` the
    last ones.
    """
    within, slide, origin = template.window
    ends = []
    spans = [(times, ticks) for ticks in template.deadline_ticks]
    if within != NO_WINDOW and slide == 0:
        spans.append((latest, within))
    for begins, ticks in spans:
        waiting = begins[begins >= passed - ticks]
        ends += [int(waiting.min()) + ticks + 1] if len(waiting) else []
    if slide > 0 and len(times):
        number = first_window(max(int(times.min()), passed), within, slide, origin)
        start = origin + number * slide
        ends += [start + within] if start <= latest.max() else []
    return min(ends, default=None)
