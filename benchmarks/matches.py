"""Matches in process, on one core, against a plain Numba loop for one pattern.

`SEQ(A a, B+ b, C c)` per key, with random types among four, from an Arrow table to an Arrow table.
The rival sorts by key and loops; it is compiled for this query alone. Polars and DuckDB compute
what they can express with window functions. Results are compared, row by row. Processor time in
seconds, warm. `python -m benchmarks matches contiguous any` measures these parts alone;
each part takes less than a minute.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.baselines.match_frames import in_duckdb, in_polars
from benchmarks.baselines.match_loops import by_hand
from benchmarks.in_process import events
from benchmarks.measure import Row, cpu_seconds
from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Plan
from elsinore.runtime.options import RunOptions

EVENTS = 10_000_000
MANY = 1_000_000  # events for many queries, and for SKIP TILL ANY MATCH
WINDOWS = (8, 64, 1_000)  # events, for COLLAPSED
COUNTED = 100_000  # events of one window whose matches are counted
COMPARED = 20_000  # events of which sets are compared with all matches
RUNS = 3
COMMAND = "python -m benchmarks matches"

QUERY = """QUERY {name} RETURN key, a.v AS a, COUNT(b[]) AS n, {more} c.v AS c
PATTERN SEQ({first} a, {many} b[], {last} c) WHERE [key] {where}
STRATEGY {strategy} WITHIN {within} seconds;"""
STRATEGIES = {
    "contiguous": "CONTIGUOUS",
    "next": "SKIP TILL NEXT MATCH",
    "any": "SKIP TILL ANY MATCH",
}


def text(
    strategy: str,
    *,
    rising: bool = False,
    within: int = 60,
    more: str = "",
    types: str = "ABC",
    name: str = "q",
) -> str:
    """Return the text of a query."""
    return QUERY.format(
        name=name,
        first=types[0],
        many=f"{types[1]}+",
        last=types[2],
        more=more,
        where="AND b[i].v > b[i-1].v" if rising else "",
        strategy=STRATEGIES[strategy],
        within=within,
    )


def main(quick: bool, parts: Sequence[str] = ()) -> list[Row]:
    """Measure all parts, or some of them; with `quick` a tenth of the events.

    Raises ValueError for a part that there is not.
    """
    pa.set_cpu_count(1)
    scale = 10 if quick else 1
    every: dict[str, Callable[[], Row]] = {}
    for strategy in ("contiguous", "next"):
        every[strategy] = partial(_against_loop, strategy, 8, scale)
        every[f"{strategy}-rising"] = partial(_against_loop, strategy, 5, scale, rising=True)
        every[f"{strategy}-frames"] = partial(_against_frames, strategy, scale)
        every[f"{strategy}-many"] = partial(_many, strategy, scale)
    every["far"] = partial(_far, scale)
    for within in WINDOWS:
        every[f"collapsed-{within}"] = partial(_collapsed, within, scale)
    for within in WINDOWS[:2]:
        every[f"collapsed-rising-{within}"] = partial(_paths, within, scale)
        every[f"collapsed-paths-{within}"] = partial(_paths, within, scale, above=True)
    every |= {"any": partial(_any, scale), "lists": partial(_lists, scale)}
    every["count"] = partial(_count, COUNTED // scale)
    if unknown := set(parts) - set(every):
        raise ValueError(f"no parts: {', '.join(sorted(unknown))}; parts: {', '.join(every)}")
    rows = [(name, every[name]()) for name in parts or every]
    return [replace(row, what=f"{name}: {row.what}") for name, row in rows]


def _against_frames(strategy: str, scale: int) -> Row:
    table = events(MANY // scale)
    query_plan = plan(parse_workload(text(strategy)))
    found = run(query_plan, table, RunOptions())["q"]
    ours = statistics.median(
        cpu_seconds(lambda: run(query_plan, table, RunOptions())) for _ in range(RUNS)
    )
    theirs = {}
    for name, rival in (("polars", in_polars), ("DuckDB", in_duckdb)):
        _compare(found, rival(table, strategy, 60_000_000))
        theirs[name] = cpu_seconds(partial(rival, table, strategy, 60_000_000)) / ours
    least = min(theirs.values())
    return Row(
        f"{STRATEGIES[strategy]}, {table.num_rows:,} events: "
        + " and ".join(f"{name} takes {times:.1f} times as long" for name, times in theirs.items()),
        f"{least:.1f} times as fast",
        "at least 1",
        least >= 1,
    )


def _against_loop(strategy: str, target: float, scale: int, *, rising: bool = False) -> Row:
    table = events(EVENTS // scale)
    query_plan = plan(parse_workload(text(strategy, rising=rising)))
    room = table.num_rows // 2
    ours, theirs = _in_turn(
        lambda: run(query_plan, table, RunOptions()),
        lambda: by_hand(table, strategy, 60_000_000, rising=rising, room=room),
    )
    found = run(query_plan, table, RunOptions())["q"]
    _compare(found, by_hand(table, strategy, 60_000_000, rising=rising, room=room))
    speed = table.num_rows / ours / 1e6
    return Row(
        f"{STRATEGIES[strategy]}{', rising' if rising else ''}: {table.num_rows:,} events, 1,000 "
        f"keys, WITHIN 60 s, {found.num_rows:,} matches; the Numba loop takes "
        f"{theirs / ours:.2f} times as long",
        f"{speed:.1f} M events/s",
        f"at least {target} M events/s",
        speed >= target,
    )


def _many(strategy: str, scale: int) -> Row:
    table = events(MANY // scale)
    names = [x + y + z for x in "ABCD" for y in "ABCD" for z in "ABCD" if y not in (x, z)][:50]
    names = (names * 2)[:50]
    one = plan(parse_workload(text(strategy)))
    fifty = plan(
        parse_workload(
            "\n".join(text(strategy, types=n, name=f"q{i}") for i, n in enumerate(names))
        )
    )
    first, second = _in_turn(
        lambda: run(one, table, RunOptions()), lambda: run(fifty, table, RunOptions())
    )
    return Row(
        f"{STRATEGIES[strategy]}: 50 queries instead of one, {table.num_rows:,} events",
        f"{second / first:.1f} times as long",
        "at most 8",
        second / first <= 8,
    )


def _far(scale: int) -> Row:
    """The worst regime: windows as long as the stream, in which hardly any match is complete."""
    table = events(MANY // scale)
    kinds = np.array(["A", "B", "C"])[
        np.random.default_rng(3).choice(3, table.num_rows, p=[0.5, 0.4999, 0.0001])
    ]
    rare = table.set_column(table.column_names.index("type"), "type", pa.array(kinds))
    query_plan = plan(parse_workload(text("next", within=100_000)))
    expected = by_hand(rare, "next", 100_000_000_000, room=table.num_rows)
    found = run(query_plan, rare, RunOptions())["q"]
    _compare(found, expected)
    ours = statistics.median(
        cpu_seconds(lambda: run(query_plan, rare, RunOptions())) for _ in range(RUNS)
    )
    hand = cpu_seconds(lambda: by_hand(rare, "next", 100_000_000_000, room=table.num_rows))
    speed = table.num_rows / ours / 1e6
    return Row(
        f"{STRATEGIES['next']}, one event of 10,000 a C, windows as long as the stream: "
        f"{found.num_rows:,} matches; the Numba loop takes {hand / ours:.2f} times as long",
        f"{speed:.1f} M events/s",
        "no target",
        True,
    )


def _any(scale: int) -> Row:
    table = events(MANY // scale)
    query_plan = plan(parse_workload(text("any", within=16, more="AVG(b[].v) AS m,")))
    found = run(query_plan, table, RunOptions())["q"]
    hand = by_hand(table, "any", 16_000_000, room=found.num_rows + 1)
    _compare(found, hand)
    ours, theirs = _in_turn(
        lambda: run(query_plan, table, RunOptions()),
        lambda: by_hand(table, "any", 16_000_000, room=found.num_rows + 1),
    )
    speed = found.num_rows / ours / 1e6
    return Row(
        f"SKIP TILL ANY MATCH, windows of 16 events: {found.num_rows / table.num_rows:.0f} matches "
        f"an event, COUNT and AVG of b[]; the Numba loop takes {theirs / ours:.2f} times as long",
        f"{speed:.1f} M matches/s",
        "at least 10 M matches/s",
        speed >= 10,
    )


def _collapsed(within: int, scale: int) -> Row:
    table = events(MANY // scale)
    query_plan = plan(
        parse_workload(
            f"""QUERY q RETURN key, a.v AS a, COUNT(b[]) AS n, COUNT(c[]) AS m, b[b.LEN].v AS c
            PATTERN SEQ(A a, B+ b[], C c) WHERE [key] WITHIN {within} seconds COLLAPSED;"""
        )
    )
    ours, theirs = _in_turn(
        lambda: run(query_plan, table, RunOptions()),
        lambda: by_hand(table, "collapsed", within * 1_000_000, room=table.num_rows),
    )
    found = run(query_plan, table, RunOptions())["q"]
    _compare(found, by_hand(table, "collapsed", within * 1_000_000, room=table.num_rows))
    speed = table.num_rows / ours / 1e6
    return Row(
        f"COLLAPSED, windows of {within:,} events: {found.num_rows:,} rows; the Numba loop takes "
        f"{theirs / ours:.2f} times as long",
        f"{speed:.1f} M events/s",
        "at least 3 M events/s",
        speed >= 3,
    )


def _paths(within: int, scale: int, *, above: bool = False) -> Row:
    """Sets of what is on paths to a match; of the first events compared with all matches.

    Values that rise within b rule no event out of a set; that they are `above` that of a does.
    """
    table = events(MANY // scale)
    pattern = "PATTERN SEQ(A a, B+ b[], C c) WHERE [key] AND b[i].v > b[i-1].v"
    pattern += " AND b.v > a.v" if above else ""
    sets = plan(
        parse_workload(
            f"""QUERY q RETURN key, a.v AS a, COUNT(b[]) AS n, COUNT(c[]) AS m {pattern}
            WITHIN {within} seconds COLLAPSED;"""
        )
    )
    each = plan(
        parse_workload(f"QUERY q RETURN key, a.v AS a, b[].v AS b, c.v AS c {pattern} WITHIN 8 s;")
    )
    if within == WINDOWS[0]:
        part = table.slice(0, COMPARED)
        expected: dict[tuple[int, float], tuple[set[float], set[float]]] = {}
        for row in run(each, part, RunOptions())["q"].to_pylist():
            bound = expected.setdefault((row["key"], row["a"]), (set(), set()))
            bound[0].update(row["b"])
            bound[1].add(row["c"])
        found = run(sets, part, RunOptions())["q"].to_pylist()
        counts = {key: (len(bs), len(cs)) for key, (bs, cs) in expected.items()}
        if {(row["key"], row["a"]): (row["n"], row["m"]) for row in found} != counts or not found:
            raise AssertionError("the sets are not those of the matches")
    taken = statistics.median(
        cpu_seconds(lambda: run(sets, table, RunOptions())) for _ in range(RUNS)
    )
    speed = table.num_rows / taken / 1e6
    return Row(
        f"COLLAPSED, rising{' above the first' if above else ''}, windows of {within:,} events",
        f"{speed:.1f} M events/s",
        "no target: events are looked at row by row" if above else "at least 3 M events/s",
        above or speed >= 3,
    )


def _lists(scale: int) -> Row:
    table = events(MANY // scale)
    query_plan = plan(parse_workload(text("any", within=16, more="b[].v AS vs,")))
    small = table.slice(0, table.num_rows // 4)
    found = run(query_plan, small, RunOptions())["q"]
    lengths = np.diff(found.column("vs").combine_chunks().offsets.to_numpy())
    if not np.array_equal(lengths, found.column("n").to_numpy()):
        raise AssertionError("lists and their lengths differ")
    seconds = statistics.median(
        cpu_seconds(lambda: run(query_plan, small, RunOptions())) for _ in range(RUNS)
    )
    speed = found.num_rows / seconds / 1e6
    return Row(
        "the same with the lists b[].v",
        f"{speed:.1f} M matches/s",
        "at least 2 M matches/s",
        speed >= 2,
    )


def _count(size: int) -> Row:
    table = pa.table(
        {
            "time": np.arange(size),
            "type": pa.array(["B"] * size),
            "v": np.random.default_rng(1).random(size),
        }
    )
    query_plan = plan(
        parse_workload("QUERY q RETURN COUNT(b[]) PATTERN B+ b WHERE b[i].v > b[i-1].v;")
    )
    _refused(query_plan, table)
    seconds = statistics.median(
        cpu_seconds(lambda: _refused(query_plan, table)) for _ in range(RUNS)
    )
    return Row(
        f"counting SKIP TILL ANY MATCH, rising: {size:,} events in one window",
        f"{seconds:.2f} s",
        "under 2 s",
        seconds < 2,
    )


def _refused(ready: Plan, table: pa.Table) -> None:
    try:
        run(ready, table, RunOptions())
    except InputError:
        return
    raise AssertionError("so many matches were given out")


def _compare(found: pa.Table, expected: pa.Table) -> None:
    """Refuse to report the speed of a wrong answer; the order of matches says nothing."""
    if found.num_rows != expected.num_rows or found.num_rows == 0:
        raise AssertionError(f"{found.num_rows} matches instead of {expected.num_rows}")
    names = expected.column_names
    one, other = (
        np.stack([np.asarray(t.column(n), dtype=np.float64) for n in names])
        for t in (found, expected)
    )
    one, other = (m[:, np.lexsort(np.round(m, 9))] for m in (one, other))
    if not np.allclose(one, other, rtol=1e-9):
        raise AssertionError("the engine and the loop disagree on a match")


def _in_turn(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Return the medians of processor seconds of two runs, taken in turn."""
    ours(), theirs()
    taken = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(RUNS)]
    return statistics.median(a for a, _ in taken), statistics.median(b for _, b in taken)
