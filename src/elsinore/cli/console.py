"""Output of commands: results to the standard output, messages to the standard error."""

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
CLOSED_PIPE = 141  # the shell's exit status of a command that SIGPIPE ended
FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}  # errors of a full disk or quota
SHOWN_ROWS = 20
DEBUG_VARIABLE = "ELSINORE_DEBUG"
MESSAGE_LENGTH = 300  # characters of an unexpected failure's message
CLASS_NAME = r"<class '[^']*'>|\b(?:[a-z_][\w$]*\.){2,}[\w$]+:?|\b\w*(?:Error|Exception)\b:?"
PIPE_WIDTH = 200  # columns of a table that goes into a file or a pipe

Parameters = ParamSpec("Parameters")


class ArgumentError(ElsinoreError):
    """A wrong argument of a command."""


def with_error_reports(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Convert errors of a command to a message on the standard error and an exit status.

    The status is 2 for errors of queries and arguments, 1 for other failures. If standard output
    is closed, the command ends silently with `CLOSED_PIPE`, like tools of the shell. The traceback
    of unexpected errors is shown only if the environment variable `DEBUG_VARIABLE` is set.
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
    """Return the message for an unexpected error, and how to report it.

    Names of classes and packages are left out of the error's text.

    >>> print(unexpected(ValueError("java.lang.IllegalStateException: bad state")).splitlines()[0])
    Something unexpected went wrong: bad state.
    """
    first = (str(error).strip().splitlines() or [""])[0]
    summary = re.sub(CLASS_NAME, "", first).strip(" .:")[:MESSAGE_LENGTH]
    return (
        f"Something unexpected went wrong{': ' + summary if summary else ''}.\n"
        "This is a defect of Elsinore. Please report it with the command, the queries and what the "
        f"same command prints with {DEBUG_VARIABLE}=1 set before it."
    )


def _drop_output() -> None:
    """Discard buffered standard output, which would be written at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _fail(message: str, status: int) -> None:
    say(message)
    raise typer.Exit(status)


def say(message: str) -> None:
    """Print a line to the standard error, with control characters escaped."""
    typer.echo(printable(without_credentials(message)), err=True)


def warn(message: str) -> None:
    """Print a warning to the standard error."""
    say(f"Warning: {message}")


class Steps:
    """A progress bar on the terminal, if there is one, with the steps of a command."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def begin(self, what: str) -> None:
        """Show the name of the current step."""
        self._progress.update(self._task, description=what)

    def done(self) -> None:
        """Advance the bar by one step."""
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
    """Print the first rows of a result as a table, and the number of other rows."""
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
        """Leave it to `with_error_reports`; Rich would exit with the status of a failed run."""
        raise BrokenPipeError


def _output() -> Console:
    """Return the standard output, as wide as the terminal, or PIPE_WIDTH for files."""
    console = _Output(markup=False, highlight=False, emoji=False)
    if console.is_terminal:
        return console
    return _Output(markup=False, highlight=False, emoji=False, width=PIPE_WIDTH, file=sys.stdout)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def cell(value: object) -> str:
    r"""Return a value as a line in a table, with control characters escaped.

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
