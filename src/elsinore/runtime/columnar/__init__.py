"""A columnar shuffle: events are packed into blobs by key, and merged in time order.

The package does not depend on Spark: it has functions of Arrow batches, which Spark's Python
workers call. Spark moves the blobs, and restarts failed tasks.
"""

from elsinore.runtime.columnar.blobs import TRAVELS, Layout, rows_beside
from elsinore.runtime.columnar.merging import MEMORY, KeyCodes, Merging, together
from elsinore.runtime.columnar.packing import Combined, CombinesEvents, Packing
from elsinore.runtime.columnar.runs import Sorted, local_directory
from elsinore.runtime.columnar.stretches import Stretches

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
