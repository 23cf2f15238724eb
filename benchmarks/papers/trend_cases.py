"""The streams and workloads of HAMLET's figures, as the authors published them where they did.

A case is a stream with queries over it. Times are distinct, so that every system sees the same
order; `kinds` are numbers into the names of types, as the systems take them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from benchmarks.baselines.trends.queries import NO_THRESHOLD, Events, Step, TrendQuery
from elsinore.datasets import smarthome, stock, taxi
from elsinore.datasets.columns import START, named_codes

MINUTE = 60_000_000  # microseconds
THRESHOLDS = (30.0, 50.0, 100.0)  # of a trade's volume, in the authors' workload
RIDES = 14  # event types in the authors' stream for Figure 9
RIDE_KLEENE = 2
OTHERS, REPEATED = 5, 15  # events of each other type, and of the Kleene type, in a cycle


@dataclass(frozen=True, slots=True)
class Window:
    """A window's length and slide in minutes."""

    within: int
    slide: int

    def text(self) -> str:
        """Return the window as queries have it."""
        return f"{self.within} minutes SLIDE {self.slide} minutes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Queries by their windows, and a stream with the columns time, type, v and g.

    minutes: whole ones of the stream, from 2024-01-01T00:00 on; grouped: by g.
    """

    queries: Mapping[Window, Sequence[TrendQuery]]
    table: pa.Table
    minutes: int
    grouped: bool = False

    @property
    def kinds(self) -> list[str]:
        """Return the names of the types."""
        names: list[str] = self.table["type"].combine_chunks().dictionary.to_pylist()
        return names

    @property
    def times(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the times in microseconds from the stream's begin."""
        times: np.ndarray[tuple[int], np.dtype[np.int64]] = (
            self.table["time"].combine_chunks().cast(pa.int64()).to_numpy() - START
        )
        return times

    @property
    def groups(self) -> int:
        """Return the number of groups; they are numbered from 0."""
        return int(self.table["g"].to_numpy().max(initial=0)) + 1 if self.grouped else 1

    def events(self) -> Events:
        """Return the stream as the other systems take it."""
        kinds = self.table["type"].combine_chunks().indices.to_numpy().astype(np.int64)
        groups = self.table["g"].to_numpy().astype(np.int64)
        return Events(
            kinds=kinds,
            values=self.table["v"].to_numpy().astype(np.float64),
            groups=groups if self.grouped else np.zeros(len(kinds), np.int64),
        )

    def text(self) -> str:
        """Return the workload in Elsinore's language."""
        group = "g" if self.grouped else None
        return "\n".join(
            query.text(value="v", within=window.text(), group=group)
            for window, queries in self.queries.items()
            for query in queries
        )


def rides(*, rate: int, queries: int, minutes: int, rising: bool = False) -> Case:
    """Figure 9: patterns of three types and Kleene plus such as `3,8,2+,9`, windows of a minute.

    The stream cycles through five events of each of thirteen types and fifteen of the fourteenth,
    which all queries have under Kleene plus.
    """
    cycle = [kind for kind in range(RIDES) if kind != RIDE_KLEENE for _ in range(OTHERS)]
    cycle += [RIDE_KLEENE] * REPEATED
    count = rate * minutes
    kinds = np.resize(np.array(cycle), count)
    random = np.random.default_rng(11)
    others = [kind for kind in range(RIDES) if kind != RIDE_KLEENE]
    made: dict[tuple[int, ...], None] = {}
    while len(made) < queries:
        made[tuple(random.choice(others, 3, replace=False).tolist())] = None
    trends = [
        TrendQuery(
            name=f"q{number}",
            steps=(Step(f"T{a}"), Step(f"T{b}"), Step(f"T{RIDE_KLEENE}", True), Step(f"T{c}")),
            rising=rising,
        )
        for number, (a, b, c) in enumerate(made)
    ]
    return Case(
        queries={Window(1, 1): trends},
        table=_table(
            np.arange(count) * MINUTE // rate,
            named_codes(kinds, [f"T{kind}" for kind in range(RIDES)]),
            random.integers(0, 1000, count).astype(float),
            np.zeros(count, np.int64),
        ),
        minutes=minutes,
    )


def taxis(*, rate: int, queries: int, minutes: int, rising: bool = False) -> Case:
    """Figure 11, New York: `1+` over taxis with one passenger, windows of ten minutes."""
    trips = taxi(rate * (minutes + 60), rate=float(rate))
    kinds = trips["passengers"].to_numpy() - 1
    names = [f"P{number}" for number in range(1, 7)]
    return _repeated(trips, kinds, names, "distance", (queries, minutes, rate, rising, False))


def plugs(
    *, rate: int, queries: int, minutes: int, rising: bool = False, equal: bool = False
) -> Case:
    """Figure 11, smart homes: `10+` over the measurements of house 10, windows of ten minutes."""
    measured = smarthome(rate * (minutes + 1), rate=float(rate))
    kinds = measured["house"].to_numpy()
    names = [f"H{number}" for number in range(40)]
    return _repeated(measured, kinds, names, "value", (queries, minutes, rate, rising, equal))


def _repeated(
    table: pa.Table,
    kinds: np.ndarray[tuple[int], np.dtype[np.int64]],
    names: Sequence[str],
    value: str,
    sizes: tuple[int, int, int, bool, bool],
) -> Case:
    """Return queries with one Kleene type, each after another type or with another threshold.

    The authors repeat one query ten or twenty times. Elsinore keeps equal queries once, so these
    differ: they begin with different types as long as there are some, and then have a threshold.
    The last of `sizes` asks for the authors' queries, which are equal.
    """
    queries, minutes, rate, rising, equal = sizes
    repeated = names[0] if len(names) < 10 else names[10]
    others = [name for name in names if name != repeated]
    values = table[value].to_numpy()
    cuts = np.quantile(values[values > 0], np.linspace(0, 0.2, -(-queries // len(others))))
    trends = [
        TrendQuery(
            name=f"q{number}",
            steps=(
                (Step(repeated, True),)
                if equal
                else (Step(others[number % len(others)]), Step(repeated, True))
            ),
            above=NO_THRESHOLD
            if equal or number < len(others)
            else round(cuts[number // len(others)], 2),
            rising=rising,
        )
        for number in range(queries)
    ]
    times = table["time"].combine_chunks().cast(pa.int64()).to_numpy() - START
    begin = int(np.searchsorted(times, times[-1] - minutes * MINUTE)) if len(times) else 0
    count = min(rate * minutes, len(times) - begin)
    return Case(
        queries={Window(10, 10): trends},
        table=_table(
            np.arange(count) * MINUTE // rate,
            named_codes(kinds[begin : begin + count], names),
            values[begin : begin + count].astype(float),
            np.zeros(count, np.int64),
        ),
        minutes=minutes,
    )


def trades(*, rate: int, queries: int, minutes: int, rising: bool = False) -> Case:
    """Figures 12 and 13: five Kleene types, three thresholds of volume, COUNT and SUM, by level.

    Windows of 5, 10, 15 and 20 minutes slide by five. Patterns have one to three types.
    """
    table = stock(rate * minutes, companies=20, rate=float(rate))
    random = np.random.default_rng(12)
    by_window: dict[Window, list[TrendQuery]] = {}
    for number in range(queries):
        repeated = number % 5
        before, after = (int(kind) for kind in random.choice(np.arange(5, 20), 2, replace=False))
        steps = (
            (Step(f"S{repeated}", True),),
            (Step(f"S{before}"), Step(f"S{repeated}", True)),
            (Step(f"S{before}"), Step(f"S{repeated}", True), Step(f"S{after}")),
        )[number // 5 % 3]
        window = Window(5 * (1 + number % 4), 5)
        by_window.setdefault(window, []).append(
            TrendQuery(
                name=f"q{number}",
                steps=steps,
                above=THRESHOLDS[number // 3 % 3],
                rising=rising,
                adds=number % 2 == 1,
            )
        )
    count = table.num_rows
    return Case(
        queries=by_window,
        table=_table(
            np.arange(count) * MINUTE // rate,
            table["type"].combine_chunks(),
            table["volume"].to_numpy().astype(float),
            table["level"].to_numpy(),
        ),
        minutes=minutes,
        grouped=True,
    )


def _table(
    times: np.ndarray[tuple[int], np.dtype[np.int64]],
    kinds: pa.DictionaryArray,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    groups: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> pa.Table:
    return pa.table(
        {
            "time": pa.array(START + times).cast(pa.timestamp("us")),
            "type": kinds,
            "v": values,
            "g": groups,
        }
    )


CASES: Mapping[str, Callable[..., Case]] = MappingProxyType(
    {"rides": rides, "taxis": taxis, "plugs": plugs, "trades": trades}
)
