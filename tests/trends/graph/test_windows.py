"""Where the windows of rows end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.kernels import kernel, uncompiled
from elsinore.trends.graph.windows import row_at
from elsinore.trends.keyed import Ints


@kernel
def found(times: Ints, low: int, high: int, time: int) -> int:
    """Return the first row that is not before a time."""
    return row_at(times, low, high, time)


@pytest.mark.parametrize("found", [found, uncompiled(found)])
@given(st.lists(st.integers(-9, 99), max_size=50), st.integers(-10, 100), st.data())
def test_the_first_row_at_a_time_is_what_sorting_has(
    found: object, times: list[int], time: int, data: st.DataObject
) -> None:
    rows = np.sort(np.array(times, dtype=np.int64))
    low = data.draw(st.integers(0, int(rows.searchsorted(time))))
    high = data.draw(st.integers(low, len(rows)))
    assert callable(found)
    assert found(rows, low, high, time) == low + rows[low:high].searchsorted(time)
