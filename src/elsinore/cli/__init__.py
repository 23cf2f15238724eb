"""The command line: `elsinore run`, `check`, `explain`, `generate` and `demo`."""

from elsinore.cli.app import app, main

__all__ = ["app", "main"]
