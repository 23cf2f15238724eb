"""All modes of sharing in many regimes, against one another and against a plain loop.

Queries `SEQ(X_i, B+)` that vary in their number, the length of bursts of B, what their predicates
have in common, simultaneous events, and windows. The rival keeps one running sum per query in a
compiled loop (`baselines/plain_loop.py`). Warm, in process, on one core, from an Arrow table,
encoding included. Processor time, the least of several runs in turn. Results are compared. Then the
default granularity (sums, wherever no neighbours are compared) beside `fine`, for which queries
are planned as if single events were compared; and last, times in whole seconds with 1,000 keys
(`tied_keys.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.baselines.plain_loop import plain_loop
from benchmarks.measure import Row, assert_same, cpu_seconds
from benchmarks.tied_keys import rows_of_tied_keys
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Granularity, Plan, Sharing
from elsinore.runtime.options import RunOptions

RUNS, MOST_RUNS = 3, 40
ENOUGH = 1.5  # seconds of one work's runs: what takes less runs more often than RUNS
FEW = 100_000  # events on which the default granularity is compared with `fine`
HARM = 20  # where `always` takes so many times as long as `never`, it is not waited for
COMMAND = "python -m benchmarks regimes"
TICK = 1_000  # microseconds from one event to the next
WITHIN = {"one": 10**6, "tumbling": 10, "sliding": 10}  # seconds
SLIDE = {"one": "", "tumbling": "", "sliding": " SLIDE 5 seconds"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """What the events and queries of a run are like."""

    events: int = 2_000_000
    queries: int = 50
    burst: int = 200  # B events between two X; 0: all of them in one burst
    predicate: str = "none"  # or: agree, differ, mixture, neighbours
    ties: str = "none"  # or: one, seconds
    window: str = "one"  # or: tumbling, sliding
    granularity: Granularity = Granularity.AUTO

    @property
    def name(self) -> str:
        """What tells the regime from others."""
        lines = [f"{self.queries:,} queries, {self.events:,} events"]
        lines.append(f"bursts of {self.burst:,}" if self.burst else "one burst")
        if self.predicate == "neighbours":
            lines.append("`b[i].v >= b[i-1].v`")
        elif self.predicate != "none":
            lines.append(f"thresholds: {self.predicate}")
        if self.ties != "none":
            lines.append({"one": "a tie", "seconds": "times in seconds"}[self.ties])
        return ", ".join([*lines, f"windows: {self.window}"])

    @property
    def cuts(self) -> list[float]:
        """The queries' thresholds."""
        if self.predicate in {"none", "neighbours"}:
            return [np.inf] * self.queries
        return [1.0 + number for number in range(self.queries)]

    @property
    def within(self) -> int:
        """Return the length of the queries' windows in microseconds."""
        return WITHIN[self.window] * 10**6

    @property
    def slide(self) -> int:
        """Return how many microseconds after a window the next one begins."""
        return self.within // 2 if SLIDE[self.window] else self.within

    @property
    def in_loop(self) -> bool:
        """Whether the plain loop can do it."""
        return self.window != "sliding" and self.predicate != "neighbours" and self.ties == "none"

    def table(self) -> pa.Table:
        """Return the events: an X of some query before each burst of B."""
        random = np.random.default_rng(17)
        kinds = np.zeros(self.events, dtype=np.int32)
        if self.burst:
            begins = np.arange(0, self.events, self.burst + 1)
            kinds[begins] = 1 + random.integers(0, self.queries, len(begins))
        kinds[: self.queries] = 1 + np.arange(self.queries)
        stirred = np.ones(self.events, dtype=np.bool_)
        if self.predicate == "mixture":
            stirred = (np.arange(self.events) // max(4 * self.burst, 1)) % 2 == 1
        high = self.queries if self.predicate in {"differ", "mixture"} else 1.0
        values = np.where(stirred, random.random(self.events) * high, 0.0)
        times = np.arange(self.events) * TICK
        if self.ties == "one":
            times[self.events // 2] = times[self.events // 2 - 1]
        elif self.ties == "seconds":
            times = times // 10**6 * 10**6
        names = pa.array(["B", *(f"X{number}" for number in range(self.queries))])
        return pa.table(
            {
                "time": pa.array(times).cast(pa.timestamp("us")),
                "type": pa.DictionaryArray.from_arrays(pa.array(kinds), names),
                "v": values,
            }
        )

    def workload(self) -> Plan:
        """Return the plan of the queries."""
        text = []
        for number, cut in enumerate(self.cuts):
            where = "" if np.isinf(cut) else f"WHERE b.v < {cut:g} "
            if self.predicate == "neighbours":
                where = "WHERE b[i].v >= b[i-1].v "
            text.append(
                f"QUERY q{number} RETURN LOG2(COUNT(*)) AS trends PATTERN SEQ(X{number} x, B b+) "
                f"{where}WITHIN {WITHIN[self.window]} seconds{SLIDE[self.window]};"
            )
        return plan(parse_workload("\n".join(text)), granularity=self.granularity)


BASE = Regime()
REGIMES = (
    *(replace(BASE, queries=queries, events=10_000_000) for queries in (1, 10)),
    *(replace(BASE, queries=queries) for queries in (50, 1_000)),
    *(replace(BASE, burst=burst) for burst in (20, 2_000, 0)),
    replace(BASE, queries=10, burst=20, events=10_000_000),
    *(replace(BASE, predicate=p) for p in ("agree", "differ", "mixture")),
    *(replace(BASE, predicate=p, burst=20) for p in ("differ", "mixture")),
    *(replace(BASE, ties=ties) for ties in ("one", "seconds")),
    *(replace(BASE, window=window) for window in ("tumbling", "sliding")),
    replace(BASE, window="sliding", predicate="mixture", burst=20),
    *(
        replace(BASE, predicate="neighbours", events=60_000, window=window, queries=queries)
        for window in ("tumbling", "sliding")
        for queries in (1, 10, 50)
    ),
)


def measured(regime: Regime) -> dict[str, float]:
    """Return the processor time of each mode, and of the loop where it can do the same."""
    table, ready = regime.table(), regime.workload()

    def in_mode(mode: Sharing, events: pa.Table = table) -> Mapping[str, pa.Table]:
        return run(ready, events, RunOptions(sharing=mode))

    alone = run(ready, table, RunOptions(sharing=Sharing.NEVER))
    works: dict[str, Callable[[], object]] = {}
    if regime.in_loop:
        loop = partial(plain_loop, table, regime.cuts, regime.within)
        check_logs(regime, alone, loop())
        works["loop"] = loop
    small = table.slice(0, max(regime.events // HARM, 2 * regime.queries))
    assert_same(in_mode(Sharing.ALWAYS, small), in_mode(Sharing.NEVER, small))
    harm = min(cpu_seconds(lambda: in_mode(Sharing.ALWAYS, small)) for _ in range(2))
    for mode in Sharing:
        if mode is Sharing.ALWAYS and harm > cpu_seconds(lambda: in_mode(Sharing.NEVER)):
            continue
        assert_same(run(ready, table, RunOptions(sharing=mode)), alone)
        works[mode.value] = lambda mode=mode: in_mode(mode)
    return least_seconds(works)


def check_logs(regime: Regime, found: Mapping[str, pa.Table], logs: NDArray[np.float64]) -> None:
    """Compare the queries' results with logarithms of counts by window and query.

    Windows that begin before time 0 are not compared. Raises AssertionError where they differ.
    """
    for query in range(regime.queries):
        table = found[f"q{query}"]
        starts = table.column("window_start").cast(pa.int64()).to_numpy() // regime.slide
        trends = table.column("trends").to_numpy()[starts >= 0]
        expected = logs[starts[starts >= 0], query]
        missing = np.isfinite(logs[:, query]).sum() != len(trends)
        if missing or not np.allclose(trends, expected, rtol=1e-9):
            raise AssertionError(f"{regime.name}: the loop disagrees on query {query}")


def least_seconds(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least processor time of each work, of several runs in turn after one of each.

    Short ones run more often, as less disturbs them all the same. Every other turn is the other way
    round: what comes after the loop, which gives much memory back, takes a tenth longer.
    """
    taken = {name: cpu_seconds(work) for name, work in works.items()}
    there = list(works.items())
    for turn in range(MOST_RUNS):
        for name, work in there if turn % 2 == 0 else reversed(there):
            if turn < RUNS or turn * taken[name] < ENOUGH:
                taken[name] = min(taken[name], cpu_seconds(work))
    return taken


def over_fine(regime: Regime) -> float:
    """Return how many times as long the default granularity takes as `fine`, on few events."""
    few = replace(regime, events=min(regime.events, FEW))
    table, options = few.table(), RunOptions(threads=1)
    default = few.workload()
    fine = replace(few, granularity=Granularity.FINE).workload()
    assert_same(run(default, table, options), run(fine, table, options))
    seconds = least_seconds(
        {
            "default": lambda: run(default, table, options),
            "fine": lambda: run(fine, table, options),
        }
    )
    return seconds["default"] / seconds["fine"]


def _granularity(regimes: Sequence[Regime]) -> Row:
    """Return the regime in which the default granularity does worst beside `fine`."""
    ratios = {regime: over_fine(regime) for regime in regimes}
    worst = max(ratios, key=lambda regime: ratios[regime])
    return Row(
        f"the default granularity instead of fine, {len(ratios)} regimes of at most {FEW:,} events",
        f"{min(ratios.values()):.2f} to {ratios[worst]:.2f} times as long; most: {worst.name}",
        "at most 1.2",
        ratios[worst] <= 1.2,
    )


def main(quick: bool, part: int = 0, parts: int = 1) -> list[Row]:
    """Measure; with `quick` a tenth of the events; every `parts`-th regime from `part` on."""
    pa.set_cpu_count(1)
    rows = []
    found: dict[Regime, dict[str, float]] = {}
    shrunk = 10 if quick else 1
    for regime in (replace(one, events=one.events // shrunk) for one in REGIMES[part::parts]):
        taken = found[regime] = measured(regime)
        dynamic, never = taken["dynamic"], taken["never"]
        better = min(never, taken.get("always", never))
        told = [f"dynamic {dynamic:.3f} s, {dynamic / better:.2f} times the better static mode"]
        targets, met = ["at most 1.15"], dynamic <= 1.15 * better
        if "always" not in taken:
            told.append(f"always stopped at {HARM} times never")
        if "loop" in taken:
            loop = taken["loop"]
            told.append(f"{dynamic / loop:.2f} times the loop, never {never / loop:.2f} times")
            targets.append("1.25, 1.5")
            met &= dynamic <= 1.25 * loop and never <= 1.5 * loop
        rows.append(Row(regime.name, "; ".join(told), "; ".join(targets), met))
    rows.append(_granularity(REGIMES[part::parts]))
    base = replace(BASE, events=BASE.events // shrunk)
    for ties in ("one", "seconds") if parts == 1 else ():
        tied = found[replace(base, ties=ties)]
        times = {mode: tied[mode] / found[base][mode] for mode in ("dynamic", "never")}
        told = ", ".join(f"{mode} {ratio:.2f} times as long" for mode, ratio in times.items())
        name = {"one": "a single tie", "seconds": "all times in whole seconds"}[ties]
        rows.append(
            Row(f"{name}, instead of none", told, "at most 1.3", max(times.values()) <= 1.3)
        )
    return [*rows, *rows_of_tied_keys(quick)] if part + 1 == parts else rows


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("part", nargs="?", default="1/1", help="such as 2/6")
    asked.add_argument("--quick", action="store_true", help="with a tenth of the events")
    told = asked.parse_args()
    which, among = map(int, told.part.split("/"))
    for row in main(told.quick, which - 1, among):
        print(f"{'ok  ' if row.met else 'MISS'} {row.what}: {row.figure} ({row.target})")
