"""StreamQRE's queries against RxPY, polars, and loops in plain Python and in Numba.

In process, warm, on one core, from an Arrow table to values. Throughput is in items per second of
processor time. Slow rivals are given only the first part of the events, on which values are
compared. Memory is measured in separate processes. Few items are measured against loops in plain
Python, the worst regime: "few".
`python -m benchmarks quantitative N1 P7 map_collect` measures these parts alone.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import elsinore.quantitative as qre
from benchmarks.baselines import compiled_loops, frames, loops, reactive
from benchmarks.measure import Row, cpu_seconds
from benchmarks.processes import peak_memory
from benchmarks.streamqre import (
    LIMIT,
    Case,
    cases,
    check,
    example,
    first,
    median_case,
    monitored,
)

COMMAND = "python -m benchmarks quantitative"
EVENTS = 4_000_000
MOST = {"plain loop": 1_000_000, "RxPY": 20_000}  # items that slow rivals get
FEW = 400_000  # items against loops in plain Python
TARGETED = ("Y1", "N1", "N2", "N3", "N4")  # at least 10 M items/s
WINDOWS = (10_000, 100_000, 1_000_000)
P7_RIVALS = {
    "plain loop": loops.p7,
    "RxPY": reactive.p7,
    "polars": frames.p7,
    "Numba": compiled_loops.p7,
}
KEYS = 1_000_000
RUNS = 2


def main(quick: bool, parts: Sequence[str] = ()) -> list[Row]:
    """Measure all parts, or some of them; with `quick` a tenth of the events.

    Raises ValueError for a part that there is not.
    """
    pa.set_cpu_count(1)
    scale = 10 if quick else 1
    every: dict[str, Callable[[], list[Row]]] = {
        case.name: partial(throughput, case, scale) for case in [*cases().values(), median_case()]
    }
    sizes = WINDOWS[: 2 if quick else None]
    every["P7"] = lambda: [row for size in sizes for row in windows(size, scale)]
    every["few"] = lambda: few_items(scale)
    every["map_collect"] = lambda: [keyed(KEYS // scale)]
    unknown = set(parts) - set(every)
    if unknown:
        raise ValueError(f"no parts: {', '.join(sorted(unknown))}; parts: {', '.join(every)}")
    return [row for name in parts or every for row in every[name]()]


def processor(run: Callable[[], Any], times: int = 1) -> float:
    """Return the least processor time of some runs, in seconds."""
    return min(cpu_seconds(run) for _ in range(times))


def speeds(
    case: Case, scale: int, runs: int = RUNS, systems: Sequence[str] | None = None
) -> tuple[int, dict[str, list[float]]]:
    """Return how many items a query got, and items per second of each run, by system.

    Each has one run before. systems: those measured beside Elsinore; of None, all. Raises
    AssertionError where values differ.
    """
    query = case.query()
    count = EVENTS // scale
    events = case.events(count)
    expected = {events.num_rows: query.run(events)}
    found = {"Elsinore": _per_second(partial(query.run, events), events, runs)}
    for name, rival in case.rivals.items():
        if systems is not None and name not in systems:
            continue
        some = first(events, MOST.get(name, count))
        values = rival(some)
        if some.num_rows not in expected:
            expected[some.num_rows] = query.run(some)
        check(case, expected[some.num_rows], {name: values})
        found[name] = _per_second(partial(rival, some), some, runs)
    return events.num_rows, found


def _per_second(run: Callable[[], Any], events: pa.Table, runs: int) -> list[float]:
    """Return the events per second of processor time of each run."""
    return [events.num_rows / cpu_seconds(run) for _ in range(runs)]


def throughput(case: Case, scale: int) -> list[Row]:
    """Measure a query against its rivals."""
    count, of_runs = speeds(case, scale)
    found = {name: max(each) for name, each in of_runs.items()}
    speed = found["Elsinore"]
    text = ", ".join(f"{name} {each / 1e6:.2f}" for name, each in found.items())
    what = f"{case.name}, {case.about}, {count:,} items; M items/s: {text}"
    times = {name: speed / found[name] for name in MOST}
    shown = (
        f"{speed / 1e6:.1f} M items/s, {times['RxPY']:.0f} times RxPY, "
        f"{times['plain loop']:.1f} times the loop"
    )
    if case.name not in TARGETED:
        return [Row(what, shown, "reported", True)]
    met = speed >= 1e7 and times["RxPY"] >= 30 and times["plain loop"] >= 2
    return [Row(what, shown, "at least 10 M items/s, 30 times RxPY, 2 times the loop", met)]


def windows(size: int, scale: int) -> list[Row]:
    """Measure P7 exactly and approximately, and compare the counts with those of rivals."""
    found = []
    for eps, target in ((None, 1e7), (0.01, 5e6)):
        query = example("patients").atypical(LIMIT, size, eps)
        count = max(2 * size, EVENTS // scale)
        events = monitored(count)
        values = query.run(events)["value"].to_numpy()
        speed = count / processor(lambda: query.run(events), 1)  # noqa: B023
        exact = compiled_loops.p7(events, size, LIMIT)
        error = float(np.max(np.abs(values - exact) / np.maximum(exact, 1)))
        if error > (eps or 0):
            raise AssertionError(f"P7 with {size:,} is off by {error}")
        text = ""
        if eps is None:
            for name, rival in P7_RIVALS.items():
                some = events.slice(0, MOST.get(name, count))
                given: list[Any] = []
                seconds = processor(lambda: given.append(rival(some, size, LIMIT)))  # noqa: B023
                text += f", {name} {some.num_rows / seconds / 1e6:.2f}"
                column = given[0]["value"] if name == "polars" else given[0]
                if not np.array_equal(np.asarray(column), exact[: some.num_rows]):
                    raise AssertionError(f"P7: {name} has other values")
        what = "exact" if eps is None else f"within {eps:.0%}, found {error:.2%}"
        met = speed >= target or size != WINDOWS[-1]
        wanted = f"at least {target / 1e6:.0f} M items/s" if size == WINDOWS[-1] else "reported"
        found.append(
            Row(
                f"P7, W = {size:,}, {what}, {count:,} items; M items/s: Elsinore "
                f"{speed / 1e6:.2f}{text}",
                f"{speed / 1e6:.2f} M items/s",
                wanted,
                met,
            )
        )
    return found


def few_items(scale: int) -> list[Row]:
    """Measure few items against hand-written loops."""
    count = FEW // scale
    found = [
        against_loop(case.name, case.query(), case.rivals["plain loop"], case.events(count), case)
        for case in [*cases().values(), median_case()]
    ]
    events, size = monitored(count), WINDOWS[0]
    atypical = example("patients").atypical(LIMIT, size)
    found.append(against_loop("P7", atypical, partial(loops.p7, size=size, limit=LIMIT), events))
    odd = qre.count_in_window(qre.atom(), size, ends_in_five)
    rival = partial(loops.ends_in_five, size=size)
    return [*found, against_loop("P7 of digits, which Python computes", odd, rival, events)]


def ends_in_five(event: Any) -> bool:
    """Return whether the last digit of what was measured is a 5."""
    digits = f"{event.value}"
    return digits[-1] == "5"


def against_loop(
    name: str,
    query: Any,
    loop: Callable[[pa.Table], Any],
    events: pa.Table,
    case: Case | None = None,
) -> Row:
    """Measure a query against a loop in Python; AssertionError where values differ."""
    values, expected = query.run(events), loop(events)
    if case is not None:
        check(case, values, {"plain loop": expected})
    elif values["value"].to_pylist() != expected:
        raise AssertionError(f"{name}: the loop has other values")
    ours = processor(lambda: query.run(events), RUNS)
    theirs = processor(lambda: loop(events), RUNS)
    return Row(
        f"{name}, {events.num_rows:,} items: {ours:.2f} s, the loop {theirs:.2f} s",
        f"{ours / theirs:.1f} times the loop",
        "at most 1.5",
        ours <= 1.5 * theirs,
    )


def keyed(keys: int) -> Row:
    """Measure the memory of so many keys under `map_collect`."""
    few, many = (apart("keys", str(number)) for number in (keys // 10, keys))
    each = (many - few) * 1e6 / (keys - keys // 10)
    return Row(
        f"{keys:,} keys under map_collect: peak {many:.0f} MB, {keys // 10:,} keys {few:.0f} MB",
        f"{each:.0f} bytes a key",
        "reported",
        True,
    )


def apart(*words: str) -> float:
    """Return the number that this module prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.quantitative", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout.split()[-1])


def megabytes_of_keys(keys: int) -> float:
    """Return the peak memory of a process in which `map_collect` has so many keys.

    A sum for each key over two items each; two ticks, at each of which all keys have a value.
    """
    tick = qre.event("tick")
    total = qre.iterate(qre.atom(~tick, lambda event: event.v), qre.sum())
    query = qre.map_collect(tick, "key", qre.split(total, qre.atom(tick), qre.left), tick)
    items = pa.table(
        {
            "time": np.arange(2 * keys),
            "type": np.full(2 * keys, "item"),
            "key": np.tile(np.arange(keys), 2),
            "v": np.ones(2 * keys, np.int64),
        }
    )
    ends = pa.table({"time": [2 * keys], "type": ["tick"]})
    events = pa.concat_tables([items, ends], promote_options="default")
    before = peak_memory()
    found = query.run(events)
    values = found["value"].combine_chunks()
    if len(values) != 1 or len(values[0]) != keys:
        raise AssertionError("each key has a value")
    return peak_memory() - before


if __name__ == "__main__":
    print(megabytes_of_keys(int(sys.argv[2])))
