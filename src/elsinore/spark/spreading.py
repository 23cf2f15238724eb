"""Spreading a key's events over partitions by stretches of time, against skewed keys.

One key may have most of the events. If its events are not combined before the shuffle, they are
sent to several partitions, each of which computes some of the key's windows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from elsinore.model.window import LONGEST, Window, common_borders
from elsinore.operators import kind_for
from elsinore.operators.panes import OVERLAP
from elsinore.plan import Unit
from elsinore.runtime.columnar import Layout, Stretches
from elsinore.runtime.columnar.hashing import hash_rows
from elsinore.runtime.options import RunOptions
from elsinore.spark.shuffle import partitions_for

Ints = NDArray[np.int64]

# If windows cross the borders of stretches, events near a border are sent twice: about one event in
# so many (the target), and at most one in so few, which keeps partitions busy if windows are long.
SELDOM, OFTEN = 8, 2


def spread(
    frame: DataFrame,
    units: Sequence[Unit],
    options: RunOptions,
    layout: Layout,
    *,
    size: int | None = None,
    span: tuple[int, int] | None = None,
) -> tuple[int, Stretches | None]:
    """Return the number of partitions for a pass's events, and the stretches of a key's events.

    `size` is the number of bytes of the input, `span` the first and the last time, if known.
    """
    partitions = partitions_for(frame, size)
    stretches = stretches_of(units, options, partitions, span)
    if isinstance(stretches, Stretches):
        return partitions, stretches if partitions > 1 else None
    return partitions if len(layout.keys) else 1, None


def stretches_of(
    units: Sequence[Unit], options: RunOptions, partitions: int, span: tuple[int, int] | None
) -> Stretches | str:
    """Return the stretches for a pass's events, or the reason why a key has one partition.

    `span` is the first and the last time of the events, if known.
    """
    if options.uncertain is not None:
        return "times are uncertain"
    windows: list[Window] = []
    for unit in units:
        unit_windows = kind_for(unit).windows(unit)
        if isinstance(unit_windows, str):
            return unit_windows
        windows += unit_windows
    windows = list(dict.fromkeys(windows))
    lasts = LONGEST if span is None else span[1] - span[0] + 1
    borders = common_borders(windows)
    if borders is not None:
        length, origin = borders
    elif units[0].equivalence:
        return OVERLAP
    else:
        within = max(window.within for window in windows)
        often = SELDOM if span is None else lasts // (partitions * within)
        length, origin = within * min(max(often, OFTEN), SELDOM), 0
    if length >= lasts:
        return "one window is as long as all events take"
    return Stretches(length, origin, tuple(windows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The windows and events of a partition, if events near borders of stretches are sent twice.

    `windows`: for each unit, those of its queries. Keys are groups here.
    """

    stretches: Stretches
    partitions: int
    windows: tuple[tuple[Window, ...], ...]

    @classmethod
    def from_units(cls, units: Sequence[Unit], stretches: Stretches, partitions: int) -> Share:
        """Return the share for a pass's units."""
        windows = tuple(tuple(kind_for(unit).windows(unit)) for unit in units)
        return cls(stretches=stretches, partitions=partitions, windows=windows)  # type: ignore[arg-type]

    def first_partitions(self, groups: Sequence[pa.Array], count: int) -> Ints:
        """Return the partition of the first stretch of each of some groups."""
        return (hash_rows(groups, count) % np.uint64(self.partitions)).astype(np.int64)

    def rows_of_partitions(
        self, unit: int, partial: pa.RecordBatch, first: Ints, here: Collection[int]
    ) -> Ints:
        """Return the rows of a partial output whose windows belong to the partitions `here`."""
        windows = self.windows[unit]
        query = partial.column("query").to_numpy()
        index = partial.column("window").to_numpy()
        stretch = np.zeros(partial.num_rows, np.int64)
        for number, window in enumerate(windows):
            is_of_query = query == number
            stretch[is_of_query] = self.stretches.of_window_numbers(window, index[is_of_query])
        target = (first[partial.column("group").to_numpy()] + stretch) % self.partitions
        return np.flatnonzero(np.isin(target, list(here)))

    def events_of_partitions(
        self, events: pa.RecordBatch, first: Ints, here: Collection[int]
    ) -> NDArray[np.bool_]:
        """Return which events lie in stretches that belong to the partitions `here`."""
        stretch = self.stretches.numbers(events.column("time").to_numpy())
        target = (first[events.column("group").to_numpy()] + stretch) % self.partitions
        return np.isin(target, list(here))
