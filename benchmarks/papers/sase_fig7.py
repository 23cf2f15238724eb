"""Figure 7 of SASE++: what the queries of the case study find, and how fast they are.

The log is generated (`elsinore generate cluster`), as the paper's is not public; the queries are
those of `examples/cluster`. (a) to (d) are the answers of Q1, Q2 and Q4, compared with sums over
the log's columns; the paper has three workloads of one cluster, this log has many jobs of one kind.
(e) has the throughput of all six queries. Of (f) there are two charts, each with the same events
for all systems: exact times, where evaluations find matches in different ways, and uncertain times,
where all confidences are computed world by world, by the recurrence, or as far as a threshold asks.
Throughput is in processor seconds of whole runs in one process, from an Arrow table to an Arrow
table. Everything that should find the same is compared.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.baselines.worlds import confidences
from benchmarks.evaluations import ENGINE, run_by
from benchmarks.papers.figure import Figure, mark_missing
from benchmarks.papers.parts import Parts, interruptible, is_chosen
from benchmarks.papers.sase import COLOURS, PAPER, Refused, limited
from elsinore.datasets.cluster import cluster
from elsinore.workload import Workload

QUERIES = Path(__file__).parents[2] / "examples" / "cluster" / "monitoring.cep"
EVENTS = 1_000_000
FEW, FEWER = 100_000, 10_000  # events with exact and with uncertain times in (f)
SMALL = 2_000  # events that everything is run over to warm up
STEP = 5  # seconds between the possible times of a poll, of which there are four then
MICROSECONDS = 1_000_000
FOUND = (
    "300,000 to over 7 million events/s for Q1 to Q6, 13.62 events/s a node, so that one server "
    "watches 22,000 nodes; on-the-fly, and DP 0.999, are faster than postponing (Section 6.5)"
)
PARTS: Parts = {"panels": tuple("abcdef")}
SCHEMA = pa.schema(
    [
        ("panel", pa.string()),
        ("query", pa.string()),
        ("system", pa.string()),
        ("seconds", pa.float64()),  # of (a) to (d): of a job's tasks, or since it began
        ("value", pa.float64()),  # of (a), (b): per cent of the jobs; of (c), (d): megabytes
        ("events", pa.int64()),
        ("matches", pa.int64()),
        ("events/s", pa.float64()),
        ("note", pa.string()),
    ]
)
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Way:
    """How a system of (f) runs a query: an evaluation, or with uncertain times a threshold."""

    evaluation: str = ENGINE
    is_uncertain: bool = False
    threshold: float | None = None
    by_worlds: bool = False
    within: Mapping[str, int] = field(default_factory=lambda: {"Q5": 300, "Q6": 120})  # seconds


EXACT = {
    "postponing": Way("postponing"),
    "on-the-fly": Way("on-the-fly"),
    "Elsinore": Way(),
}
UNCERTAIN = {
    "naive": Way(is_uncertain=True, by_worlds=True),
    "DP": Way(is_uncertain=True),
    "DP 0.999": Way(is_uncertain=True, threshold=0.999),
}
CHARTS = {"(f) exact times": EXACT, "(f) uncertain times": UNCERTAIN}


def queries() -> dict[str, str]:
    """Return the texts of the case study's queries by name: Q1 to Q6."""
    text = re.sub(r"--.*", "", QUERIES.read_text())
    return {
        match[1].upper(): match[0] for match in re.finditer(r"QUERY (q\d)\n.*?;", text, re.DOTALL)
    }


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:
    """Measure all panels or some; with `quick` a fifth of the events and a shorter time budget."""
    pa.set_cpu_count(1)
    budget = 12.0 if quick else 120.0
    part = 5 if quick else 1
    log = table(EVENTS // part)
    rows: Rows = []
    notes: list[str] = []
    with interruptible(notes):
        for letter, answer in (("a", "Q1"), ("b", "Q2")):
            if is_chosen(letter, PARTS["panels"], only):
                rows += periods(letter, answer, log)
        if any(is_chosen(letter, PARTS["panels"], only) for letter in "cd"):
            rows += written(log)
        for name, text in queries().items():
            if is_chosen("e", PARTS["panels"], only):
                print(f"{name} ...", flush=True)
                rows.append(_throughput("(e) all queries", name, "Elsinore", text, log, budget))
        for chart, systems in CHARTS.items() if is_chosen("f", PARTS["panels"], only) else ():
            events = log.slice(0, (FEW if systems is EXACT else FEWER) // part)
            for name in ("Q5", "Q6"):
                rows += compared(chart, name, queries()[name], events, budget)
    return Figure(
        title="Figure 7 of SASE++: the case study's queries",
        table=pa.Table.from_pylist(rows, schema=SCHEMA),
        shown=pa.Table.from_pylist([row for row in rows if row["events"]], schema=SCHEMA).select(
            ["panel", "query", "system", "events", "matches", "events/s", "note"]
        ),
        remarks=[*remarks(rows), f"Time budget of a run: {budget:g} s.", *notes],
        draw=lambda picture: draw(picture, rows),
        size=(13.0, 7.0),
    )


def table(events: int) -> pa.Table:
    """Return a generated log of a cluster; `n` numbers the events."""
    log = cluster(events, seed=1)
    return log.append_column("n", pa.array(np.arange(log.num_rows)))


def _row(panel: str, query: str, system: str, **values: Any) -> dict[str, Any]:
    return dict.fromkeys(SCHEMA.names) | {
        "panel": panel, "query": query, "system": system, "note": "", **values
    }  # fmt: skip


def periods(letter: str, name: str, log: pa.Table) -> Rows:
    """Return the shares of jobs by the mean and the longest period of their mappers or reducers.

    Raises AssertionError where the query's answer is not that of the log's columns.
    """
    kind = {"a": "Mapper", "b": "Reducer"}[letter]
    found = Workload.parse(queries()[name]).run(log)[name.lower()].sort_by("job_id")
    ended = log.filter(pc.equal(log["type"], "JobEnd"))["job_id"]
    tasks = log.filter(pc.and_(pc.equal(log["type"], kind), pc.is_in(log["job_id"], ended)))
    expected = (
        tasks.group_by("job_id")
        .aggregate([("period", "mean"), ("period", "max")])
        .sort_by("job_id")
    )
    if found["job_id"] != expected["job_id"]:
        raise AssertionError(f"{name} has other jobs than the log")
    rows: Rows = []
    for column, answer in (("mean", "period_mean"), ("longest", "period_max")):
        values = found[column].to_numpy()
        np.testing.assert_allclose(values, expected[answer].to_numpy(), rtol=1e-9)
        for share in range(0, 101, 2):
            at = float(np.percentile(values, share))
            rows.append(_row(f"({letter}) {kind}", name, column, seconds=at, value=float(share)))
    return rows


def written(log: pa.Table) -> Rows:
    """Return how much data two jobs have written by each moment, as Q4 finds it.

    They are the job that writes most often, and the one that waits longest before it writes.
    """
    found = Workload.parse(queries()["Q4"]).run(log)["q4"]
    since = pc.subtract(found["at"].cast(pa.int64()), found["began"].cast(pa.int64()))
    found = found.append_column("since", pc.divide(since.cast(pa.float64()), MICROSECONDS))
    writes = log.filter(pc.equal(log["type"], "DataIO"))
    jobs = found.group_by("job_id").aggregate([("since", "count"), ("since", "min")])
    busiest, latest = (
        jobs.sort_by([(column, "descending")])["job_id"][0].as_py()
        for column in ("since_count", "since_min")
    )
    rows: Rows = []
    for letter, job in (("c", busiest), ("d", latest)):
        mine = found.filter(pc.equal(found["job_id"], job)).sort_by("since")
        sizes = writes.filter(pc.equal(writes["job_id"], job))["size"].to_numpy()
        np.testing.assert_array_equal(mine["bytes"].to_numpy(), np.cumsum(sizes))
        pairs = zip(mine["since"].to_pylist(), mine["bytes"].to_pylist(), strict=True)
        rows += [
            _row(f"({letter}) data", "Q4", f"job {job}", seconds=second, value=size / 1e6)
            for second, size in pairs
        ]
    return rows


def compared(chart: str, name: str, text: str, events: pa.Table, budget: float) -> Rows:
    """Return the rows of a chart of (f) for a query; AssertionError where matches differ."""
    text = text.replace("SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")
    text = text.replace("10 minutes", "5 minutes")  # in 10, a reducer may have 2^24 sets of polls
    systems = CHARTS[chart]
    if systems is UNCERTAIN:
        text = re.sub(r"RETURN .*", "RETURN EVENT_IDS(n) AS events, CONFIDENCE() AS p", text)
    rows: Rows = []
    for system in systems:
        print(f"{name}, {chart}: {system} ...", flush=True)
        rows.append(_throughput(chart, name, system, text, events, budget))
    counts = {
        (row["matches"], row["system"] == "DP 0.999") for row in rows if row["matches"] is not None
    }
    if len([count for count in counts if not count[1]]) > 1:
        raise AssertionError(f"{name}, {chart}: systems have other matches: {counts}")
    return rows


def _throughput(
    panel: str, name: str, system: str, text: str, events: pa.Table, budget: float
) -> dict[str, Any]:
    way = CHARTS.get(panel, {}).get(system, Way())
    # kernels are compiled by now; going through worlds has no end even here
    runner(name, text, events.slice(0, SMALL), replace(way, by_worlds=False))()
    confidences(pa.chunked_array([[[0]]]), np.zeros(1, np.int64), np.zeros(1, np.int64), 1)
    row = _row(panel, name, system, events=events.num_rows)
    spent = limited(runner(name, text, events, way), budget)
    if isinstance(spent, Refused):
        return row | {"note": spent.why.splitlines()[-1].strip()}
    seconds, matches = spent.value
    return row | {"matches": matches, "events/s": events.num_rows / seconds}


def runner(name: str, text: str, events: pa.Table, way: Way) -> Callable[[], tuple[float, int]]:
    """Return what runs a query: it gives processor seconds and the number of matches.

    Confidences world by world are compared with the engine's; AssertionError where they differ.
    """
    if way.threshold is not None:
        text = text.replace(";", f" CONFIDENCE >= {way.threshold};")
    workload = Workload.parse(text)
    options: dict[str, Any] = {}
    if way.is_uncertain:
        options = {"time_interval": ("time_lo", "time_hi"), "time_step": f"{STEP} seconds"}
    low, high = (
        events[column].cast(pa.int64()).combine_chunks().to_numpy()
        for column in ("time_lo", "time_hi")
    )

    def run() -> tuple[float, int]:
        start = time.process_time()
        (found,) = run_by(way.evaluation, workload, events, **options).tables.values()
        if way.by_worlds:
            within = way.within[name] * MICROSECONDS
            values = confidences(found["events"], low, high, within, STEP * MICROSECONDS)
            np.testing.assert_allclose(found["p"].to_numpy(), values, rtol=1e-9, atol=1e-12)
        return time.process_time() - start, found.num_rows

    return run


def remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the paper says, and what was found."""
    lines = [f"{PAPER}: {FOUND}."]
    speeds = [row["events/s"] for row in rows if row["panel"][1] == "e" and row["events/s"]]
    if speeds:
        lines.append(
            f"Found: {min(speeds):,.0f} to {max(speeds):,.0f} events/s for "
            f"{len(speeds)} queries: {min(speeds) / 13.62:,.0f} nodes at the paper's rate."
        )
    for chart, systems in CHARTS.items():
        for name in ("Q5", "Q6"):
            mine = {r["system"]: r for r in rows if (r["panel"], r["query"]) == (chart, name)}
            parts = [
                f"{system} {mine[system]['events/s']:,.0f}"
                if mine[system]["events/s"]
                else f"{system} {mine[system]['note']}"
                for system in systems
                if system in mine
            ]
            if parts:
                lines.append(f"Found, {name}, {chart}, events/s: {', '.join(parts)}.")
    lines.append(
        "The queries' strategies and windows are those of examples/cluster: NEXT but for Q6, which "
        "has 2 minutes and not 10; in (f) both are under SKIP TILL ANY MATCH, and Q5 has 5. The "
        "paper's log is of a real cluster, with 53 and 253 GB of work; this one is drawn."
    )
    lines.append(f"Uncertain times: those of a poll are {STEP} seconds apart, so that it has four.")
    return lines


def draw(picture: Picture, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw answers of queries above, throughput below."""
    answers = list(dict.fromkeys(row["panel"] for row in rows if row["seconds"] is not None))
    charts = list(dict.fromkeys(row["panel"] for row in rows if row["events"]))
    above, below = picture.subfigures(2, 1)
    titles = {
        "(a) Mapper": "(a) Q1: running time of mappers",
        "(b) Reducer": "(b) Q2: running time of reducers",
        "(c) data": "(c) Q4: data written, busiest job",
        "(d) data": "(d) Q4: data written, latest to begin",
        "(e) all queries": "(e) Throughput for all queries",
        "(f) exact times": "(f) Optimizations, exact times",
        "(f) uncertain times": "(f) Optimizations, uncertain times",
    }
    for figure, panels in ((above, answers), (below, charts)):
        places = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
        for axes, panel in zip(places, panels, strict=False):
            mine = [row for row in rows if row["panel"] == panel]
            (_answer if panels is answers else _bars)(axes, mine)
            axes.set_title(titles[panel], fontsize=9)
            axes.tick_params(labelsize=7)
            axes.grid(axis="y", linewidth=0.3)
            axes.legend(fontsize=7, frameon=False)


def _answer(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a curve for each system: a job, or a statistic of jobs."""
    for system in dict.fromkeys(row["system"] for row in rows):
        mine = [row for row in rows if row["system"] == system]
        places = [row["seconds"] for row in mine]
        values = [row["value"] for row in mine]
        axes.plot(places, values, label=system, lw=1.2)
    is_of_data = rows[0]["query"] == "Q4"
    axes.set_xlabel("seconds since the job began" if is_of_data else "seconds", fontsize=8)
    axes.set_ylabel("megabytes" if is_of_data else "per cent of jobs", fontsize=8)


def _bars(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a bar for each query and system."""
    names = list(dict.fromkeys(row["query"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    width = 0.8 / len(systems)
    for number, (system, colour) in enumerate(zip(systems, _colours(systems), strict=True)):
        mine = {row["query"]: row["events/s"] for row in rows if row["system"] == system}
        shift = width * (number - (len(systems) - 1) / 2)
        places = {name: place + shift for place, name in enumerate(names) if name in mine}
        heights = [mine[name] or 0 for name in places]
        axes.bar([*places.values()], heights, width, label=system, color=colour)
        mark_missing(axes, [at for name, at in places.items() if mine[name] is None], colour)
    axes.set_xticks(range(len(names)), names)
    axes.set_yscale("log")
    axes.set_ylim(1, 1e8)  # as the paper's
    axes.set_ylabel("events per second", fontsize=8)


def _colours(systems: Sequence[str]) -> Iterator[str]:
    for number, system in enumerate(systems):
        yield COLOURS.get(system, ("#56494E", "#CC79A7", "#56B4E9")[number % 3])
