"""Turning records of live sources into rows of a schema."""

from elsinore.connectors.records.json_records import JsonRecords

__all__ = ["JsonRecords"]
