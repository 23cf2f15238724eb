"""The command-line application with its commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import elsinore
from elsinore.cli.arguments import refuse_events
from elsinore.cli.bench import bench
from elsinore.cli.check import check
from elsinore.cli.demo import demo
from elsinore.cli.explain import explain
from elsinore.cli.generate import generate
from elsinore.cli.report import report
from elsinore.cli.run import run
from elsinore.cli.stream import stream


class _EventsCommand(TyperCommand):
    """A command with events in `--events`, which users often forget."""

    allow_extra_args = True  # reported below

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command's arguments; end it if events are named without the option."""
        try:
            remaining = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if "--events" not in error.format_message():
                raise
            refuse_events(ctx, error.format_message())
        if ctx.args and not ctx.resilient_parsing:
            refuse_events(ctx, f"There is more than one file of queries: {', '.join(ctx.args)}.")
        return remaining


app = typer.Typer(
    help="Complex event processing for PySpark: pattern queries with Kleene closure.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (run, stream, check, explain, report):
    app.command(cls=_EventsCommand)(command)
for more_commands in (generate, demo, bench):
    app.command()(more_commands)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"elsinore {elsinore.__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Complex event processing for PySpark: pattern queries with Kleene closure."""
