"""Events in columns through Spark's shuffle: packed into blobs by key, and merged in order.

Nothing here knows Spark: these are functions of Arrow batches, which Spark's Python workers call.
Spark moves the blobs, and restarts tasks that have failed.
"""

from elsinore.spark.columnar.blobs import TRAVELS, Layout, rows_beside
from elsinore.spark.columnar.merging import MEMORY, KeyCodes, Merging, together
from elsinore.spark.columnar.packing import Combined, CombinesEvents, Packing
from elsinore.spark.columnar.runs import Sorted, local_directory
from elsinore.spark.columnar.stretches import Stretches

__all__ = [
    "MEMORY",
    "TRAVELS",
    "Combined",
    "CombinesEvents",
    "KeyCodes",
    "Layout",
    "Merging",
    "Packing",
    "Sorted",
    "Stretches",
    "local_directory",
    "rows_beside",
    "together",
]
