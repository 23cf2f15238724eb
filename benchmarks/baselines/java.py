"""RxJava, Esper and Flink on the same events, by a runner of theirs (`benchmarks/baselines/java`).

The runner is built once by Maven, which fetches the three from Maven Central. Where there is no
Java or no Maven, they are left out. Seconds are of the thread that RxJava and Esper work in, and of
all threads of Flink's job, which has several, from its first event on.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.streamqre import Case, check, first

FOLDER = Path(__file__).parent / "java"
EVENTS = 200_000
RUNS = {"RxJava": (4, 5), "Esper": (1, 3), "Flink": (1, 3)}  # to warm the compiler up, and timed
BUILDING = 300  # maximum seconds of the build
BUDGET = 120  # processor seconds that a system may take for a query, its start and all runs
QUICK_BUDGET = 30
OPTIONS = (
    "-XX:+UseSerialGC",
    "--add-opens=java.base/java.util=ALL-UNNAMED",  # Flink's serializers ask for it
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)
OTHER = 8  # the number of types that no query reads
KINDS = {
    "ads": {"view": 0, "click": 1, "purchase": 2, "tick": 9},
    "auctions": {"Person": 0, "Item": 1, "Bid": 2, "Close": 3, "tick": 9},
}


@cache
def why_not() -> str | None:
    """Return the reason why the Java systems cannot run here; None if they can."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        return f"RxJava, Esper and Flink were not run: {', '.join(missing)} cannot be found here."
    newest = max(file.stat().st_mtime for file in [*FOLDER.rglob("src/**/*.java"), _pom()])
    jar = FOLDER / "target" / "rivals-1.jar"
    if jar.exists() and jar.stat().st_mtime > newest:
        return None
    try:
        subprocess.run(
            ["mvn", "-q", "-B", "package"],
            cwd=FOLDER,
            check=True,
            capture_output=True,
            timeout=BUILDING,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return "RxJava, Esper and Flink were not run: Maven could not build their runner here."
    return None


def _pom() -> Path:
    return FOLDER / "pom.xml"


def speeds(
    case: Case, system: str, *, quick: bool, until: float = math.inf
) -> tuple[list[float], str]:
    """Return the items per second of processor time of a system's runs, or none and the reason.

    `until` is the deadline, by `time.monotonic`. Raises AssertionError if its values differ from
    Elsinore's.
    """
    count = EVENTS // 4 if quick else EVENTS
    events = first(case.events(count), count)
    with tempfile.TemporaryDirectory() as folder:
        given, told = Path(folder) / "events", Path(folder) / "values"
        given.write_bytes(_bytes(events))
        budget = QUICK_BUDGET if quick else BUDGET
        seconds, note = _seconds(system, case.name, (given, told), budget, until)
        if seconds:
            check(case, case.query().run(events), {system: list(_values(case, told.read_text()))})
    return [events.num_rows / each for each in seconds], note


def _seconds(
    system: str, query: str, files: tuple[Path, Path], budget: int, until: float
) -> tuple[list[float], str]:
    """Return the processor seconds of each run after the warm-up, or none and the reason."""
    warm, runs = RUNS[system]
    left = until - time.monotonic()
    if left <= 0:
        return [], "no time left"
    classes = f"{FOLDER}/target/rivals-1.jar:{FOLDER}/target/dependency/*"
    words = ["java", *OPTIONS, "-cp", classes, "rivals.Main", system, query, *files, warm + runs]
    try:
        done = subprocess.run(
            list(map(str, words)),
            check=False,
            capture_output=True,
            text=True,
            timeout=None if left == math.inf else left,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (budget, budget + 1)),
        )
    except subprocess.TimeoutExpired:
        return [], "no time left"
    if done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
        return [], "over its time"
    if done.returncode:
        raise RuntimeError(f"{system} failed with {query}: {done.stderr[-2000:]}")
    return [int(each) / 1e9 for each in done.stdout.split()[-runs:]], ""


def _bytes(events: pa.Table) -> bytes:
    """Return the types' numbers, two keys, users and prices as columns of 8 bytes."""
    is_ads = "ad" in events.column_names
    kinds = KINDS["ads" if is_ads else "auctions"]
    types = events["type"].cast(pa.string()).to_pylist()
    codes = np.array([kinds.get(kind, OTHER) for kind in types], np.int64)
    names = ("campaign", "ad") if is_ads else ("item", "category")
    keys = [events[name].fill_null(-1).to_numpy().astype(np.int64) for name in names]
    keys.append(events["user"].fill_null(-1).to_numpy() if is_ads else np.full(len(codes), -1))
    prices = np.zeros(len(codes)) if is_ads else events["price"].fill_null(np.nan).to_numpy()
    return b"".join(column.astype("<i8").tobytes() for column in (codes, *keys)) + (
        prices.astype("<f8").tobytes()
    )


def _values(case: Case, text: str) -> Any:
    for line in text.splitlines():
        value = json.loads(line)
        if case.name in {"Y1", "Y2"}:
            yield {key: _tuple(of) for key, of in value}
        else:
            yield _tuple(value)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
