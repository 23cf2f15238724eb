"""Events without times: a column of row numbers is used as their times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError, option
from elsinore.model.clock import ROWS


def with_row_numbers(table: pa.Table) -> pa.Table:
    """Return events with the column ROWS, which numbers the rows from 1.

    Raises InputError if the events have another column of this name.

    >>> with_row_numbers(pa.table({"type": ["A", "B"]})).to_pydict()
    {'type': ['A', 'B'], 'ROWS': [1, 2]}
    """
    refuse_own_column(table.column_names)
    numbers = to_arrow(np.arange(1, table.num_rows + 1, dtype=np.int64))
    return table.append_column(ROWS, numbers)


def refuse_own_column(names: list[str]) -> None:
    """Raise InputError if events without times already have a column named ROWS."""
    if ROWS in names:
        raise InputError(
            f"The events have a column named {ROWS}, and {option('time', ROWS)} numbers rows in a "
            f"column of this name. To read times from yours, write {option('time', '`ROWS`')}."
        )
