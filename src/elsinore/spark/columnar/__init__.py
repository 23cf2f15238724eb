"""Events through Spark's shuffle in columns: packed into blobs by key, merged again, in order.

Nothing here knows Spark: these are functions of Arrow batches, which its Python workers call. Spark
moves the blobs, and starts a task again that has failed.
"""

from elsinore.spark.columnar.blobs import TRAVELS, Layout
from elsinore.spark.columnar.merging import (
    MEMORY,
    KeyCodes,
    Merging,
    Sorted,
    local_directory,
    together,
)
from elsinore.spark.columnar.packing import Combined, CombinesEvents, Packing

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
    "local_directory",
    "together",
]
