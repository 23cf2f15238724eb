"""Files read as columns: tasks read row groups with Arrow, and no event passes through the JVM."""

from elsinore.spark.scan.source import Scanned, scanned

__all__ = ["Scanned", "scanned"]
