"""Dividing events into buckets by key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.arrow import whole
from elsinore.runtime.chunks import plain, same_floats
from elsinore.runtime.columnar import Layout
from elsinore.runtime.columnar.hashing import hash_rows


def split_by_key(events: pa.Table, layout: Layout, buckets: int) -> list[pa.Table]:
    """Divide events among buckets; a key's events have the same bucket in every process.

    Buckets are those of `elsinore.runtime.columnar.Packing`. Without key columns, all events belong
    to one bucket.
    """
    if buckets == 1 or not events.num_rows:
        return [events, *([events.slice(0, 0)] * (buckets - 1))]
    columns = [same_floats(plain(whole(events.column(name)))) for name in layout.keys.names]
    numbers = hash_rows(columns, events.num_rows) % np.uint64(buckets)
    return [events.filter(pa.array(numbers == number)) for number in range(buckets)]
