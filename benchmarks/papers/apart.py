"""Measurements in processes of their own: of memory, and of what may take too long."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

Point = TypeVar("Point")
Value = TypeVar("Value")
OVER = "over its time"


def measured_apart(
    measure: Callable[[Point], Value], point: Point, budget: float
) -> tuple[Value | None, str]:
    """Return what a function of a module returns in a new process, or None and in a word why not.

    After `budget` seconds the process is ended.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(measure, point, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(budget):
            return None, OVER
        value: Value = ours.recv()
    except EOFError:
        process.join()
        return None, "out of memory" if process.exitcode == -9 else "failed"
    else:
        return value, ""
    finally:
        process.terminate()  # which lets Spark stop what it has started
        process.join()


def _send(measure: Callable[[Point], Value], point: Point, connection: Connection) -> None:
    connection.send(measure(point))
