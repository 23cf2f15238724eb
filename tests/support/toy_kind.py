"""A minimal kind of query, which counts events of the types of a pattern by group."""

from __future__ import annotations

import pyarrow as pa

from elsinore.model import Query
from elsinore.operators import SummedKind
from elsinore.plan import Unit


class Toy(SummedKind):
    """Claims queries whose name begins with `toy`."""

    name = "toy"
    sums = (pa.field("n", pa.int64()),)

    def claims(self, query: Query) -> bool:
        return query.name.startswith("toy")

    def addends(self, unit: Unit, events: pa.RecordBatch) -> list[pa.Array]:
        return [pa.repeat(1, len(events))]


KIND = Toy()
