"""Spark's Python workers: their interpreter, and functions that report a wrong one.

A worker unpickles a function before it calls it. If Elsinore is missing there, one of Elsinore's
functions would fail with sixty lines of traceback. So workers receive a function that needs only
Python, and that unpickles Elsinore's function when it is called.
"""

from __future__ import annotations

import dataclasses
import gc
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

MANY_OBJECTS = 20_000  # that survive a task; scanning them takes milliseconds
MapInArrow = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def use_driver_interpreter(spark: SparkSession) -> None:
    """Set the Python interpreter of a local master's workers to this process's, unless configured.

    Spark's default is the first `python3` on PATH, which may not be that of this process's virtual
    environment. On a cluster the user configures it: this machine's paths are meaningless there.
    """
    try:
        context = spark.sparkContext
    except (PySparkException, AttributeError):
        return  # over Spark Connect workers are the server's
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def ship_by_value(objects: Iterable[object]) -> None:
    """Register users' modules to be pickled by value, so that workers need not import them.

    Modules that these import must be installed on the workers, as always on Spark.
    """
    for item in objects:
        name = item.__module__ if isinstance(item, type) else type(item).__module__
        module = item if isinstance(item, ModuleType) else sys.modules.get(name)
        name = name if module is None else module.__name__
        if module is not None and name.partition(".")[0] not in {
            "elsinore",
            "__main__",
            "builtins",
        }:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def modules_of_users(query: object) -> set[ModuleType]:
    """Return the modules, except installed ones, that define objects inside a query.

    A query consists of frozen dataclasses, tuples, and users' functions and accumulators.
    """
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    modules: set[ModuleType] = set()
    pending, seen = [query], set[int]()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, tuple | list):
            pending += part
        elif isinstance(part, FunctionType):
            pending += inspect.getclosurevars(part).nonlocals.values()
        elif dataclasses.is_dataclass(part) and not isinstance(part, type):
            pending += [getattr(part, field.name) for field in dataclasses.fields(part)]
        name = part.__module__ if isinstance(part, type | FunctionType) else type(part).__module__
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is not None and file is not None and not file.startswith(installed):
            modules.add(module)
    return modules


def shipped(function: MapInArrow) -> MapInArrow:
    """Return a function for `mapInArrow` that calls `function`, or reports a missing Elsinore.

    The report is one sentence: which interpreter lacks it, or which versions differ.
    """
    payload: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
    version = sys.modules["elsinore"].__version__

    # A nested function is pickled by value. It must not refer to names of this module.
    def call(batches: Any) -> Any:
        import importlib  # noqa: PLC0415
        import pickle  # noqa: PLC0415
        import sys  # noqa: PLC0415

        advice = (
            "Let PYSPARK_PYTHON name an interpreter that has the driver's version, on every "
            "machine, or ship the environment with spark.archives (docs/spark.md)."
        )
        try:
            worker_version = importlib.import_module("elsinore").__version__
        except ImportError as error:
            raise RuntimeError(
                f"Spark's workers cannot import Elsinore: they run {sys.executable}, which says "
                f"'{error}'. {advice}"
            ) from None
        if worker_version != version:
            raise RuntimeError(
                f"Spark's workers have Elsinore {worker_version}, but the driver has "
                f"{version}: they run {sys.executable}. {advice}"
            )
        with importlib.import_module("elsinore.model.garbage").without_garbage_collection():
            function = pickle.loads(payload)  # a million objects for thousands of queries
        yield from function(batches)
        importlib.import_module("elsinore.spark.workers").freeze_loaded_objects()

    return call


def freeze_loaded_objects() -> None:
    """Exclude this worker's loaded objects from garbage collection (`gc.freeze`).

    Workers collect garbage after each task, which takes a tenth of a second with the objects of
    Numba, Arrow and Elsinore: more than a small task's work.
    """
    if TaskContext.get() is not None and len(gc.get_objects(generation=2)) > MANY_OBJECTS:
        gc.collect()
        gc.freeze()
