"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

import elsinore
from elsinore.cli.bench import bench
from elsinore.cli.check import check
from elsinore.cli.compile import compile_all
from elsinore.cli.demo import demo
from elsinore.cli.explain import explain
from elsinore.cli.generate import generate
from elsinore.cli.report import report
from elsinore.cli.run import run

app = typer.Typer(
    help="Complex event processing for PySpark: pattern queries with Kleene closure.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (run, check, explain, report, generate, demo, bench):
    app.command()(command)
app.command("compile")(compile_all)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"elsinore {elsinore.__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Complex event processing for PySpark: pattern queries with Kleene closure."""
