"""Dividing row groups among tasks, by time if possible."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.spark.combining import share_outside, shared_times
from elsinore.spark.scan.files import RowGroup, splits
from elsinore.spark.shuffle import TASKS_PER_CORE

SPLIT_BYTES = 1 << 27  # of row groups, as Spark's own splits
MOSTLY = 0.5  # the least share of events at times of only one task for combining


def parts_of(groups: Sequence[RowGroup], cores: int) -> tuple[tuple[RowGroup, ...], ...]:
    """Return the row groups of each task, in time order if they are mostly disjoint in time.

    If each task reads a separate stretch of time, a key's events in it can be combined. Otherwise
    row groups remain in the order of their files, so that few tasks open each file.
    """
    size = sum(group.size for group in groups)
    tasks = max(TASKS_PER_CORE * cores, -(-size // SPLIT_BYTES))
    return tuple(map(tuple, splits(in_time_order(groups), tasks)))


def in_time_order(groups: Sequence[RowGroup]) -> Sequence[RowGroup]:
    """Return row groups in the order of their times, unless these overlap or are unknown.

    >>> spans = [(20, 29), (0, 9), (10, 19)]
    >>> groups = [RowGroup("f", n, 5, 1, span) for n, span in enumerate(spans)]
    >>> [group.number for group in in_time_order(groups)]
    [1, 2, 0]
    """
    spans = [group.span for group in groups if group.span is not None]
    if len(spans) < len(groups):
        return groups
    if share_outside(spans, [group.rows for group in groups], shared_times(spans)) < MOSTLY:
        return groups
    return [group for _, group in sorted(zip(spans, groups, strict=True), key=lambda pair: pair[0])]
