"""Files read as columns: tasks read row groups with Arrow, and no event passes through the JVM."""

from elsinore.spark.scan.source import scanned

__all__ = ["scanned"]
