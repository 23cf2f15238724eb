"""Figure 6 of SASE++: uncertain times at thresholds of confidence, and what it runs against XSeq.

(a) to (d): events with ten possible times each, SEQ(A a, B+ b[ ], C c), a predicate on single
events (true- and false-value consistent) and windows W. "DP x" is the recurrence with CONFIDENCE >=
x, "DP" without one, "collapsed" its rows; "naive" has the same matches and computes their
confidences world by world, as the paper's SASE+ and on-the-fly do. (e), (f): exact times, sequences
of length l and the Kleene pattern, that the paper runs against XSeq, whose program is not public:
an automaton of its kind (`benchmarks.baselines.plain_nfa`) takes its place, over inputs of n
events, "XSeq-like n", and SASE+ and ZStream stand beside Elsinore. Processor seconds of whole runs
in one process, from an Arrow table to an Arrow table; the confidences of "naive" and the matches of
(e) and (f) are compared with Elsinore's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure as Picture

from benchmarks.baselines import plain_nfa
from benchmarks.baselines.worlds import confidences
from benchmarks.evaluations import ENGINE, run_by
from benchmarks.papers.figure import Figure
from benchmarks.papers.sase import OVER, PAPER, Panel, Refused, draw, limited, stream
from benchmarks.papers.sase_phases import breakdown, timed
from elsinore.kernels import compiling
from elsinore.workload import Workload

INTERVAL = 10  # possible times of an event, as in the paper
SHARES = {"A": 0.02, "B": 0.1, "C": 0.02}
WINDOWS = (10, 15, 25, 50, 100, 150, 200)
THRESHOLDS = (0.999, 0.99, 0.9, 0.7, None)  # from the fastest on: windows grow until it is over
BROKEN_DOWN = (0.999, 0.99, 0.7)  # those of the paper's panel (d)
UNCERTAIN = """QUERY q RETURN EVENT_IDS(time) AS times, CONFIDENCE() AS p
PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v > 0.5 WITHIN {within} {more};"""
LENGTHS = (2, 3, 4, 5)
COLLAPSED = """QUERY q RETURN a.time AS a, b[].time AS b, c[].time AS c
PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v > 0.5 WITHIN {within} {more} COLLAPSED;"""
WITHIN = 25  # of sequences, as in the paper
INPUTS = (10, 30, 100, 300)  # events that the automaton of XSeq's kind is given, as in the paper
REPEATED = 0.05  # seconds that runs over so few events are repeated for
KLEENE_WINDOWS = (10, 25, 50, 75, 100)
KLEENE = """QUERY q RETURN a.time AS a, COUNT(b[]) AS n, c.time AS c
PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v > 0.5 WITHIN {within};"""
EXACT = {"SASE+": "runs", "ZStream": "zstream", "Elsinore": ENGINE}
FOUND = (
    "without dynamic programming it fails beyond W = 3,000, with it windows are more than an order "
    "of magnitude larger, and the higher the threshold the faster; against XSeq four to ten orders "
    "of magnitude (Sections 6.3, 6.4)"
)
PANELS = (
    Panel(name="thresholds", title="(a) Vary W, TF-value consistent", x="W", y="events/s"),
    Panel(name="naive", title="(b) Cost breakdown, naive", x="W", y="ms"),
    Panel(name="DP 0.999", title="(c) Cost breakdown, DP 0.999", x="W", y="ms"),
    Panel(name="confidence", title="(d) Cost of confidences", x="W", y="ms"),
    Panel(name="sequences", title="(e) SEQ(A1, ..., Al), W = 25", x="l", y="events/s"),
    Panel(name="Kleene", title="(f) SEQ(A, B+, C), vary W", x="W", y="events/s"),
)


def measure(*, quick: bool) -> Figure:
    """Measure all panels; with `quick` fewer events and a shorter time budget."""
    pa.set_cpu_count(1)
    budget = 2.0 if quick else 30.0
    events = uncertain(10_000 if quick else 100_000)
    _warm_up()
    rows = thresholds(events, budget)
    rows += phases(events, budget, rows)
    exact = stream(100_000 if quick else 2_000_000, {f"A{n}": 0.05 for n in range(1, 6)})
    rows += compared("sequences", "l", LENGTHS, sequence, exact, budget)
    exact = stream(100_000 if quick else 2_000_000, SHARES)
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
    names = [f"DP {t}" if t else "DP" for t in THRESHOLDS]
    over: set[str] = set()
    for within in WINDOWS:
        print(f"uncertain times, W = {within} ...", flush=True)
        for name in (*names, "collapsed", "naive"):
            row = _empty("thresholds", name) | {"W": within}
            rows.append(row)
            run = runner(name, events, within)
            spent = Refused(OVER) if name in over else limited(run, budget)
            if isinstance(spent, Refused):
                over.add(name)
                row["note"] = spent.why.splitlines()[-1].strip()
                continue
            given = spent.value
            row |= {"matches": given["matches"], "ms": 1000 * given["seconds"]}
            row["events/s"] = len(events) / given["seconds"]
    return rows


def runner(name: str, events: pa.Table, within: int) -> Callable[[], dict[str, Any]]:
    """Return what a system of panel (a) does."""
    if name == "naive":
        return naive(events, within)
    if name == "collapsed":
        return by_recurrence(events, within, COLLAPSED, "")
    threshold = name.removeprefix("DP").strip()
    return by_recurrence(events, within, UNCERTAIN, threshold and f"CONFIDENCE >= {threshold}")


def phases(
    events: pa.Table, budget: float, rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows of the cost breakdowns, of what was done in time for panel (a)."""
    found = []
    for row in rows:
        name, within = row["system"], row["W"]
        if row["ms"] is None or name not in {"naive", *(f"DP {t}" for t in BROKEN_DOWN)}:
            continue
        print(f"cost breakdown of {name}, W = {within} ...", flush=True)
        run = runner(name, events, within)
        if name != "naive":
            run = partial(breakdown, run)
        spent = limited(run, 5 * budget)
        if isinstance(spent, Refused):
            continue
        parts = spent.value["phases"] if name == "naive" else spent.value
        cost = {"W": within, "ms": 1000 * parts["confidence"] or None}
        found.append(_empty("confidence", name) | cost)
        if name in {"naive", "DP 0.999"}:
            for phase, seconds in parts.items():
                found.append(_empty(name, phase) | {"W": within, "ms": 1000 * seconds or None})
    return found


def by_recurrence(
    events: pa.Table, within: int, query: str, more: str
) -> Callable[[], dict[str, Any]]:
    """Return what finds the matches of a query, with confidences by the recurrence."""
    workload = Workload.parse(query.format(within=within, more=more))

    def run() -> dict[str, Any]:
        begun = time.process_time()
        found = workload.run(events, time_interval=("time", "latest")).tables["q"]
        return {"seconds": time.process_time() - begun, "matches": found.num_rows}

    return run


def naive(events: pa.Table, within: int) -> Callable[[], dict[str, Any]]:
    """Return what finds all matches, and computes their confidences world by world."""
    workload = Workload.parse(UNCERTAIN.format(within=within, more=""))

    def run() -> dict[str, Any]:
        with timed() as spent:
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
            "phases": {
                "total": ended - begun,
                "confidence": ended - searched,
                "pattern matching": spent["search"],
                "sorting": spent["sorting"],
                "results": max(searched - begun - spent["search"] - spent["sorting"], 0.0),
            },
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
        for size in INPUTS:
            name = f"XSeq-like {size}"
            row = _empty(panel, name) | {varied: value}
            rows.append(row)
            run = by_automaton(panel, value, query(value), events.slice(0, size))
            spent = Refused(OVER) if name in over else limited(run, budget)
            if isinstance(spent, Refused):
                over.add(name)
                row["note"] = spent.why.splitlines()[-1].strip()
                continue
            given = spent.value
            row |= {"matches": given["matches"], "ms": 1000 * given["seconds"]}
            row["events/s"] = size / given["seconds"]
    return rows


def by_automaton(
    panel: str, value: int, text: str, events: pa.Table
) -> Callable[[], dict[str, Any]]:
    """Return what the automaton of XSeq's kind does; its matches are compared with Elsinore's."""
    steps, repeated, within = ["A", "B", "C"], ["B"], value
    if panel == "sequences":
        steps, repeated, within = [f"A{n}" for n in range(1, value + 1)], [], WITHIN

    def run() -> dict[str, Any]:
        count = plain_nfa.prepared(events, steps, repeated, within)
        begun, times = time.process_time(), 0
        while times == 0 or time.process_time() < begun + REPEATED:
            found = count()
            times += 1
        seconds = (time.process_time() - begun) / times
        expected = Workload.parse(text).run(events).tables["q"]
        sums = {name: pa.compute.sum(expected[name]).as_py() or 0 for name in expected.column_names}
        if found != (len(expected), sums["a"], sums["c"], sums.get("n", 0)):
            raise AssertionError(f"{panel}, {value}: the automaton has other matches")
        return {"seconds": seconds, "matches": found[0]}

    return run


def exactly(text: str, events: pa.Table, evaluation: str) -> Callable[[], dict[str, Any]]:
    """Return what runs a query with an evaluation."""
    workload = Workload.parse(text)

    def run() -> dict[str, Any]:
        begun = time.process_time()
        found = run_by(evaluation, workload, events).tables["q"]
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
    for name in ("naive", "DP 0.999"):
        mine = [row for row in rows if row["panel"] == name]
        if mine:
            last = max(row["W"] for row in mine)
            parts = {row["system"]: row["ms"] for row in mine if row["W"] == last}
            shares = ", ".join(
                f"{phase} {(ms or 0.0) / parts['total']:.0%}"
                for phase, ms in parts.items()
                if phase != "total"
            )
            told.append(f"Found, {name} at W = {last}: {shares}.")
    for panel in ("sequences", "Kleene"):
        ours = speeds(panel, "Elsinore")
        for system in ("SASE+", "ZStream", *(f"XSeq-like {size}" for size in INPUTS)):
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
        "not public. In its place is a compiled automaton of ours that does what the paper says of "
        "it: it goes through the whole input from each beginning, WITHIN stops nothing. Collapsed "
        "rows of uncertain times are put together of the matches here: they are no upper bound."
    )
    told.append(f"Time budget of a run: {budget:g} s; a system beyond it is marked '{OVER}'.")
    return told


def _draw(picture: Picture, rows: Sequence[Mapping[str, Any]]) -> None:
    draw(picture, PANELS, rows, across=3)


def _warm_up() -> None:
    """Run everything once over a few events, for its kernels to be compiled."""
    few, exact = uncertain(600), stream(600, SHARES)
    plain_nfa.prepared(exact.slice(0, 60), ["A", "B", "C"], ["B"], 25)()
    with compiling():
        by_recurrence(few, 25, UNCERTAIN, "")()
        by_recurrence(few, 25, COLLAPSED, "")()
        naive(few, 25)()
        for evaluation in EXACT.values():
            exactly(kleene(25), exact, evaluation)()
            exactly(sequence(3), stream(600, {"A1": 0.1, "A2": 0.1, "A3": 0.1}), evaluation)()
