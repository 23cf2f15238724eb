"""Run a query with an installed wheel, and fail if a module of it is not compiled."""

from importlib import import_module

import pyarrow as pa

import elsinore as el
from elsinore.compiled_modules import compiled_sources

workload = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+)")
events = pa.table({"time": [1, 2, 3], "type": ["A", "B", "B"]})
trends = workload.run(events, time="time")["q"]["count(*)"].to_pylist()
files = [str(import_module(name).__file__) for name, _ in compiled_sources()]
if trends != [3.0] or not files or any(file.endswith(".py") for file in files):
    raise SystemExit(f"The wheel does not work: {trends}, {files}")
print(f"{len(files)} compiled modules in {el.__path__[0]}")
