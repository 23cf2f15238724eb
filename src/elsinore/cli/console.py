"""What the commands say: results on the standard output, all else on the standard error."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from elsinore.errors import (
    ElsinoreError,
    InvalidWorkloadError,
    QueryError,
    escaped,
    on_the_command_line,
    printable,
    without_credentials,
)
from elsinore.words import count

RUN_FAILED = 1
WRONG_ARGUMENTS = 2
CLOSED_PIPE = 141  # what a shell reports of a command that SIGPIPE ended
FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}  # what a disk or a quota that is full raises
SHOWN_ROWS = 20
DEBUG_VARIABLE = "ELSINORE_DEBUG"
MOST_TOLD = 300  # characters of what an unexpected failure says of itself
CLASS_NAME = r"<class '[^']*'>|\b(?:[a-z_][\w$]*\.){2,}[\w$]+:?|\b\w*(?:Error|Exception)\b:?"
PIPE_WIDTH = 200  # columns of a table that goes into a file or a pipe

Parameters = ParamSpec("Parameters")


class ArgumentError(ElsinoreError):
    """A wrong argument of a command."""


def reported(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Turn what a command raises into a message on the standard error and an exit status.

    A query or an argument that is wrong gives 2, any other failure 1. Where nobody reads the
    standard output any more it ends as a tool of the shell does, with `CLOSED_PIPE` and no word.
    The traceback of what nobody expected is shown only where the environment variable
    `DEBUG_VARIABLE` is set.
    """

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            with on_the_command_line():
                command(*args, **kwargs)
            sys.stdout.flush()
        except (QueryError, InvalidWorkloadError, ArgumentError) as error:
            _fail(str(error), WRONG_ARGUMENTS)
        except ElsinoreError as error:
            _fail(str(error), RUN_FAILED)
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(CLOSED_PIPE) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
                _drop_output()
                _fail(f"Cannot write the standard output: {error.strerror}.", RUN_FAILED)
            if os.environ.get(DEBUG_VARIABLE):
                say(traceback.format_exc())
            _fail(unexpected(error), RUN_FAILED)

    return run


def unexpected(error: Exception) -> str:
    """Say that something failed that nobody expected, and how to report it.

    Names of classes and packages are left out of what the failure says of itself.

    >>> print(unexpected(ValueError("java.lang.IllegalStateException: bad state")).splitlines()[0])
    Something unexpected went wrong: bad state.
    """
    first = (str(error).strip().splitlines() or [""])[0]
    summary = re.sub(CLASS_NAME, "", first).strip(" .:")[:MOST_TOLD]
    return (
        f"Something unexpected went wrong{': ' + summary if summary else ''}.\n"
        "This is a defect of Elsinore. Please report it with the command, the queries and what the "
        f"same command prints with {DEBUG_VARIABLE}=1 set before it."
    )


def _drop_output() -> None:
    """Let what is held back of the standard output go nowhere: it is written at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _fail(message: str, status: int) -> None:
    say(message)
    raise typer.Exit(status)


def say(message: str) -> None:
    """Print a line to the standard error, what a terminal would hide or obey escaped."""
    typer.echo(printable(without_credentials(message)), err=True)


def warn(message: str) -> None:
    """Print a warning to the standard error."""
    say(f"Warning: {message}")


class Steps:
    """A bar on the terminal that moves with each step of a command; nothing where there is none."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def begin(self, what: str) -> None:
        """Say what is being done now."""
        self._progress.update(self._task, description=what)

    def done(self) -> None:
        """Move the bar on by one step."""
        self._progress.advance(self._task)


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Show a bar of `total` steps on the standard error while the block runs."""
    console = Console(stderr=True)
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with progress:
        yield Steps(progress, total)


def print_table(
    title: str, names: Sequence[str], rows: Sequence[Sequence[Any]], total: int, shown: int
) -> None:
    """Print the first rows of a result as a table, and how many more there are."""
    table = Table(title=cell(title), title_justify="left", title_style="bold")
    for index, name in enumerate(names):
        numbers = any(_is_number(row[index]) for row in rows)
        table.add_column(cell(name), justify="right" if numbers else "left", overflow="fold")
    for row in rows[:shown]:
        table.add_row(*(cell(value) for value in row))
    console = _output()
    console.print(table)
    left_out = total - min(total, shown)
    rows_in_all = count(total, "row")
    hidden = (
        f", of which {left_out:,} {'is' if left_out == 1 else 'are'} not shown" if left_out else ""
    )
    console.print(f"{rows_in_all}{hidden}\n")


def plain_table(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a table of names with a value each."""
    table = Table(title=cell(title), title_justify="left", title_style="bold", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for row in rows:
        table.add_row(*map(cell, row))
    console = _output()
    console.print(table)
    console.print()


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `reported`; Rich would exit with the status of a run that failed."""
        raise BrokenPipeError


def _output() -> Console:
    """Return the standard output: as wide as the terminal, or as a file's tables may be."""
    console = _Output(markup=False, highlight=False, emoji=False)
    if console.is_terminal:
        return console
    return _Output(markup=False, highlight=False, emoji=False, width=PIPE_WIDTH, file=sys.stdout)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def cell(value: object) -> str:
    r"""Return a value as it stands in a table, in one line, what a terminal would obey escaped.

    >>> cell(12.0), cell(2.0**70), cell(None), cell(0.1 + 0.2)
    ('12', '1.18059e+21', 'null', '0.3')
    >>> print(cell("red\x1b[31m\ntext"))
    red\x1b[31m\ntext
    """
    if value is None:
        return "null"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return f"{value:.6g}"
    return escaped(str(value)).replace("\n", "\\n").replace("\t", "\\t")
