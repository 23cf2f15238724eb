"""Counting simultaneous events of one key in a live stream, to warn of them once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_numpy
from elsinore.operators.ties import TieTypes
from elsinore.plan import Unit
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.rows import simultaneous


class Ties:
    """Counts the tied events of a unit (`elsinore.operators.ties`) until a batch has some.

    `count` is the number in the first batch that had some. Events of two batches are not compared:
    all events of one time are in one batch, unless some arrive after the watermark has reached
    their time.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.count = 0

    @cached_property
    def _types(self) -> TieTypes:
        return TieTypes(self._unit)

    def observe(self, batch: pa.RecordBatch, keys: int) -> None:
        """Count the tied events of an operator's batch; keys: the number of codes."""
        if self.count or not self._types:
            return
        times, codes = to_numpy(batch.column("time")), to_numpy(batch.column("key"))
        rows, moments = simultaneous(times, Numbering.from_codes(codes, keys), 1)
        classes = to_numpy(batch.column("class"))[rows]
        is_relevant = classes >= 0
        if is_relevant.any():
            types = self._types.of_classes(classes[is_relevant])
            self.count = int(np.count_nonzero(self._types.tied(moments[is_relevant], types)))
