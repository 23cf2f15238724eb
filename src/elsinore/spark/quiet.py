"""Errors of Spark in one line, without PySpark's logging."""

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

MISSING_FILE = "FILE_NOT_EXIST"  # a subclass of Spark's error class FAILED_READ_FILE
NO_SUCH_TIME = {  # by the messages of Python and Arrow
    r"year -?\d+ is out of range|date value out of range": (
        "The rows have times outside of the years 1 to 9999, which Python's datetime does not "
        "support; use to_arrow()."
    ),
    r"out of bounds timestamp": (
        "The rows have times outside of the years 1678 to 2261, which Spark's toPandas() cannot "
        "return; use to_pandas() or to_arrow()."
    ),
}


def loggers() -> list[Logger]:
    """Return the loggers of queries' errors, to disable them while errors are caught."""
    names = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    return [PySparkLogger.getLogger(name) for name in names]


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress PySpark's logging of queries' errors, a line of JSON with the JVM's stack."""
    before = [logger.disabled for logger in loggers()]
    for logger in loggers():
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers(), before, strict=True):
            logger.disabled = disabled


def first_line(error: PySparkException) -> str:
    r"""Return the message of an error, without the plan and the stack that follow.

    >>> first_line(PySparkException("\n[PARSE_SYNTAX_ERROR] Syntax error at '+'.\n== SQL =="))
    "[PARSE_SYNTAX_ERROR] Syntax error at '+'."
    """
    return next(
        (line for line in str(error).splitlines() if line.strip()), "no reason was reported."
    )


@contextmanager
def task_errors() -> Iterator[None]:
    """Convert errors of tasks, and Spark's errors of files and times, to InputError.

    Spark's errors contain the tracebacks of worker and JVM, in which the message is one line.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        message = error_in_task(error) or unread_file(error)
        if message is None:
            raise
        raise InputError(message) from None
    except (OverflowError, ValueError) as error:
        for pattern, message in NO_SUCH_TIME.items():
            if re.search(pattern, str(error)):
                raise InputError(message) from error
        raise


def error_in_task(error: Exception) -> str | None:
    r"""Return the message of Elsinore or of `raise_error` in a task's traceback, or None.

    >>> error_in_task(ValueError("[USER_RAISED_EXCEPTION] An event is none. SQLSTATE: P0001\nat"))
    'An event is none.'
    """
    pattern = r"\[USER_RAISED_EXCEPTION\] (An event .*?)(?: SQLSTATE|$)"
    user_error = re.search(pattern, str(error), re.MULTILINE)
    if user_error is not None:
        return user_error[1]
    _, marker, message = str(error).rpartition(f"\n{InputError.__module__}.{InputError.__name__}: ")
    return message.partition("\n\n")[0].strip() if marker else None


def unread_file(error: Exception) -> str | None:
    """Return the message for a file that Spark could not read, with the remedy; else None.

    >>> unread_file(PySparkException("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while "
    ...     "reading file file:///e/b.parquet. File does not exist. It may be that it"))
    "Spark cannot read 'file:///e/b.parquet': File does not exist. Read the events again, and run."
    """
    text = str(error)
    match = re.search(r"\[FAILED_READ_FILE\.?(\w*)\].*? file (\S+)\. ?([^.\n]*)", text)
    if match is None:
        return None
    kind, file, why = match.groups()
    if not why.strip() or "SQLSTATE" in why:  # only the cause has the reason
        why = "".join(re.findall(r"^Caused by: [\w.$]+: (.+)$", text, re.MULTILINE)[-1:])
    reason = f": {why.strip(' .')}" if why else ""
    remedy = "Read the events again, and run" if kind == MISSING_FILE else TAKE_OUT
    return f"Spark cannot read '{file}'{reason}. {remedy}."
