"""Confidences of matches with NOT if times are uncertain, computed case by case.

This is necessary if a NOT is of several events, if an event that NOT forbids could lie in several
gaps of a match, if a match can arise in several ways, and beside sets; otherwise a recurrence is
enough, and 400 times as fast (`elsinore.matches.engine.confidence`). Sequences of events that a NOT
forbids, *chains*, are searched as matches of its pattern, with any confidence. A match exists if
one of its runs has no chain in its gaps; the probability that one of several runs has none is
computed by inclusion and exclusion (`elsinore.matches.clauses`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from elsinore.automata.positions import Ways
from elsinore.errors import InputError
from elsinore.matches.arrays import Keys, MatchBatch
from elsinore.matches.clauses import (
    MOST_CASES,
    Chain,
    Clauses,
    Frame,
    Times,
    TooManyCases,
    chance_of,
)
from elsinore.matches.engine.pattern import all_of
from elsinore.matches.engine.possible import PossibleTimes
from elsinore.matches.operands import Operands
from elsinore.matches.query import QuerySearch
from elsinore.matches.template import START, MatchTemplate

MOST_CHAINS = 100_000  # possible matches of a pattern under NOT
MOST_RUNS = 12  # runs of a match that do not imply one another: 2^12 sums
LONGEST_CHAIN = 10  # of a chain whose parts are looked up among the others

Run = frozenset[tuple[int, int]]  # gaps, and negative patterns that may not occur in them
Bounds = tuple[tuple[int, int], tuple[int, int]]  # the first and last times of two moments


def needs_cases(template: MatchTemplate) -> bool:
    """Return whether the recurrence does not apply to the NOTs of a query."""
    ways = [edge.ways for edge in template.edges] + [end.ways for end in template.ends]
    return (
        bool(template.sets)
        or template.duplicates
        or any(edge.source != START for n in template.negatives for edge in n.edges)
        or any(len(of_gap) > 1 for of_gap in ways)
    )


class CaseConfidences:
    """Computes the confidences of the matches of one query with NOT, case by case."""

    def __init__(self, template: MatchTemplate, searches: Sequence[QuerySearch]) -> None:
        """`searches` are those for the chains of each pattern under NOT (`shortened`)."""
        self._template = template
        self._searches = searches
        names = list(template.sets)
        self._set_of = [
            names.index(s.variable) if s.variable in names else -1 for s in template.states
        ]
        self._runs: dict[tuple[str, ...], list[Run]] = {}  # by the variables that events are of

    def begin(
        self, operands: Operands, keys: Keys, possible: PossibleTimes
    ) -> Callable[[MatchBatch, int], float]:
        """Return a function that computes the confidence of a match, by its number in a batch.

        Chains are searched when they are first needed. Raises InputError.
        """
        within, slide, origin = self._template.window
        starts, points, odds = map(np.asarray, (possible.starts, possible.points, possible.odds))
        known: dict[int, list[tuple[int, float]]] = {}
        chains: dict[int, _Chains] = {}

        def times(event: int) -> Times:
            if event not in known:
                of_event = slice(starts[event], starts[event + 1])
                pairs = zip(points[of_event].tolist(), odds[of_event].tolist(), strict=True)
                known[event] = [pair for pair in pairs if pair[1] > 0.0]
            return known[event]

        clauses = Clauses(times)

        def confidence(matches: MatchBatch, number: int) -> float:
            path = matches.paths[matches.starts[number] : matches.starts[number + 1]].tolist()
            bound = {event for event, _ in path}
            frame = Frame(within=within if within >= 0 and slide == 0 else None)
            if slide > 0:
                first = origin + int(matches.window[number]) * slide
                frame = Frame(first, first + within - 1)
            stages, gaps = self._stages(path)
            runs = self._runs_of(tuple(self._template.states[s].variable for _, s in path), gaps)
            key = int(np.searchsorted(keys.first_row, stages[0][0], side="right"))
            breaking: dict[tuple[int, int], list[Chain] | None] = {}
            for gap, negative in set().union(*runs):
                if negative not in chains:
                    chains[negative] = self._chains(negative, operands, keys, possible)
                bounds = _bounds(stages, gap, frame, times)
                breaking[gap, negative] = chains[negative].between(key - 1, bounds, bound)
            clauses.left = MOST_CASES
            try:
                return _chance_of_any(runs, breaking, stages, frame, clauses)
            except TooManyCases:
                raise self._too_many(breaking.values()) from None

        return confidence

    def _stages(self, path: list[list[int]]) -> tuple[list[list[int]], list[int]]:
        """Return the events of a match, those of a set together, and the gap before each."""
        stages: list[list[int]] = []
        gaps = []
        before = -1
        for event, state in path:
            if stages and self._set_of[state] >= 0 and self._set_of[state] == before:
                stages[-1].append(event)
            else:
                stages.append([event])
            before = self._set_of[state]
            gaps.append(len(stages) - 1)
        return stages, gaps

    def _runs_of(self, variables: tuple[str, ...], gaps: Sequence[int]) -> list[Run]:
        """Return the runs that bind events to variables, without those that another run implies."""
        if variables in self._runs:
            return self._runs[variables]
        template = self._template
        reached: dict[int, set[Run]] = {START: {frozenset()}}
        for variable, gap in zip(variables, gaps, strict=True):
            onward: dict[int, set[Run]] = {}
            for edge in template.edges:
                if edge.source in reached and template.states[edge.target].variable == variable:
                    longer = _with(reached[edge.source], edge.ways, gap)
                    onward[edge.target] = onward.get(edge.target, set()) | longer
            reached = {state: _least(runs) for state, runs in onward.items()}
        ended = [
            _with(reached[end.state], end.ways, gaps[-1] + 1)
            for end in template.ends
            if end.state in reached
        ]
        runs = sorted(_least(set().union(*ended)), key=sorted)
        if len(runs) > MOST_RUNS:
            raise InputError(
                f"query {template.query.name}: a match may be one in {len(runs)} ways, each with "
                f"other events that NOT forbids; where times are uncertain, {MOST_RUNS} are looked "
                "at. Leave out parts of the pattern that may be left out (?, *, OR) beside NOT."
            )
        return self._runs.setdefault(variables, runs)

    def _chains(
        self,
        negative: int,
        operands: Operands,
        keys: Keys,
        possible: PossibleTimes,
    ) -> _Chains:
        """Search the possible matches of a pattern under NOT."""
        chains: dict[Chain, None] = {}
        search = self._searches[negative]
        search.pattern.set_texts(operands)
        for piece in search.matches(operands, all_of(keys), MOST_CHAINS + 1):
            events = piece.paths[:, 0].tolist()
            edges = piece.starts.tolist()
            chains.update((tuple(events[a:b]), None) for a, b in itertools.pairwise(edges))
            if len(chains) > MOST_CHAINS:
                raise InputError(
                    f"query {self._template.query.name}: a pattern under NOT has more than "
                    f"{MOST_CHAINS:,} matches, at one time or another. Make the window or the "
                    "intervals shorter, or add conditions to what NOT forbids."
                )
        return _Chains([c for c in chains if not _contains_another(c, chains)], keys, possible)

    def _too_many(self, breaking: Iterable[Sequence[Chain] | None]) -> InputError:
        events = {event for chains in breaking for chain in chains or () for event in chain}
        return InputError(
            f"query {self._template.query.name}: {len(events)} events could break a match together "
            f"with others, at one time or another: their times make more than {MOST_CASES:,} "
            "cases. Make the intervals shorter, let possible times be farther apart (time_step, "
            "--time-step), or add conditions to what NOT forbids."
        )


class _Chains:
    """The chains of a negative pattern, by their keys and times."""

    def __init__(self, chains: list[Chain], keys: Keys, possible: PossibleTimes) -> None:
        self._chains = chains
        starts, points = np.asarray(possible.starts), np.asarray(possible.points)
        low, high = points[starts[:-1]], points[starts[1:] - 1]
        first = np.array([chain[0] for chain in chains], dtype=np.int64)
        last = np.array([chain[-1] for chain in chains], dtype=np.int64)
        self._key = np.searchsorted(keys.first_row, first, side="right") - 1
        self._begins, self._ends = (low[first], high[first]), (low[last], high[last])
        self._is_sure = np.array(
            [all(high[a] < low[b] for a, b in itertools.pairwise(chain)) for chain in chains], bool
        )

    def between(self, key: int, bounds: Bounds, bound: set[int]) -> list[Chain] | None:
        """Return the chains of a key that may lie in a gap, without events that are `bound`.

        None if a chain certainly lies there.
        """
        (low_after, after), (before, high_before) = bounds
        near = (self._key == key) & (self._begins[1] > low_after) & (self._ends[0] < high_before)
        inside = self._is_sure & (self._begins[0] > after) & (self._ends[1] < before)
        chains = []
        for place in np.flatnonzero(near).tolist():
            if bound.isdisjoint(self._chains[place]):
                if inside[place]:
                    return None
                chains.append(self._chains[place])
        return chains


def shortened(negative: MatchTemplate, template: MatchTemplate) -> MatchTemplate:
    """Return the template of chains, without repetitions: these are less probable."""
    edges = negative.edges
    if not negative.conditions:
        edges = tuple(edge for edge in edges if edge.source != edge.target)
    return replace(negative, edges=edges, duplicates=False, uncertain=template.uncertain)


def _bounds(
    stages: list[list[int]], gap: int, frame: Frame, times: Callable[[int], Times]
) -> Bounds:
    """Return the first and last time at which a gap may begin, and may end."""

    def range_of(stage: list[int], choose: Callable[[Iterable[int]], int]) -> tuple[int, int]:
        of_events = [times(event) for event in stage]
        return choose(t[0][0] for t in of_events), choose(t[-1][0] for t in of_events)

    within = frame.within
    if gap > 0:
        begins = range_of(stages[gap - 1], max)
    elif within is None:
        begins = frame.first - 1, frame.first - 1
    else:
        last = range_of(stages[-1], max)
        begins = last[0] - within - 1, last[1] - within - 1
    if gap < len(stages):
        ends = range_of(stages[gap], min)
    elif within is None:
        ends = frame.last + 1, frame.last + 1
    else:
        first = range_of(stages[0], min)
        ends = first[0] + within + 1, first[1] + within + 1
    return begins, ends


def _chance_of_any(
    runs: Sequence[Run],
    breaking: dict[tuple[int, int], list[Chain] | None],
    stages: list[list[int]],
    frame: Frame,
    clauses: Clauses,
) -> float:
    """Return the probability that a match has at least one run whose gaps have no chain."""
    possible = [run for run in runs if all(breaking[part] is not None for part in run)]
    needs = _least({frozenset(part for part in run if breaking[part]) for run in possible})
    known: dict[Run, float] = {}
    total = 0.0
    for count in range(1, len(needs) + 1):
        for some in itertools.combinations(needs, count):
            free = frozenset().union(*some)
            if free not in known:
                chains: dict[int, list[Chain]] = {}
                for gap, negative in sorted(free):
                    chains.setdefault(gap, []).extend(breaking[gap, negative] or ())
                known[free] = chance_of(stages, chains, frame, clauses)
            total += known[free] if count % 2 else -known[free]
    return max(total, *known.values()) if len(known) > 1 else total


def _with(runs: set[Run], ways: Ways, gap: int) -> set[Run]:
    return {run.union((gap, negative) for negative in way) for run in runs for way in ways}


def _least(runs: set[Run]) -> set[Run]:
    """Remove runs that are free only if another run is."""
    return {run for run in runs if not any(smaller < run for smaller in runs)}


def _contains_another(chain: Chain, chains: dict[Chain, None]) -> bool:
    """Return whether a part of a chain is a chain, which then lies in the same gaps."""
    if len(chain) > LONGEST_CHAIN:
        return False
    return any(
        part in chains
        for count in range(1, len(chain))
        for part in itertools.combinations(chain, count)
    )
