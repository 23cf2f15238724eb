"""The in-process driver: for notebooks, services and tests."""

from elsinore.local.driver import inspect_time, pieces, run

__all__ = ["inspect_time", "pieces", "run"]
