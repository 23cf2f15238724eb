"""Errors of Spark's that we catch: without what PySpark logs of them, and in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from logging import Logger

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from elsinore.errors import InputError
from elsinore.expressions.reasons import TAKE_OUT

GONE = "FILE_NOT_EXIST"  # of the kinds of what Spark calls FAILED_READ_FILE
NO_SUCH_TIME = {  # by what Python and Arrow say of it
    r"year -?\d+ is out of range|date value out of range": (
        "The rows have times outside of the years 1 to 9999, which Python's datetime does not "
        "have; to_arrow() has them."
    ),
    r"out of bounds timestamp": (
        "The rows have times outside of the years 1678 to 2261, which Spark's toPandas() cannot "
        "hand over; to_pandas() and to_arrow() have them."
    ),
}


def loggers() -> list[Logger]:
    """Return those that log errors of queries; disabled, they leave it to who catches the error."""
    names = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    return [PySparkLogger.getLogger(name) for name in names]


@contextmanager
def silenced() -> Iterator[None]:
    """Let errors of queries within the block be raised without being logged.

    What PySpark logs is the JVM's stack, in one line of JSON.
    """
    before = [logger.disabled for logger in loggers()]
    for logger in loggers():
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers(), before, strict=True):
            logger.disabled = disabled


def first_line(error: PySparkException) -> str:
    r"""Return what an error says is wrong, without the plan and the stack that follow.

    >>> first_line(PySparkException("\n[PARSE_SYNTAX_ERROR] Syntax error at '+'.\n== SQL =="))
    "[PARSE_SYNTAX_ERROR] Syntax error at '+'."
    """
    return next((line for line in str(error).splitlines() if line.strip()), "no reason is told.")


@contextmanager
def tasks_heard() -> Iterator[None]:
    """Raise as an InputError what Elsinore says is wrong in a task, or Spark of a file or a time.

    Spark hands on the tracebacks of worker and JVM, in which that is one line of many.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        said = said_in_task(error) or unread_file(error)
        if said is None:
            raise
        raise InputError(said) from None
    except (OverflowError, ValueError) as error:
        for pattern, said in NO_SUCH_TIME.items():
            if re.search(pattern, str(error)):
                raise InputError(said) from error
        raise


def said_in_task(error: Exception) -> str | None:
    r"""Return what Elsinore said in a task, of which Spark hands on a traceback.

    Or what Spark was given to say of an event that it cannot select.

    >>> said_in_task(ValueError("[USER_RAISED_EXCEPTION] An event is none. SQLSTATE: P0001\nat"))
    'An event is none.'
    """
    pattern = r"\[USER_RAISED_EXCEPTION\] (An event .*?)(?: SQLSTATE|$)"
    raised = re.search(pattern, str(error), re.MULTILINE)
    if raised is not None:
        return raised[1]
    _, marker, said = str(error).rpartition(f"\n{InputError.__module__}.{InputError.__name__}: ")
    return said.partition("\n\n")[0].strip() if marker else None


def unread_file(error: Exception) -> str | None:
    """Return which file Spark could not read, if that is what it failed of, and what can be done.

    >>> unread_file(PySparkException("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while "
    ...     "reading file file:///e/b.parquet. File does not exist. It may be that it"))
    "Spark cannot read 'file:///e/b.parquet': File does not exist. Read the events again, and run."
    """
    text = str(error)
    match = re.search(r"\[FAILED_READ_FILE\.?(\w*)\].*? file (\S+)\. ?([^.\n]*)", text)
    if match is None:
        return None
    kind, file, why = match.groups()
    if not why.strip() or "SQLSTATE" in why:  # only what it was caused by tells why
        why = "".join(re.findall(r"^Caused by: [\w.$]+: (.+)$", text, re.MULTILINE)[-1:])
    reason = f": {why.strip(' .')}" if why else ""
    remedy = "Read the events again, and run" if kind == GONE else TAKE_OUT
    return f"Spark cannot read '{file}'{reason}. {remedy}."
