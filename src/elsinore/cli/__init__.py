"""The command line: `elsinore run`, `check`, `explain`, `report`, `generate`, `demo`."""

from elsinore.cli.app import app, main

__all__ = ["app", "main"]
