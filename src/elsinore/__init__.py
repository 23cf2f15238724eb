"""Complex event processing for PySpark: pattern queries with Kleene closure over event streams."""

__version__ = "0.1.0"
