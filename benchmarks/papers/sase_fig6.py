"""Figure 6 of SASE++: uncertain times at thresholds of confidence, and what it runs against XSeq.

(a), (b), (d): events with ten possible times each, SEQ(A a, B+ b[ ], C c), a predicate on single
events (true- and false-value consistent) and windows W. "DP x" is the recurrence with CONFIDENCE >=
x, "DP" without one; "naive" has the same matches and computes their confidences world by world, as
the paper's SASE+ and on-the-fly do. (e), (f): exact times, sequences of length l and the Kleene
pattern, that the paper runs against XSeq, whose program is not public: SASE+ and ZStream stand
beside Elsinore. Processor seconds of whole runs in one process, from an Arrow table to an Arrow
table; the confidences of "naive" and the matches of (e) and (f) are compared with Elsinore's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure as Picture

from benchmarks.baselines.worlds import confidences
from benchmarks.papers.figure import Figure
from benchmarks.papers.sase import OVER, PAPER, Panel, Refused, draw, limited, stream
from elsinore.kernels import compiling
from elsinore.workload import Workload

INTERVAL = 10  # possible times of an event, as in the paper
SHARES = {"A": 0.02, "B": 0.1, "C": 0.02}
WINDOWS = (10, 15, 25, 50, 100, 150, 200)
THRESHOLDS = (0.999, 0.99, 0.9, 0.7, None)  # from the fastest on: windows grow until it is over
UNCERTAIN = """QUERY q RETURN EVENT_IDS(time) AS times, CONFIDENCE() AS p
PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v > 0.5 WITHIN {within} {more};"""
LENGTHS = (2, 3, 4, 5)
WITHIN = 25  # of sequences, as in the paper
KLEENE_WINDOWS = (10, 25, 50, 75, 100)
KLEENE = """QUERY q RETURN a.time AS a, COUNT(b[]) AS n, c.time AS c
PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v > 0.5 WITHIN {within};"""
EXACT = {"SASE+": "runs", "ZStream": "zstream", "Elsinore": "auto"}
FOUND = (
    "without dynamic programming it fails beyond W = 3,000, with it windows are more than an order "
    "of magnitude larger, and the higher the threshold the faster; against XSeq four to ten orders "
    "of magnitude (Sections 6.3, 6.4)"
)
PANELS = (
    Panel(name="thresholds", title="(a) Vary W, TF-value consistent", x="W", y="events/s"),
    Panel(name="cost", title="(b) naive: cost breakdown", x="W", y="ms"),
    Panel(name="thresholds", title="(d) Cost, confidences included", x="W", y="ms"),
    Panel(name="sequences", title="(e) SEQ(A1, ..., Al), W = 25", x="l", y="events/s"),
    Panel(name="Kleene", title="(f) SEQ(A, B+, C), vary W", x="W", y="events/s"),
)


def measure(*, quick: bool) -> Figure:
    """Measure all panels; with `quick` fewer events and a shorter time budget."""
    pa.set_cpu_count(1)
    budget = 3.0 if quick else 30.0
    events = uncertain(20_000 if quick else 100_000)
    _warm_up()
    rows = thresholds(events, budget)
    exact = stream(200_000 if quick else 2_000_000, {f"A{n}": 0.05 for n in range(1, 6)})
    rows += compared("sequences", "l", LENGTHS, sequence, exact, budget)
    exact = stream(200_000 if quick else 2_000_000, SHARES)
    rows += compared("Kleene", "W", KLEENE_WINDOWS, kleene, exact, budget)
    return Figure(
        title="Figure 6 of SASE++: uncertain times, and the patterns run against XSeq",
        table=pa.Table.from_pylist(rows),
        remarks=remarks(rows, budget),
        draw=lambda picture: _draw(picture, rows),
        size=(13.0, 7.0),
    )


def uncertain(number: int) -> pa.Table:
    """Return events one time unit apart, each at one of ten times: `time` to `latest`."""
    events = stream(number, SHARES)
    events = events.filter(pa.compute.not_equal(events["type"], "X"))
    return events.append_column("latest", pa.compute.add(events["time"], INTERVAL - 1))


def thresholds(events: pa.Table, budget: float) -> list[dict[str, Any]]:
    """Return the rows of the panels of uncertain times."""
    rows: list[dict[str, Any]] = []
    names = {f"DP {t}" if t else "DP": t for t in THRESHOLDS}
    over: set[str] = set()
    for within in WINDOWS:
        print(f"uncertain times, W = {within} ...", flush=True)
        for name in (*names, "naive"):
            row = _empty("thresholds", name) | {"W": within}
            rows.append(row)
            run = naive(events, within) if name == "naive" else by_recurrence(
                events, within, names[name]
            )  # fmt: skip
            spent = Refused(OVER) if name in over else limited(run, budget)
            if isinstance(spent, Refused):
                over.add(name)
                row["note"] = spent.why.splitlines()[-1].strip()
                continue
            given = spent.value
            row |= {"matches": given["matches"], "ms": 1000 * given["seconds"]}
            row["events/s"] = len(events) / given["seconds"]
            if name == "naive":
                for phase in ("total", "confidence", "search"):
                    ms = 1000 * (given["seconds"] if phase == "total" else given[phase])
                    rows.append(_empty("cost", phase) | {"W": within, "ms": max(ms, 0.01)})
    return rows


def by_recurrence(
    events: pa.Table, within: int, threshold: float | None
) -> Callable[[], dict[str, Any]]:
    """Return what finds the matches of a threshold."""
    more = "" if threshold is None else f"CONFIDENCE >= {threshold}"
    workload = Workload.parse(UNCERTAIN.format(within=within, more=more))

    def run() -> dict[str, Any]:
        begun = time.process_time()
        found = workload.run(events, time_interval=("time", "latest")).tables["q"]
        return {"seconds": time.process_time() - begun, "matches": found.num_rows}

    return run


def naive(events: pa.Table, within: int) -> Callable[[], dict[str, Any]]:
    """Return what finds all matches, and computes their confidences world by world."""
    workload = Workload.parse(UNCERTAIN.format(within=within, more=""))

    def run() -> dict[str, Any]:
        begun = time.process_time()
        found = workload.run(events, time_interval=("time", "latest")).tables["q"]
        searched = time.process_time()
        lists = found["times"].combine_chunks()
        low = lists.values.to_numpy()
        values = np.zeros(len(found))
        starts = lists.offsets.to_numpy().astype(np.int64)
        confidences(low, low + INTERVAL - 1, starts, within, values)
        ended = time.process_time()
        np.testing.assert_allclose(found["p"].to_numpy(), values, rtol=1e-9, atol=1e-12)
        return {
            "seconds": ended - begun,
            "search": searched - begun,
            "confidence": ended - searched,
            "matches": len(found),
        }

    return run


def sequence(length: int) -> str:
    """Return the query of a sequence of so many events."""
    parts = ", ".join(f"A{n} a{n}" for n in range(1, length + 1))
    return f"QUERY q RETURN a1.time AS a, a{length}.time AS c PATTERN SEQ({parts}) WITHIN {WITHIN};"


def kleene(within: int) -> str:
    """Return the query of the Kleene pattern."""
    return KLEENE.format(within=within)


def compared(
    panel: str,
    varied: str,
    values: Sequence[int],
    query: Callable[[int], str],
    events: pa.Table,
    budget: float,
) -> list[dict[str, Any]]:
    """Return the rows of a panel of exact times; raises AssertionError where matches differ."""
    rows = []
    over: set[str] = set()
    for value in values:
        print(f"{panel}, {varied} = {value} ...", flush=True)
        sums = set()
        for system, evaluation in EXACT.items():
            run = exactly(query(value), events, evaluation)
            spent = Refused(OVER) if system in over else limited(run, budget)
            row = _empty(panel, system) | {varied: value}
            rows.append(row)
            if isinstance(spent, Refused):
                over.add(system)
                row["note"] = spent.why.splitlines()[-1].strip()
                continue
            given = spent.value
            sums.add(given["sums"])
            row |= {"matches": given["matches"], "ms": 1000 * given["seconds"]}
            row["events/s"] = len(events) / given["seconds"]
        if len(sums) > 1:
            raise AssertionError(f"{panel}, {varied} = {value}: systems have other matches")
    return rows


def exactly(text: str, events: pa.Table, evaluation: Any) -> Callable[[], dict[str, Any]]:
    """Return what runs a query with an evaluation."""
    workload = Workload.parse(text)

    def run() -> dict[str, Any]:
        begun = time.process_time()
        found = workload.run(events, evaluation=evaluation).tables["q"]
        seconds = time.process_time() - begun
        sums = tuple(pa.compute.sum(column).as_py() for column in found.columns)
        return {"seconds": seconds, "matches": found.num_rows, "sums": sums}

    return run


def _empty(panel: str, system: str) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(("panel", "system", "W", "l", "matches", "events/s", "ms"))
    return row | {"panel": panel, "system": system, "note": ""}


def remarks(rows: Sequence[Mapping[str, Any]], budget: float) -> list[str]:
    """Return what the paper says, and what was found."""
    told = [f"{PAPER}: {FOUND}."]

    def speeds(panel: str, system: str) -> dict[int, float]:
        mine = [r for r in rows if r["panel"] == panel and r["system"] == system]
        return {r["W"] or r["l"]: r["events/s"] for r in mine if r["events/s"]}

    plain = speeds("thresholds", "DP")
    widest = {
        name: max(speeds("thresholds", name), default=0)
        for name in ("naive", "DP", *(f"DP {t}" for t in reversed(THRESHOLDS) if t))
    }
    told.append(
        "Found: within the budget up to W = "
        + ", ".join(f"{within} ({name})" for name, within in widest.items())
        + f" of at most {WINDOWS[-1]}."
    )
    for threshold in (0.7, 0.999):
        mine = speeds("thresholds", f"DP {threshold}")
        times = [speed / plain[within] for within, speed in mine.items() if within in plain]
        if times:
            told.append(
                f"Found: a threshold of {threshold} is {min(times):.2g} to {max(times):.3g} times "
                "as fast as none."
            )
    slow = speeds("thresholds", "naive")
    times = [plain[within] / speed for within, speed in slow.items() if within in plain]
    if times:
        told.append(
            f"Found: the recurrence is {min(times):.2g} to {max(times):.3g} times as fast as naive "
            "confidences where these were done in time."
        )
    for panel in ("sequences", "Kleene"):
        ours = speeds(panel, "Elsinore")
        for system in ("SASE+", "ZStream"):
            beside = speeds(panel, system)
            times = [ours[value] / speed for value, speed in beside.items() if value in ours]
            if times:
                told.append(
                    f"Found, {panel}: Elsinore is {min(times):.2g} to {max(times):.3g} times as "
                    f"fast as {system}."
                )
    told.append(
        "Windows are shorter than the paper's, and events as much denser: what counts is how many "
        "of them a window has, and how many intervals overlap. XSeq was not run: its program is "
        "not public. There is no collapsed form of matches with uncertain times."
    )
    told.append(f"Time budget of a run: {budget:g} s; a system beyond it is marked '{OVER}'.")
    return told


def _draw(picture: Picture, rows: Sequence[Mapping[str, Any]]) -> None:
    draw(picture, PANELS, rows, across=3)


def _warm_up() -> None:
    """Run everything once over a few events, for its kernels to be compiled."""
    few, exact = uncertain(600), stream(600, SHARES)
    with compiling():
        by_recurrence(few, 25, 0.7)()
        naive(few, 25)()
        for evaluation in EXACT.values():
            exactly(kleene(25), exact, evaluation)()
            exactly(sequence(3), stream(600, {"A1": 0.1, "A2": 0.1, "A3": 0.1}), evaluation)()
