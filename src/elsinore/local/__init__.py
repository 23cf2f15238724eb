"""The in-process driver: for notebooks, services and tests."""

from elsinore.local.driver import look_at_time, pieces, run

__all__ = ["look_at_time", "pieces", "run"]
