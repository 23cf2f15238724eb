"""Columns of a batch as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def matrix(
    batch: pa.RecordBatch | pa.Table, prefix: str, names: Sequence[str], kind: type[np.generic]
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return columns as rows of one matrix, nulls as 0, and where they are not null.

    >>> found, present = matrix(pa.table({"sum:v": [1.0, None]}), "sum:", ["v"], np.float64)
    >>> found.tolist(), present.tolist()
    ([[1.0, 0.0]], [[1, 0]])
    """
    values = np.zeros((len(names), batch.num_rows), dtype=kind)
    present = np.ones((len(names), batch.num_rows), dtype=np.uint8)
    for row, name in enumerate(names):
        column = batch.column(prefix + name)
        if column.null_count:
            present[row] = column.is_valid().to_numpy(zero_copy_only=False)
            column = column.fill_null(0)
        values[row] = column.to_numpy(zero_copy_only=False)
    return values, present
