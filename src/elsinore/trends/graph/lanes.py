"""Which queries whose trends go on step by step are lanes of one sweep, and what lanes add up.

Each lane has the sums of all queries of the sweep, side by side, and at the end a query is given
its own. So states that are equal are kept once, whatever the queries add up in them. The price is
sums that no query asks for, in lanes that differ: where these take longer than passing the events
again, and acting in each query's states by itself, queries go in several sweeps.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from elsinore.plan.alike import begins_with, equal_states
from elsinore.plan.guarded import GuardedTemplate
from elsinore.trends.core.addends import NOTHING
from elsinore.trends.graph.layout import Program
from elsinore.trends.graph.program import AddedColumns, Own
from elsinore.trends.keyed import Ints

MOST_LANES = 128
# What a sweep does, in the time that one sum of one lane takes: with each event that it passes;
# with one that acts in a state of one lane, after such states; with one that acts in another state.
# From 400,000 events and 2, 4 and 10 queries with a beginning, an end or nothing in common, in one
# sweep and in many.
PASSED, IN_ONE, IN_SEVERAL = 18, 7, 21
MOST_TRIED = 4  # sweeps that queries which add up something else are tried with


def lanes_of(
    templates: Sequence[GuardedTemplate], programs: Sequence[Program]
) -> list[tuple[int, ...]]:
    """Put queries, by number, together that are lanes of one sweep, one with all states first.

    They are of one shape, or one that another begins with. Those that add up the same are together
    at any rate; others where they have events of some type in common, and one sweep takes no longer
    than two.
    """
    sweeps: list[_Sweep] = []
    for numbers in _adding_alike(templates, programs):
        _put(sweeps, _Sweep(numbers, [templates[n] for n in numbers], _sums(programs[numbers[0]])))
    return [sweep.numbers for sweep in sweeps]


class _Sweep:
    """Queries by number, one with all states first, and what they cost as lanes of one sweep.

    `sums` are the different ones. `cost`: of one event of each type, but for passing it. `asking`:
    how many queries ask for each type: there may be as many events of it as that.
    """

    def __init__(
        self, numbers: tuple[int, ...], templates: list[GuardedTemplate], sums: frozenset[object]
    ) -> None:
        self.numbers, self.templates, self.sums = numbers, templates, sums
        self.asking = Counter(
            kind for template in templates for kind in {state.type for state in template.states}
        )
        self.cost = Counter[str]()
        for kind, lanes, alone in _acting(templates):
            self.cost[kind] += lanes * len(sums) + (IN_ONE if alone else IN_SEVERAL)

    def with_lanes(self, other: _Sweep) -> _Sweep | None:
        """Return both as one sweep; None where they cannot be."""
        first, second = sorted((self, other), key=lambda sweep: -len(sweep.templates[0].states))
        if len(self.numbers) + len(other.numbers) > MOST_LANES or not begins_with(
            first.templates[0], second.templates[0]
        ):
            return None
        return _Sweep(
            first.numbers + second.numbers,
            first.templates + second.templates,
            first.sums | second.sums,
        )

    def saves(self, first: _Sweep, second: _Sweep) -> int:
        """Return what is saved where two are this one: the events are passed once."""
        return sum(
            queries * (first.cost[kind] + second.cost[kind] + PASSED - self.cost[kind])
            for kind, queries in self.asking.items()
        )


def _sums(program: Program) -> frozenset[object]:
    """Return of each sum and extreme in which states something is added to it, and what.

    The number of trends, to which nothing is added, is None.
    """
    sums, ranks = program.linear.T.tolist(), program.extreme.T.tolist()
    return frozenset(
        [None]
        + [("sum", *(at for at in enumerate(column) if at[1] != NOTHING)) for column in sums[1:]]
        + [("extreme", *(at for at in enumerate(column) if at[1] >= 0)) for column in ranks]
    )


def _acting(templates: Sequence[GuardedTemplate]) -> Iterator[tuple[str, int, bool]]:
    """Return of each state the types of its events, and how many lanes one of these acts on there.

    And whether that is one, as in the states before. Where no trend goes on from a state, lanes
    that take events of other types are not looked at.
    """
    equal, moves = equal_states(templates), templates[0].moves
    lanes = [{*row} - {-1} for row in equal]
    followed = {move.source for move in moves}
    for state, row in enumerate(equal):
        alone = all(len(lanes[move.source]) == 1 for move in moves if move.target == state)
        taking: dict[str, set[int]] = {}
        for template, lane in zip(templates, row, strict=True):
            if state < len(template.states):
                taking.setdefault(template.states[state].type, set()).add(lane)
        for kind, some in taking.items():
            several = len(lanes[state] if state in followed else some)
            yield kind, several, alone and several == 1


def _put(sweeps: list[_Sweep], sweep: _Sweep) -> None:
    """Add a sweep to others: as one with that with which most is saved, or by itself."""
    alike = {
        place: len(sweep.asking.keys() & candidate.asking.keys())
        for place, candidate in enumerate(sweeps)
    }
    near = sorted((place for place in alike if alike[place]), key=lambda n: (-alike[n], -n))
    joint = ((place, sweeps[place].with_lanes(sweep)) for place in near)
    possible = ((place, both) for place, both in joint if both is not None)
    saved = [
        (both.saves(sweeps[place], sweep), place, both)
        for place, both in itertools.islice(possible, MOST_TRIED)
    ]
    most, place, both = max(saved, key=lambda entry: entry[0], default=(-1, 0, sweep))
    if most < 0:
        sweeps.append(sweep)
    else:
        sweeps[place] = both


def _adding_alike(
    templates: Sequence[GuardedTemplate], programs: Sequence[Program]
) -> list[tuple[int, ...]]:
    """Put queries together that may be lanes of one sweep and add up the same."""
    groups: list[list[int]] = []
    longest = sorted(range(len(templates)), key=lambda number: -len(templates[number].states))
    for number in longest:
        for several in groups:
            first = several[0]
            if (
                len(several) < MOST_LANES
                and begins_with(templates[first], templates[number])
                and _begins_with(programs[first].linear, programs[number].linear)
                and _begins_with(programs[first].extreme, programs[number].extreme)
            ):
                several.append(number)
                break
        else:
            groups.append([number])
    return [tuple(several) for several in groups]


def _begins_with(longer: Ints, table: Ints) -> bool:
    return longer.shape[1] == table.shape[1] and np.array_equal(longer[: len(table)], table)


def side_by_side(programs: Sequence[Program]) -> tuple[Program, list[Own]]:
    """Return the first program with the sums and extremes of all, and which are whose.

    It has all states, of which others may have the first ones alone.
    """
    states = len(programs[0].linear)
    linear, extreme = AddedColumns(states, NOTHING), AddedColumns(states, -1)
    of_program = []
    for program in programs:
        here = range(len(program.linear))
        sums, ranks = program.linear.T.tolist(), program.extreme.T.tolist()
        of_program.append(
            (
                [linear.number(f == 0, here, column) for f, column in enumerate(sums)],
                [extreme.number(False, here, column) for column in ranks],
            )
        )
    return programs[0]._replace(linear=linear.table(), extreme=extreme.table()), of_program
