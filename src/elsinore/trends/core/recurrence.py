# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The recurrence: what events add to the sums over the trends that they end.

For node p, the cells of p hold sums over all trends that end in p so far: their number c[p] and,
for each linear aggregate, the sum y[p] of what their events contribute. n simultaneous events that
may take p, whose addends have the sum v, add

    u = start(p) + sum of c[s] over the predecessors s of p,    n*u to c[p], and
    n * (sum of y[s] over the predecessors) + u*v               to y[p]

(COGRA's coarse granularity: HAMLET's Equations 1 to 3). MIN and MAX ride along in ranks, integers
whose order is the values' order: the least of what they are, of the events' own and of those of
predecessors in which trends end.

Here it stands for one number; who walks along the predecessors, the lanes and the rows calls it:
runs of lanes (`elsinore.trends.core.step`, `core.plain`), clocks (`elsinore.trends.sharing`), the
fold of panes (`elsinore.trends.actions`), steps from neighbour to neighbour
(`elsinore.trends.graph`), the index, and the graph of `elsinore.trends.hamlet`. Numbers are
doubles; doubles with a power (`core.numbers`), where the name says so; or those of
`elsinore.numeric`, likewise.
"""

from __future__ import annotations

from elsinore.trends.core.extended import add, scale
from elsinore.trends.core.numbers import BEYOND, DOWN, LIMIT, lowered, sum_of
from elsinore.trends.core.wide import wide_kernel


@wide_kernel(linked=True)
def contributed(trends: float, value: float) -> float:
    """Return u*v: what events add, whatever it is, to no trends is nothing.

    >>> contributed(3.0, 2.0), contributed(0.0, float("inf"))
    (6.0, 0.0)
    """
    return trends * value if trends != 0.0 else 0.0


@wide_kernel(linked=True)
def gained(before: float, events: float, trends: float, value: float) -> float:
    """Return n * (sum of y over the predecessors) + u*v.

    >>> gained(5.0, 2.0, 3.0, 7.0)
    31.0
    """
    return before * events + contributed(trends, value)


@wide_kernel(linked=True)
def gained_with_power(
    before: float,
    power: float,
    events: float,
    trends: float,
    trends_power: float,
    value: float,
    value_power: float,
) -> tuple[float, float]:
    """Return `gained` of numbers with powers, not in normal form; that of `events` is in `power`.

    Infinities have the power BEYOND, also times a number of trends that has a power: else those of
    both signs would not meet.

    >>> gained_with_power(5.0, 0.0, 2.0, 3.0, 0.0, 7.0, 0.0)
    (31.0, 0.0)
    >>> inf = float("inf")
    >>> gained_with_power(-inf, BEYOND, 1.0, 1.0, 2.0, inf, BEYOND)  # -inf, and 2**1024 times inf
    (nan, 268435456.0)
    """
    added = min(trends_power + value_power, BEYOND) if trends != 0.0 else 0.0
    return sum_of(before * events, power, contributed(trends, value), added)


@wide_kernel(linked=True)
def gained_extended(
    before: float, power: int, trends: float, trends_power: int, value: float
) -> tuple[float, int]:
    """Return `gained` of one event, in numbers of `elsinore.numeric`.

    >>> gained_extended(5.0, 0, 3.0, 0, 7.0)
    (26.0, 0)
    """
    added, added_power = scale(trends, trends_power, value)
    return add(before, power, added, added_power)


@wide_kernel(linked=True)
def composed(mine: float, source: float, kept: float, gain: float) -> float:
    """Return what events make of a number of trends c: `kept * c + gain * s`.

    s: that of the predecessors but for c itself. n simultaneous events make (1 + n) * c + n * s of
    a c that is its own predecessor, and c + n * s of one that is not; n moments of one event each
    make 2**n * (c + s) - s of the former, and c + n * s of the latter.

    >>> composed(5.0, 3.0, 2.0, 1.0)
    13.0
    """
    return mine * kept + source * gain


@wide_kernel(inline=True)
def composed_with_power(
    mine: float, power: float, source: float, source_power: float, kept: float, gain: float
) -> tuple[float, float]:
    """Return `composed` of numbers with powers, none below 0; factors are at most 2**500.

    >>> composed_with_power(2.0**511, 0.0, 0.0, 0.0, 2.0, 1.0)
    (1.0, 1.0)
    """
    top = max(power, source_power)
    total = composed(lowered(mine, power, top), lowered(source, source_power, top), kept, gain)
    passed = total >= LIMIT
    return total * DOWN if passed else total, top + 1.0 if passed else top


@wide_kernel(linked=True)
def least_reached(best: int, rank: int, trends: float) -> int:
    """Return the least of two ranks, the latter only if it is of some trends.

    >>> least_reached(5, 3, 1.0), least_reached(5, 3, 0.0)
    (3, 5)
    """
    return min(best, rank) if trends != 0.0 else best
