"""The data of a sharing set's picture: its bursts, one by one or binned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.operators import OperatorStatistics
from elsinore.trends.statistics import SharingStatistics, TrendStatistics
from elsinore.words import count

MOST_BURSTS = 4_000  # with more, each would be thinner than a pixel
BINS = 400
LONGEST_TITLE = 64  # letters of a title's first line: it has half the picture's width


@dataclass(frozen=True, slots=True, kw_only=True)
class Bursts:
    """Bursts as columns: times, numbers of events in shared and unshared bursts, and benefits.

    Unless `binned`, there is an entry per burst. Otherwise there is one per nonempty bin: `time`
    and `until` are its ends, events are added up, and `benefit` is the mean of its bursts', which
    are between `least` and `greatest`.
    """

    binned: bool
    time: NDArray[np.int64]  # microseconds
    until: NDArray[np.int64]
    shared: NDArray[np.int64]  # events in bursts that were shared
    single: NDArray[np.int64]  # events in bursts that were not
    benefit: NDArray[np.float64]
    least: NDArray[np.float64]
    greatest: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Panel:
    """The panel of a sharing set: a title of two lines, and its bursts."""

    title: str
    bursts: Bursts


def panels(statistics: Sequence[OperatorStatistics]) -> tuple[Panel, ...]:
    """Return a panel for each set of several queries that has records, pass after pass."""
    return tuple(
        Panel(_title(shared, number), bursts_of(shared))
        for number, operator in enumerate(statistics, start=1)
        if isinstance(operator, TrendStatistics)
        for shared in operator.sharing
        if shared.records and len(shared.queries) > 1
    )


def _title(shared: SharingStatistics, number: int) -> str:
    where = f" (operator {number})"
    text = f"{shared.name} of {', '.join(shared.queries)}"
    if len(text + where) > LONGEST_TITLE:
        text = f"{shared.name} of {len(shared.queries)} queries: {', '.join(shared.queries)}"
        text = f"{text[: LONGEST_TITLE - len(where) - 1]}…"
    part = sum(record.shared > 1 for record in shared.records) / len(shared.records)
    return f"{text}{where}\n{part:.0%} of {count(len(shared.records), 'burst')} shared"


def bursts_of(shared: SharingStatistics, most: int = MOST_BURSTS, bins: int = BINS) -> Bursts:
    """Return the bursts of a sharing set; in `bins` of equal length if there are over `most`.

    >>> from elsinore.trends.statistics import BurstRecord
    >>> records = [BurstRecord(time, 4, 2, 2, 10.0) for time in range(100)]
    >>> bursts_of(SharingStatistics("T+", ("q1", "q2"), records=records), 50, 10).shared.tolist()
    [40, 40, 40, 40, 40, 40, 40, 40, 40, 40]
    """
    records = sorted(shared.records, key=lambda record: record.time)
    time = np.array([record.time for record in records], dtype=np.int64)
    events = np.array([record.events for record in records], dtype=np.int64)
    is_shared = np.array([record.shared > 1 for record in records], dtype=np.bool_)
    benefit = np.array([record.benefit for record in records], dtype=np.float64)
    if len(records) <= most:
        return Bursts(
            binned=False,
            time=time,
            until=time,
            shared=np.where(is_shared, events, 0),
            single=np.where(is_shared, 0, events),
            benefit=benefit,
            least=benefit,
            greatest=benefit,
        )
    length = -(-(int(time[-1]) - int(time[0]) + 1) // bins)
    numbers = (time - time[0]) // length
    starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    left = time[0] + numbers[starts] * length
    sizes = np.diff(np.concatenate((starts, [len(time)])))
    return Bursts(
        binned=True,
        time=left,
        until=left + length,
        shared=np.add.reduceat(np.where(is_shared, events, 0), starts),
        single=np.add.reduceat(np.where(is_shared, 0, events), starts),
        benefit=np.add.reduceat(benefit, starts) / sizes,
        least=np.minimum.reduceat(benefit, starts),
        greatest=np.maximum.reduceat(benefit, starts),
    )
