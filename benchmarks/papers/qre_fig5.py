"""Figure 5 of StreamQRE: which transformations of streams the engines have of their own.

Elsinore's cells are run: each transformation is evaluated over a small stream, and its values are
compared with those of a line of plain Python. Cells of the other systems name what their
documentation offers for it (RxJava 3.1, Esper 8.9, Flink 1.20); an empty one means that a user's
own function has to do it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure as Picture

import elsinore.quantitative as qre
from benchmarks.papers.figure import Figure
from benchmarks.papers.parts import Parts, is_chosen

COUNT = 24
WINDOW = 4
SYSTEMS = ("Elsinore", "RxJava", "Esper", "Flink")
PAPER = (
    "StreamQRE has all transformations that its benchmarks need; other engines leave some of them "
    "to functions of the user (Section 5; the figure's rows are in a picture, so that these are "
    "the transformations that the text names)"
)


@dataclass(frozen=True, slots=True)
class Feature:
    """A transformation, what the systems call it, and how Elsinore's values are checked.

    `values` runs it over the events; `expected` computes the same in plain Python.
    """

    name: str
    elsinore: str
    others: tuple[str, str, str]
    values: Callable[[pa.Table], list[Any]]
    expected: Callable[[list[dict[str, Any]]], list[Any]]


def events() -> pa.Table:
    """Return a small stream: numbers of two keys, with a tick after every sixth event."""
    places = range(COUNT)
    kinds = ["tick" if place % 6 == 5 else "M" for place in places]
    return pa.table(
        {
            "time": list(places),
            "type": kinds,
            "key": [None if kind == "tick" else place % 2 for place, kind in enumerate(kinds)],
            "v": [7 * place % 11 for place in places],
        }
    )


def _values(query: Any, table: pa.Table) -> list[Any]:
    found: list[Any] = query.run(table)["value"].to_pylist()
    return found


def _numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [row["v"] for row in rows]


def _panes(rows: list[dict[str, Any]]) -> list[list[int]]:
    """Return the values between ticks."""
    panes: list[list[int]] = [[]]
    for row in rows:
        if row["type"] == "tick":
            panes.append([])
        else:
            panes[-1].append(row["v"])
    return panes[:-1]


def _per_key(rows: list[dict[str, Any]]) -> list[int]:
    """Return the running sum of each key, at each of its events."""
    totals: dict[int, int] = {}
    found = []
    for row in rows:
        if row["type"] == "M":
            totals[row["key"]] = totals.get(row["key"], 0) + row["v"]
            found.append(totals[row["key"]])
    return found


def features() -> dict[str, Feature]:
    """Return the transformations by number."""
    m, tick = qre.event("M"), qre.event("tick")
    value = qre.atom(qre.any, lambda item: item.v)
    pane = qre.split(
        qre.iterate(qre.atom(m, lambda item: item.v), qre.sum()), qre.atom(tick), qre.left
    )
    listed = [
        Feature(
            "map each item", "map", ("map", "select", "map"),
            lambda table: _values(qre.map(lambda item: 2 * item.v), table),
            lambda rows: [2 * v for v in _numbers(rows)],
        ),
        Feature(
            "filter", "filter", ("filter", "where", "filter"),
            lambda table: [item["v"] for item in _values(qre.filter(m), table)],
            lambda rows: [row["v"] for row in rows if row["type"] == "M"],
        ),
        Feature(
            "aggregate all items so far", "iterate1", ("scan", "select sum(...)", "reduce"),
            lambda table: _values(qre.iterate1(value, qre.sum()), table),
            lambda rows: [sum(_numbers(rows)[: end + 1]) for end in range(len(rows))],
        ),
        Feature(
            "queries one after another", ">>",
            ("chained operators", "insert into", "chained operators"),
            lambda table: _values(
                qre.map(lambda item: item.v)
                >> qre.iterate1(qre.atom(qre.any, lambda item: item), qre.max()),
                table,
            ),
            lambda rows: [max(_numbers(rows)[: end + 1]) for end in range(len(rows))],
        ),
        Feature(
            "several results of the same items", "combine", ("zip", "select a, b", "join"),
            lambda table: _values(
                qre.combine(
                    qre.iterate1(value, qre.sum()),
                    qre.iterate1(value, qre.count()),
                    lambda total, count: total / count,
                ),
                table,
            ),
            lambda rows: [
                sum(_numbers(rows)[: end + 1]) / (end + 1) for end in range(len(rows))
            ],
        ),
        Feature(
            "partition by a key", "by, map_collect", ("groupBy", "group by, context", "keyBy"),
            lambda table: sorted(
                _values(
                    qre.iterate1(qre.atom(m, lambda item: item.v), qre.sum()).by("key"),
                    table.filter(pc.equal(table["type"], "M")),
                )
            ),
            lambda rows: sorted(_per_key(rows)),
        ),
        Feature(
            "tumbling windows of items", "tumbling",
            ("buffer(n)", "#length_batch", "countWindow(n)"),
            lambda table: _values(qre.tumbling(value, WINDOW, qre.sum()), table),
            lambda rows: [
                sum(_numbers(rows)[end - WINDOW : end])
                for end in range(WINDOW, len(rows) + 1, WINDOW)
            ],
        ),
        Feature(
            "sliding windows of items", "sliding", ("buffer(n, 1)", "#length", "countWindow(n, 1)"),
            lambda table: _values(qre.sliding(value, WINDOW, qre.sum()), table)[WINDOW:],
            lambda rows: [
                sum(_numbers(rows)[end - WINDOW : end]) for end in range(WINDOW, len(rows) + 1)
            ][1:],
        ),
        Feature(
            "tumbling windows of time", "split at ticks",
            ("buffer(time)", "#time_batch", "TumblingEventTimeWindows"),
            lambda table: _values(qre.iter_last(pane), table),
            lambda rows: [sum(values) for values in _panes(rows)],
        ),
        Feature(
            "sliding windows of time", "sliding over ticks",
            ("buffer(time, skip)", "#time", "SlidingEventTimeWindows"),
            lambda table: _values(qre.sliding(pane, 2, qre.sum()), table)[1:],
            lambda rows: [
                sum(map(sum, _panes(rows)[end - 2 : end]))
                for end in range(2, len(_panes(rows)) + 1)
            ],
        ),
        Feature(
            "regular patterns with values", "split, iterate, either",
            ("", "match_recognize", "CEP, without values of parts"),
            lambda table: _values(
                qre.iter_last(
                    qre.split(
                        qre.match(m.star()), qre.atom(tick, lambda item: item.v), qre.right
                    )
                ),
                table,
            ),
            lambda rows: [row["v"] for row in rows if row["type"] == "tick"],
        ),
        Feature(
            "approximate median", "approx_median", ("", "", ""),
            lambda table: [  # within one per cent, of numbers up to 10
                round(number)
                for number in _values(qre.iterate1(value, qre.approx_median(0.01)), table)
            ],
            lambda rows: [median_low(_numbers(rows)[: end + 1]) for end in range(len(rows))],
        ),
        Feature(
            "approximate count in a window", "approx_count_in_window", ("", "", ""),
            lambda table: _values(
                qre.approx_count_in_window(
                    qre.atom(), WINDOW, lambda item: item.v > 5, 0.01
                ),
                table,
            ),
            lambda rows: [
                sum(v > 5 for v in _numbers(rows)[max(0, end - WINDOW) : end])
                for end in range(1, len(rows) + 1)
            ],
        ),
    ]  # fmt: skip
    return {f"({number})": feature for number, feature in enumerate(listed, start=1)}


PARTS: Parts = {"features": [*features()]}


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:  # noqa: ARG001 - always fast
    """Run all transformations or some; AssertionError where values are not the expected ones."""
    table = events()
    rows = []
    for number, feature in features().items():
        if not is_chosen(number, PARTS["features"], only):
            continue
        found, expected = feature.values(table), feature.expected(table.to_pylist())
        if found != expected:
            raise AssertionError(f"{feature.name}: {found} instead of {expected}")
        names = dict(zip(SYSTEMS, (feature.elsinore, *feature.others), strict=True))
        rows.append({"": number, "transformation": feature.name, **names})
    return Figure(
        title="Transformations of streams that engines have of their own",
        table=pa.Table.from_pylist(rows),
        remarks=[
            f"The paper: {PAPER}.",
            f"Found: Elsinore has all {len(rows)}; each was run, and its values compared.",
        ],
        draw=lambda picture: draw(picture, rows),
        size=(9.0, 4.6),
    )


def draw(picture: Picture, rows: Sequence[dict[str, Any]]) -> None:
    """Draw the table: what a system calls a transformation, or a dash."""
    axes = picture.subplots()
    axes.set_axis_off()
    columns = ["transformation", *SYSTEMS]
    cells = [
        [f"{row['']} {row['transformation']}", *(row[s] or "–" for s in SYSTEMS)] for row in rows
    ]
    table = axes.table(cells, colLabels=columns, loc="center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    table.auto_set_column_width(range(len(columns)))
    table.scale(1, 1.4)
    for (row, column), cell in table.get_celld().items():
        cell.set_linewidth(0.3)
        if row > 0 and column > 0:
            cell.set_facecolor("#FFFFFF" if cells[row - 1][column] == "–" else "#DCEAF5")
