"""Figure 6 of SASE++: uncertain times at thresholds of confidence, and what it runs against XSeq.

(a) to (d): events with ten possible times each, SEQ(A a, B+ b[ ], C c), a predicate on single
events (true- and false-value consistent) and windows W. "DP x" is the recurrence with CONFIDENCE >=
x, "DP" without one, "collapsed" its rows; "naive" has the same matches and computes their
confidences world by world, as the paper's SASE+ and on-the-fly do. (e), (f): exact times, sequences
of length l and the Kleene pattern, by SASE+, ZStream and Elsinore. The paper runs them against XSeq
too, whose program is not public: in (g) and (h) an automaton of its kind (`baselines.plain_nfa`)
does the same work as Elsinore, on inputs of n events, as XSeq gets them in the paper. Processor
seconds of whole runs in one process, from an Arrow table to an Arrow table; confidences of "naive"
and all matches are compared with Elsinore's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.baselines import plain_nfa
from benchmarks.baselines.worlds import confidences
from benchmarks.evaluations import ENGINE, run_by
from benchmarks.papers.figure import Figure
from benchmarks.papers.parts import Parts, interruptible, is_chosen
from benchmarks.papers.sase import (
    BELOW,
    OVER,
    PAPER,
    Panel,
    Refused,
    draw,
    letters,
    limited,
    stream,
)
from benchmarks.papers.sase_phases import breakdown, timed
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
INPUTS = (10, 30, 100, 300, 1_000, 3_000)  # events that the automaton of XSeq's kind is given
FEW = 100  # events that each run is preceded by
REPEATED = 0.05  # seconds that runs over so few events are repeated for
LENGTH = 3  # of sequences in (g)
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
    Panel(
        name="input, sequence",
        title=f"(g) SEQ(A1, ..., A{LENGTH}), W = {WITHIN}, vary the input",
        x="input",
        y="events/s",
        log_x=True,
    ),
    Panel(
        name="input, Kleene",
        title=f"(h) SEQ(A, B+, C), W = {WITHIN}, vary the input",
        x="input",
        y="events/s",
        log_x=True,
    ),
)
SCHEMA = pa.schema(
    [
        ("panel", pa.string()),
        ("system", pa.string()),
        ("W", pa.int64()),
        ("l", pa.int64()),
        ("input", pa.int64()),
        ("matches", pa.int64()),
        ("events/s", pa.float64()),
        ("ms", pa.float64()),
        ("note", pa.string()),
    ]
)

PARTS: Parts = {"panels": letters(PANELS)}


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:
    """Measure all panels or some; with `quick` fewer events and a shorter time budget."""
    pa.set_cpu_count(1)
    budget = 2.0 if quick else 30.0
    _warm_up()
    chosen = [letter for letter in PARTS["panels"] if is_chosen(letter, PARTS["panels"], only)]
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    count = 100_000 if quick else 2_000_000
    sequences = stream(count, {f"A{n}": 0.05 for n in range(1, 6)})
    patterns = stream(count, SHARES)
    with interruptible(notes):
        if {*"abcd"} & {*chosen}:
            thresholds(uncertain(10_000 if quick else 100_000), budget, rows, {*"bcd"} & {*chosen})
        if "e" in chosen:
            compared("sequences", "l", LENGTHS, sequence, sequences, budget, rows)
        if "f" in chosen:
            compared("Kleene", "W", KLEENE_WINDOWS, kleene, patterns, budget, rows)
        if "g" in chosen:
            steps = [f"A{n}" for n in range(1, LENGTH + 1)]
            beside_automaton(
                "input, sequence", sequence(LENGTH), (steps, []), sequences, budget, rows
            )
        if "h" in chosen:
            beside_automaton("input, Kleene", kleene(WITHIN), ("ABC", "B"), patterns, budget, rows)
    return Figure(
        title="Figure 6 of SASE++: uncertain times, and the patterns run against XSeq",
        table=pa.Table.from_pylist(rows, schema=SCHEMA),
        remarks=[*remarks(rows, budget), *notes],
        draw=lambda picture: draw(picture, PANELS, rows, across=4),
        size=(16.0, 7.0),
    )


def uncertain(number: int) -> pa.Table:
    """Return events one time unit apart, each at one of ten times: `time` to `latest`."""
    events = stream(number, SHARES)
    events = events.filter(pa.compute.not_equal(events["type"], "X"))
    return events.append_column("latest", pa.compute.add(events["time"], INTERVAL - 1))


def thresholds(
    events: pa.Table, budget: float, rows: list[dict[str, Any]], breaks_down: Collection[str]
) -> None:
    """Add the rows of the panels of uncertain times: (a), and cost breakdowns unless empty."""
    names = [f"DP {t}" if t else "DP" for t in THRESHOLDS]
    over: set[str] = set()
    for within in WINDOWS:
        print(f"uncertain times, W = {within} ...", flush=True)
        for name in (*names, "collapsed", "naive"):
            row = _empty("thresholds", name) | {"W": within}
            rows.append(row)
            run = runner(name, events, within)
            given = fill(row, run, len(events), budget, is_over=name in over)
            if given is None:
                over.add(name)
            elif breaks_down and name in {"naive", *(f"DP {t}" for t in BROKEN_DOWN)}:
                rows += phases(name, within, run, given, budget)


def runner(name: str, events: pa.Table, within: int) -> Callable[[], dict[str, Any]]:
    """Return what a system of panel (a) does."""
    if name == "naive":
        return naive(events, within)
    if name == "collapsed":
        return by_recurrence(events, within, COLLAPSED, "")
    threshold = name.removeprefix("DP").strip()
    return by_recurrence(events, within, UNCERTAIN, threshold and f"CONFIDENCE >= {threshold}")


def phases(
    name: str, within: int, run: Callable[[], Any], given: Mapping[str, Any], budget: float
) -> list[dict[str, Any]]:
    """Return the rows of the cost breakdowns, of what was done in time for panel (a)."""
    if name == "naive":
        parts = given["phases"]
    else:
        spent = limited(partial(breakdown, run), 10 * budget)
        if isinstance(spent, Refused):
            return []
        parts = spent.value
    found = []
    for phase, seconds in parts.items():
        note = BELOW if seconds is None else ""
        cost = {"W": within, "ms": None if seconds is None else 1000 * seconds, "note": note}
        if phase == "confidence":
            found.append(_empty("confidence", name) | cost)
        if name in {"naive", "DP 0.999"}:
            found.append(_empty(name, phase) | cost)
    return found


def by_recurrence(
    events: pa.Table, within: int, query: str, more: str
) -> Callable[[], dict[str, Any]]:
    """Return what finds the matches of a query, with confidences by the recurrence."""
    workload = Workload.parse(query.format(within=within, more=more))

    def run() -> dict[str, Any]:
        workload.run(events.slice(0, FEW), time_interval=("time", "latest"))  # planned, and loaded
        start = time.process_time()
        found = workload.run(events, time_interval=("time", "latest")).tables["q"]
        return {"seconds": time.process_time() - start, "matches": found.num_rows}

    return run


def naive(events: pa.Table, within: int) -> Callable[[], dict[str, Any]]:
    """Return what finds all matches, and computes their confidences world by world."""
    workload = Workload.parse(UNCERTAIN.format(within=within, more=""))

    def run() -> dict[str, Any]:
        workload.run(events.slice(0, FEW), time_interval=("time", "latest"))  # planned, and loaded
        with timed() as spent:
            start = time.process_time()
            found = workload.run(events, time_interval=("time", "latest")).tables["q"]
            searched = time.process_time()
        low = np.arange(events["time"][-1].as_py() + 1)
        values = confidences(found["times"], low, low + INTERVAL - 1, within)
        ended = time.process_time()
        np.testing.assert_allclose(found["p"].to_numpy(), values, rtol=1e-9, atol=1e-12)
        return {
            "seconds": ended - start,
            "phases": {
                "total": ended - start,
                "confidence": ended - searched,
                "pattern matching": spent["search"],
                "sorting": spent["sorting"],
                "results": max(searched - start - spent["search"] - spent["sorting"], 0.0),
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
    rows: list[dict[str, Any]],
) -> None:
    """Add the rows of a panel of exact times; raises AssertionError where matches differ."""
    over: set[str] = set()
    for value in values:
        print(f"{panel}, {varied} = {value} ...", flush=True)
        sums = set()
        for system, evaluation in EXACT.items():
            run = exactly(query(value), events, evaluation)
            row = _empty(panel, system) | {varied: value}
            rows.append(row)
            given = fill(row, run, len(events), budget, is_over=system in over)
            if given is None:
                over.add(system)
            else:
                sums.add(given["sums"])
        if len(sums) > 1:
            raise AssertionError(f"{panel}, {varied} = {value}: systems have other matches")


def beside_automaton(
    panel: str,
    text: str,
    pattern: tuple[Sequence[str], Sequence[str]],
    events: pa.Table,
    budget: float,
    rows: list[dict[str, Any]],
) -> None:
    """Add the rows of a panel with inputs of several sizes: Elsinore, and XSeq's kind of automaton.

    Both make a table of all matches of the same events. `pattern` has the steps, and those that are
    repeated. Raises AssertionError where matches differ.
    """
    workload = Workload.parse(text)
    over = False
    for size in INPUTS:
        print(f"{panel}, {size} events ...", flush=True)
        some = events.slice(0, size)
        runs: dict[str, Callable[[], pa.Table]] = {
            "Elsinore": lambda: workload.run(some)["q"],  # noqa: B023
            "XSeq-like": lambda: plain_nfa.matches(some, *pattern, WITHIN),  # noqa: B023
        }
        found = []
        for system, run in runs.items():
            row = _empty(panel, system) | {"input": size}
            rows.append(row)
            is_over = over and system != "Elsinore"
            given = fill(row, partial(for_a_while, run), size, budget, is_over=is_over)
            if given is None:
                over = True
            else:
                found.append((given["matches"], *given["sums"]))
        if len({*found}) > 1:
            raise AssertionError(f"{panel}, {size}: the automaton has other matches: {found}")


def for_a_while(run: Callable[[], pa.Table]) -> dict[str, Any]:
    """Return the mean processor seconds of several runs, the number of matches and their sums."""
    begun, times = time.process_time(), 0
    while times == 0 or time.process_time() < begun + REPEATED:
        found = run()
        times += 1
    seconds = (time.process_time() - begun) / times
    sums = [pa.compute.sum(found[name]).as_py() or 0 for name in ("a", "c")]
    return {"seconds": seconds, "matches": len(found), "sums": sums}


def exactly(text: str, events: pa.Table, evaluation: str) -> Callable[[], dict[str, Any]]:
    """Return what runs a query with an evaluation."""
    workload = Workload.parse(text)

    def run() -> dict[str, Any]:
        run_by(evaluation, workload, events.slice(0, FEW))  # planned, and loaded
        start = time.process_time()
        found = run_by(evaluation, workload, events).tables["q"]
        seconds = time.process_time() - start
        sums = tuple(pa.compute.sum(column).as_py() for column in found.columns)
        return {"seconds": seconds, "matches": found.num_rows, "sums": sums}

    return run


def fill(
    row: dict[str, Any],
    run: Callable[[], dict[str, Any]],
    events: int,
    budget: float,
    *,
    is_over: bool,
) -> dict[str, Any] | None:
    """Fill in a row from a run; return what the run gave, or None if it was refused.

    is_over: the system passed its budget at an earlier point, and is not run.
    """
    spent = Refused(OVER) if is_over else limited(run, budget)
    if isinstance(spent, Refused):
        row["note"] = spent.why.splitlines()[-1].strip()
        return None
    given: dict[str, Any] = spent.value
    row |= {"matches": given["matches"], "ms": 1000 * given["seconds"]}
    row["events/s"] = events / given["seconds"]
    return given


def _empty(panel: str, system: str) -> dict[str, Any]:
    return dict.fromkeys(SCHEMA.names) | {"panel": panel, "system": system, "note": ""}


def remarks(rows: Sequence[Mapping[str, Any]], budget: float) -> list[str]:
    """Return what the paper says, and what was found."""
    lines = [f"{PAPER}: {FOUND}."]

    def speeds(panel: str, system: str) -> dict[int, float]:
        mine = [r for r in rows if r["panel"] == panel and r["system"] == system]
        return {r["W"] or r["l"] or r["input"]: r["events/s"] for r in mine if r["events/s"]}

    plain = speeds("thresholds", "DP")
    widest = {
        name: max(speeds("thresholds", name), default=0)
        for name in ("naive", "DP", *(f"DP {t}" for t in reversed(THRESHOLDS) if t))
    }
    lines.append(
        "Found: within the budget up to W = "
        + ", ".join(f"{within} ({name})" for name, within in widest.items())
        + f" of at most {WINDOWS[-1]}."
    )
    for threshold in (0.7, 0.999):
        mine = speeds("thresholds", f"DP {threshold}")
        times = [speed / plain[within] for within, speed in mine.items() if within in plain]
        if times:
            lines.append(
                f"Found: a threshold of {threshold} is {min(times):.2g} to {max(times):.3g} times "
                "as fast as none."
            )
    slow = speeds("thresholds", "naive")
    times = [plain[within] / speed for within, speed in slow.items() if within in plain]
    if times:
        lines.append(
            f"Found: the recurrence is {min(times):.2g} to {max(times):.3g} times as fast as naive "
            "confidences where these were done in time."
        )
    for name in ("naive", "DP 0.999"):
        mine = [row for row in rows if row["panel"] == name]
        if mine:
            last = max(row["W"] for row in mine)
            parts = {row["system"]: row["ms"] for row in mine if row["W"] == last}
            shares = ", ".join(
                f"{phase} {'-' if ms is None else format(ms / parts['total'], '.0%')}"
                for phase, ms in parts.items()
                if phase != "total"
            )
            lines.append(f"Found, {name} at W = {last}: {shares}.")
    for panel in ("sequences", "Kleene", "input, sequence", "input, Kleene"):
        ours = speeds(panel, "Elsinore")
        for system in ("SASE+", "ZStream", "XSeq-like"):
            beside = speeds(panel, system)
            times = [ours[value] / speed for value, speed in beside.items() if value in ours]
            if times:
                lines.append(
                    f"Found, {panel}: Elsinore is {min(times):.2g} to {max(times):.3g} times as "
                    f"fast as {system}."
                )
    lines.append(
        "Windows are shorter than the paper's, and events as much denser: what counts is how many "
        "of them a window has, and how many intervals overlap. XSeq was not run: its program is "
        "not public. In its place is a compiled automaton of ours that does what the paper says of "
        "it: it goes through the whole input from each beginning, WITHIN stops nothing. For inputs "
        "of a hundred events, Elsinore's fixed costs of a run are most of its time. Collapsed "
        "rows of uncertain times are put together of the matches here: they are no upper bound."
    )
    lines.append(f"Time budget of a run: {budget:g} s; a system beyond it is marked '{OVER}'.")
    return lines


def _warm_up() -> None:
    """Run everything once over a few events, for its kernels to be compiled."""
    few, exact = uncertain(600), stream(600, SHARES)
    plain_nfa.matches(exact.slice(0, 60), "ABC", "B", WITHIN)
    by_recurrence(few, 25, UNCERTAIN, "")()
    by_recurrence(few, 25, COLLAPSED, "")()
    naive(few, 25)()
    for evaluation in EXACT.values():
        exactly(kleene(25), exact, evaluation)()
        exactly(sequence(3), stream(600, {"A1": 0.1, "A2": 0.1, "A3": 0.1}), evaluation)()
