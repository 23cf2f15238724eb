"""The command line: `elsinore run`, `check`, `explain`, `report`, `generate`, `demo`."""

from __future__ import annotations

from elsinore.cli.interrupt import guarded

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit status."""
    guarded(_run)


def _run() -> None:
    from elsinore.cli.app import app  # noqa: PLC0415 - Ctrl-C may come while this is loaded

    app()
