"""The in-process driver: for notebooks, services and tests."""

from elsinore.local.driver import run

__all__ = ["run"]
