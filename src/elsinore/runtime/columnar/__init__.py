"""A columnar shuffle: events are packed into blobs by key, and merged in time order.

The package does not depend on Spark: it has functions of Arrow batches, which Spark's Python
workers call. Spark moves the blobs, and restarts failed tasks.
"""

from elsinore.runtime.columnar.blobs import TRAVELS, Layout, padding_rows
from elsinore.runtime.columnar.merging import MEMORY, KeyCodes, Merging, paired_batches
from elsinore.runtime.columnar.packing import CombinedChunk, CombinesEvents, Packing
from elsinore.runtime.columnar.runs import SortedEvents, local_directory
from elsinore.runtime.columnar.stretches import Stretches

__all__ = [
    "MEMORY",
    "TRAVELS",
    "CombinedChunk",
    "CombinesEvents",
    "KeyCodes",
    "Layout",
    "Merging",
    "Packing",
    "SortedEvents",
    "Stretches",
    "local_directory",
    "padding_rows",
    "paired_batches",
]
