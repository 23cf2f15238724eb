"""The columns of a batch that the engine adds up and compares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import FieldKind
from elsinore.trends.engine.tables import FOREVER
from elsinore.trends.values.columns import order_columns

GREAT = 2.0**256  # addends from here on need powers


def great_addends(addends: NDArray[np.float64]) -> bool:
    """Return whether products with some addends may exceed a double."""
    return bool((np.abs(addends) >= GREAT).any())


def rank_columns(
    unit: TrendUnit, read: Sequence[tuple[FieldKind, str]], batch: pa.RecordBatch
) -> NDArray[np.int64]:
    """Return the ranks of events [event, column]: inverted for the greatest, else FOREVER."""
    ranks = np.empty((batch.num_rows, len(read)), np.int64)
    if not read:
        return ranks
    orders, ordered = order_columns(unit, batch)
    for column, (kind, name) in enumerate(read):
        if kind in {FieldKind.LEAST, FieldKind.GREATEST}:
            place = unit.ranked.index(name)
        else:
            place = len(unit.ranked) + unit.edges.index((kind, name))
        of_events = ~orders[place] if kind is FieldKind.GREATEST else orders[place]
        ranks[:, column] = np.where(ordered[place] != 0, of_events, FOREVER)
    return ranks
