"""Complex event processing for PySpark: pattern queries with Kleene closure over event streams.

import elsinore as el

workload = el.Workload.parse(text)          # or el.Workload(query, ...)
results = workload.run(events, time="ts")   # a Spark DataFrame, or a table in this process
live = workload.live(schema, time="ts")     # the same over batches of events, as they come
stream = workload.stream(source, time="ts")  # the same on Spark, from a folder or a Kafka topic
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False  # what `typing` calls it; `typing` takes long to load
if TYPE_CHECKING:
    from typing import Any

    from elsinore.errors import (
        ElsinoreError,
        InputError,
        InvalidWorkloadError,
        OutputError,
        QueryError,
        QuerySemanticError,
        QuerySyntaxError,
        SetupError,
        StateError,
        UnsupportedError,
    )
    from elsinore.language import (
        case,
        column,
        confidence,
        count,
        event,
        event_ids,
        function,
        log2_count,
        match_number,
        no,
        parameter,
        permute,
        query,
        same,
        seq,
    )
    from elsinore.local.live import AsyncLive, Live
    from elsinore.runtime.files import read_events
    from elsinore.runtime.live import Change
    from elsinore.runtime.results import Results
    from elsinore.runtime.warnings import NoRowsWarning
    from elsinore.workload import Workload

__version__ = "0.1.0"

__all__ = [
    "AsyncLive",
    "Change",
    "ElsinoreError",
    "InputError",
    "InvalidWorkloadError",
    "Live",
    "NoRowsWarning",
    "OutputError",
    "QueryError",
    "QuerySemanticError",
    "QuerySyntaxError",
    "Results",
    "SetupError",
    "StateError",
    "UnsupportedError",
    "Workload",
    "case",
    "column",
    "confidence",
    "count",
    "event",
    "event_ids",
    "function",
    "log2_count",
    "match_number",
    "no",
    "parameter",
    "permute",
    "query",
    "read_events",
    "same",
    "seq",
]

_ERRORS = {name for name in __all__ if name.endswith("Error")}
_HOMES = {
    "AsyncLive": "elsinore.local.live",
    "Change": "elsinore.runtime.live",
    "Live": "elsinore.local.live",
    "NoRowsWarning": "elsinore.runtime.warnings",
    "Results": "elsinore.runtime.results",
    "Workload": "elsinore.workload",
    "read_events": "elsinore.runtime.files",
}

# Elsewhere modules are loaded as they were compiled when the package was built.
_WORKING_COPY = os.path.join(os.path.dirname(__file__), "..", "..", "building", "compiling.py")
if os.environ.get("ELSINORE_PURE") == "1" or os.path.exists(_WORKING_COPY):
    import_module("elsinore.compiled_modules").install()


def __getattr__(name: str) -> Any:
    # On first use: Spark's workers import this package, too, without needing these.
    if name not in __all__:
        raise AttributeError(f"module 'elsinore' has no attribute '{name}'")
    home = "elsinore.errors" if name in _ERRORS else _HOMES.get(name, "elsinore.language")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
