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

from benchmarks.results import RESULTS, measured_on, section_in, write
from benchmarks.spark import Stream, Taken, measured

COMMAND = "python -m benchmarks.spark_grid"
BUDGET = 200.0  # seconds
LIMIT = 230.0  # seconds for a regime
TITLE = "Spark grid"
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
BY_DEFAULT = tuple(name for name in REGIMES if name not in {"100 M events", "10 M, 50 queries"})


def main() -> None:
    """Measure regimes until the time is up, and print a table of them."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("regimes", nargs="*", metavar="REGIME", help=", ".join(REGIMES))
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds; none is begun after")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a regime")
    parser.add_argument("--ways", help=f"only these, with commas, of {', '.join(WAYS)}")
    parser.add_argument("--results", action="store_true", help=f"write into {RESULTS.name}")
    given = parser.parse_args()
    unknown = [name for name in given.regimes if name not in REGIMES]
    if unknown:
        parser.error(f"no regime '{unknown[0]}'; there are {', '.join(REGIMES)}")
    begun = time.perf_counter()
    lines = []
    for name in given.regimes or BY_DEFAULT:
        if time.perf_counter() - begun > given.budget:
            print(f"{name}: not measured, the time is up")
            continue
        regime = REGIMES[name]
        ways = [w for w in regime.ways if given.ways is None or w in given.ways.split(",")]
        try:
            with limited(given.limit):
                taken = measured(regime.stream, regime.queries, ways, runs=1, warm=regime.warm)
            lines.append(line(name, regime, taken))
        except PassedLimitError:
            cells = dict.fromkeys(ways, f"passed {given.limit:.0f} s")
            lines.append(line(name, regime, {}, cells))
        print(lines[-1], flush=True)
        if given.results:  # at once, for the run may be stopped
            write(merged(section_in(RESULTS.read_text(), TITLE), lines))


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


COLUMNS = ["regime", "events", "keys", "queries", *WAYS, "files / by hand", "peak of a worker"]


def merged(section: str, lines: Sequence[str]) -> str:
    r"""Return the section with lines of the grid put in: new cells replace a regime's old ones.

    >>> old = merged("", [_row(["x", "1", "", "2"])])
    >>> merged(old, [_row(["x", "", "3", "4"])]).splitlines()[-1]
    '| x | 1 | 3 | 4 |'
    """
    rows = {}
    for one in [*section.splitlines(), *lines]:
        cells = [cell.strip() for cell in one.strip("|").split("|")]
        if not one.startswith("|") or cells[0] in {"---", COLUMNS[0]}:
            continue
        known = rows.get(cells[0], [""] * len(cells))
        rows[cells[0]] = [new or old for new, old in zip(cells, known, strict=True)]
    about = [f"## {TITLE}", "", (__doc__ or "").strip(), "", f"    {COMMAND} --results", ""]
    about += [measured_on(), ""]
    table = [_row(COLUMNS), _row(["---"] * len(COLUMNS)), *map(_row, rows.values())]
    return "\n".join([*about, *table])


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


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
