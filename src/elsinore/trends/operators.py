"""The operators of all paths, by one contract."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa

from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.trends.buffered import BufferedTrends
from elsinore.trends.exact import ExactTrends
from elsinore.trends.operator import TrendOperator
from elsinore.trends.statistics import TrendStatistics


class TrendsOperator(Protocol):
    """What the operators of all paths have in common."""

    unit: TrendUnit
    statistics: TrendStatistics

    @property
    def open_group(self) -> int:
        """The group of the key that goes on, with `one_slot`; -1 where there is none yet."""

    def process(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none."""

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""


class GivingOut:
    """A path's operator by the contract of all kinds: totals are given out where there are any."""

    def __init__(self, inner: TrendsOperator) -> None:
        self._inner = inner

    @property
    def statistics(self) -> TrendStatistics:
        """What the operator has done so far."""
        return self._inner.statistics

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group of which something may still be given out."""
        return self._inner.open_group

    def process(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        """Take a batch; give out totals that are final already (with `one_slot`)."""
        return _filled(self._inner.process(batch))

    def close(self, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Give out the totals of all windows that end at or before `until`; None: of all."""
        return _filled(self._inner.close(until))

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        return self._inner.deadline()

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        return self._inner.save()


def _filled(totals: pa.RecordBatch) -> tuple[pa.RecordBatch, ...]:
    return (totals,) if totals.num_rows else ()


def operator_of(
    unit: TrendUnit,
    *,
    one_slot: bool = False,
    ordered: bool = False,
    sharing: Sharing = Sharing.DYNAMIC,
    record: bool = False,
) -> TrendsOperator:
    """Return a new operator for a unit: that of its path.

    `one_slot`: keys come one after another, those of a group together, and never again. `ordered`:
    each event is a moment of its own; else simultaneous events of a key do not precede one another,
    and where there are none it makes no difference. `record`: each burst and what was decided is
    kept.
    """
    if unit.path is not Path.COARSE:
        return BufferedTrends(
            unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record
        )
    if unit.exact:
        return ExactTrends(unit, one_slot=one_slot, ordered=ordered)
    return TrendOperator(unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record)


def load_operator(unit: TrendUnit, blob: bytes) -> TrendsOperator:
    """Return the operator that `save` made the bytes of.

    Raises StateError where the bytes are damaged or of another version or workload.
    """
    if unit.path is not Path.COARSE:
        return BufferedTrends.load(unit, blob)
    return (ExactTrends if unit.exact else TrendOperator).load(unit, blob)


def bytes_per_key(unit: TrendUnit) -> int:
    """Return how much memory each key takes, beside the events that are kept."""
    return TrendOperator.bytes_per_key(unit) if unit.path is Path.COARSE and not unit.exact else 0
