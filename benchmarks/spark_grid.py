"""Spark over a grid of regimes: numbers of queries, events and keys, a heavy key, shuffled files.

Every regime is measured as in `benchmarks.spark`, one run after a warm one, all ways in turn in one
session, and results are compared: from files that the tasks read, from the same files read by Spark
(like any computed DataFrame), in this process, by hand with `applyInPandas`, by polars and a loop
in one process, and Spark's own count of events per key and window, the floor. Figures are processor
seconds of the whole process tree and, in parentheses, wall seconds.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from benchmarks.spark import Stream, Taken, measured

COMMAND = "python -m benchmarks.spark_grid"
BUDGET = 200.0  # seconds
LIMIT = 230.0  # seconds for a regime
OURS = ("files", "frame", "local")
RIVALS = ("by hand", "polars", "floor")
WAYS = (*OURS, *RIVALS)


@dataclass(frozen=True, slots=True)
class Regime:
    """A stream, how many queries run over it, and by which ways."""

    stream: Stream
    queries: int = 1
    ways: Sequence[str] = WAYS
    warm: Stream | None = None  # a smaller stream for the first run of each way


MILLION = 1_000_000
REGIMES = {
    "100,000 events": Regime(Stream(events=100_000)),
    "1 M events": Regime(Stream(events=MILLION)),
    "10 M events": Regime(Stream()),
    "10 queries": Regime(Stream(events=2 * MILLION), 10, OURS),
    "50 queries": Regime(Stream(events=2 * MILLION), 50, OURS),
    "10 M, 50 queries": Regime(Stream(), 50, ("files",), Stream(events=MILLION)),
    "1 query": Regime(Stream(events=2 * MILLION), 1, OURS),
    "1 M keys": Regime(Stream(events=2 * MILLION, keys=MILLION), 1, (*OURS, "polars", "floor")),
    "80 % in a key": Regime(Stream(events=2 * MILLION, share=0.8)),
    "shuffled": Regime(Stream(events=2 * MILLION, shuffled=True)),
    "shuffled, 80 %": Regime(Stream(events=2 * MILLION, share=0.8, shuffled=True)),
    "100 M events": Regime(
        Stream(events=100 * MILLION), 1, ("files", "floor"), Stream(events=MILLION)
    ),
}


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


COLUMNS = ["regime", "events", "keys", "queries", *WAYS, "files / by hand", "peak of a worker"]
HEADER = (_row(COLUMNS), _row(["---"] * len(COLUMNS)))
BY_DEFAULT = tuple(name for name in REGIMES if name not in {"100 M events", "10 M, 50 queries"})


def main() -> None:
    """Measure regimes until the time is up, and print a table of them."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("regimes", nargs="*", metavar="REGIME", help=", ".join(REGIMES))
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds; none is begun after")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a regime")
    parser.add_argument("--ways", help=f"only these, with commas, of {', '.join(WAYS)}")
    given = parser.parse_args()
    unknown = [name for name in given.regimes if name not in REGIMES]
    if unknown:
        parser.error(f"no regime '{unknown[0]}'; there are {', '.join(REGIMES)}")
    start = time.perf_counter()
    print("\n".join(HEADER))
    for name in given.regimes or BY_DEFAULT:
        if time.perf_counter() - start > given.budget:
            print(f"{name}: not measured, the time is up")
            continue
        ways = given.ways.split(",") if given.ways else WAYS
        print(measured_line(name, ways, given.limit), flush=True)


def table(quick: bool) -> list[str]:
    """Return the table of all regimes; with `quick` of the two smallest."""
    names = [*REGIMES][:2] if quick else [*REGIMES]
    return [*HEADER, *(measured_line(name, WAYS, LIMIT) for name in names)]


def measured_line(name: str, ways: Sequence[str], limit: float) -> str:
    """Return the line of a regime, measured in some of its ways in so many seconds at most."""
    regime = REGIMES[name]
    ways = [way for way in regime.ways if way in ways]
    try:
        with limited(limit):
            taken = measured(regime.stream, regime.queries, ways, runs=1, warm=regime.warm)
        return line(name, regime, taken)
    except PassedLimitError:
        return line(name, regime, {}, dict.fromkeys(ways, f"passed {limit:.0f} s"))


class PassedLimitError(Exception):
    """A regime has taken more time than it may."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise PassedLimitError in the block once it has taken so many seconds."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise PassedLimitError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def line(
    name: str, regime: Regime, taken: dict[str, Taken], told: Mapping[str, str] | None = None
) -> str:
    """Return a regime's line: processor seconds and, in brackets, seconds, or what is `told`."""
    told = {
        **(told or {}),
        **{way: f"{one.processor:.1f} ({one.wall:.1f})" for way, one in taken.items()},
    }
    cells = [told.get(way, "") for way in WAYS]
    ratio = ""
    if {"files", "by hand"} <= taken.keys():
        ratio = f"{taken['files'].processor / taken['by hand'].processor:.2f}"
    peak = max((taken[way].peak for way in ("files", "frame") if way in taken), default=0)
    stream = regime.stream
    counts = [f"{n:,}" for n in (stream.events, stream.keys, regime.queries)]
    return _row([name, *counts, *cells, ratio, f"{peak:.0f} MB" if peak else ""])


if __name__ == "__main__":
    main()
