"""One window's graphlets and snapshots: as tables, and drawn as in HAMLET's Figures 4 to 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from elsinore.errors import InputError
from elsinore.report.picture import SHARED, SINGLE, save
from elsinore.runtime.times import TimeKind, from_ticks
from elsinore.trends.graph import EventCount, Graphlet, HamletGraph, Snapshot
from elsinore.words import count, listed

MOST_MOMENTS = 40  # times that are drawn; the tables have all
MOST_ROWS = 24  # of the table of snapshots in the picture
LONGEST = 12  # letters of a form or a number under an event
ROW, COLUMN = 1.5, 0.95  # inches
DIGITS = 2**63  # greater numbers are written as texts


def graphlets_table(graph: HamletGraph, kind: TimeKind) -> pa.Table:
    """Return a row per event and graphlet: its count as a form, and each query's count."""
    rows = [(graphlet, event) for graphlet in graph.graphlets for event in graphlet.events]
    queries = list(dict.fromkeys(name for _, event in rows for name in event.counts))
    times = pa.array([event.time for _, event in rows], pa.int64())
    return pa.table(
        {
            "graphlet": pa.array([graphlet.name for graphlet, _ in rows], pa.string()),
            "type": pa.array([graphlet.type for graphlet, _ in rows], pa.string()),
            "shared": pa.array([graphlet.shared for graphlet, _ in rows], pa.bool_()),
            "event": pa.array([event.name for _, event in rows], pa.string()),
            "time": from_ticks(times, kind),
            "count": pa.array(
                [None if event.form is None else str(event.form) for _, event in rows], pa.string()
            ),
        }
        | {
            f"of {name}": _numbers([event.counts.get(name) for _, event in rows])
            for name in queries
        }
    )


def snapshots_table(graph: HamletGraph) -> pa.Table:
    """Return a row per snapshot: the place of its creation, and its value for each query."""
    queries = list(dict.fromkeys(name for snapshot in graph.snapshots for name in snapshot.values))
    return pa.table(
        {
            "snapshot": pa.array([snapshot.name for snapshot in graph.snapshots], pa.string()),
            "graphlet": pa.array([snapshot.graphlet for snapshot in graph.snapshots], pa.string()),
            "event": pa.array([snapshot.event for snapshot in graph.snapshots], pa.string()),
        }
        | {
            name: _numbers([snapshot.values.get(name) for snapshot in graph.snapshots])
            for name in queries
        }
    )


def _numbers(values: Sequence[int | None]) -> pa.Array:
    """Return integers of any size, as texts if one exceeds 64 bits."""
    if any(value is not None and value >= DIGITS for value in values):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array(values, pa.int64())


def draw_graph(graph: HamletGraph, path: Path, *, overwrite: bool = True) -> tuple[Path, ...]:
    """Draw graphlets as boxes of events, a row for each type, and the table of snapshots below.

    At most the first `MOST_MOMENTS` times are drawn. Returns the files, `path` with .png and
    .svg. Raises OutputError if they cannot be written, or exist without `overwrite`, and InputError
    if no event ends a trend.
    """
    places = _columns(graph)
    if not places:
        raise InputError("There are no graphlets in these windows: no event ends a trend.")
    drawn_graphlets = [
        item for item in (_within(item, places) for item in graph.graphlets) if item.events
    ]
    rows = _rows(drawn_graphlets, places)
    names = {item.name for item in drawn_graphlets}
    snapshots = [item for item in graph.snapshots if item.graphlet in names][:MOST_ROWS]
    columns, lines = max(places.values()) + 1, max(rows.values()) + 1
    table = 0.28 * (len(snapshots) + 2) if snapshots else 0.4
    width = max(8.0, COLUMN * (columns + 2))
    figure = Figure(figsize=(width, ROW * lines + table + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes, table_axes = figure.subplots(2, 1, height_ratios=[ROW * lines + 0.4, table])
    axes.set_title(_title(graph, columns), loc="left", fontsize=9, parse_math=False)
    axes.set_xlim(-1.0, columns - 0.4)
    axes.set_ylim(-lines + 0.35, 0.7)
    for place in (axes, table_axes):
        place.axis("off")
    for graphlet in drawn_graphlets:
        _draw_graphlet(axes, graphlet, places, -rows[graphlet.name], snapshots)
    _draw_origins(axes, drawn_graphlets, places, rows)
    if snapshots:
        _draw_table(table_axes, snapshots)
    return save(figure, path, overwrite=overwrite)


def _columns(graph: HamletGraph) -> dict[str, int]:
    """Return the column of each event, by name; simultaneous events share a column."""
    events = [event for graphlet in graph.graphlets for event in graphlet.events]
    moments: dict[str, int] = {}
    for event in sorted(events, key=lambda event: event.row):
        moments.setdefault(_moment(event), len(moments))
    return {
        event.name: moments[_moment(event)]
        for event in events
        if moments[_moment(event)] < MOST_MOMENTS
    }


def _moment(event: EventCount) -> str:
    return "".join(letter for letter in event.name if letter.isdigit())


def _within(graphlet: Graphlet, places: dict[str, int]) -> Graphlet:
    events = tuple(event for event in graphlet.events if event.name in places)
    return replace(graphlet, events=events)


def _rows(graphlets: Sequence[Graphlet], places: dict[str, int]) -> dict[str, int]:
    """Return the line of each graphlet: a line per type, more for simultaneous graphlets."""
    ends: dict[str, list[int]] = {}  # of each type, the last occupied column of each of its lines
    line_of: dict[str, tuple[str, int]] = {}
    for graphlet in graphlets:
        columns = [places[event.name] for event in graphlet.events]
        lines = ends.setdefault(graphlet.type, [])
        line = next((n for n, end in enumerate(lines) if end < min(columns)), len(lines))
        lines[line : line + 1] = [max(columns)]
        line_of[graphlet.name] = graphlet.type, line
    first, total = {}, 0
    for kind, lines in ends.items():
        first[kind] = total
        total += len(lines)
    return {name: first[kind] + line for name, (kind, line) in line_of.items()}


def _draw_graphlet(
    axes: Axes,
    graphlet: Graphlet,
    places: dict[str, int],
    line: int,
    snapshots: Sequence[Snapshot],
) -> None:
    columns = [places[event.name] for event in graphlet.events]
    left, right = min(columns) - 0.42, max(columns) + 0.42
    colour = SHARED if graphlet.shared else SINGLE
    axes.add_patch(
        FancyBboxPatch(
            (left, line - 0.38),
            right - left,
            0.68,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=colour,
            alpha=0.16,
            edgecolor="none",
            zorder=0,
        )
    )
    title = f"{graphlet.name} of {listed(graphlet.queries, 4)}"
    axes.text(left + 0.04, line + 0.34, title, fontsize=7, va="bottom", parse_math=False)
    if graphlet.form is not None and len(graphlet.events) > 1:
        total = f"sum: {_short(str(graphlet.form))}"
        axes.text(left + 0.04, line - 0.42, total, fontsize=7, va="top", parse_math=False)
    if graphlet.opening is not None:
        axes.text(
            left - 0.16,
            line + 0.05,
            graphlet.opening,
            fontsize=9,
            style="italic",
            ha="center",
            va="center",
            bbox={"boxstyle": "square,pad=0.25", "facecolor": "white", "edgecolor": colour},
        )
    snapshot_names = {
        snapshot.event: snapshot.name
        for snapshot in snapshots
        if snapshot.graphlet == graphlet.name
    }
    for event in graphlet.events:
        column = places[event.name]
        is_snapshot = event.name in snapshot_names
        axes.scatter(
            [column],
            [line + 0.05],
            s=620,
            facecolors="white",
            edgecolors=colour,
            linewidths=2.2 if is_snapshot else 1.0,
            linestyles="--" if is_snapshot else "-",
            zorder=2,
        )
        name = _short(event.name)
        axes.text(column, line + 0.05, name, fontsize=7, ha="center", va="center", parse_math=False)
        axes.text(column, line - 0.27, _label(event), fontsize=7, ha="center", va="center")


def _label(event: EventCount) -> str:
    """Return the label of an event: its form, or the queries' counts."""
    if event.form is not None:
        return _short(str(event.form))
    return _short(", ".join(str(number) for number in dict.fromkeys(event.counts.values())))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _draw_origins(
    axes: Axes, graphlets: Sequence[Graphlet], places: dict[str, int], rows: dict[str, int]
) -> None:
    """Draw arrows to each graphlet's snapshot from the graphlets that determine its values.

    These are the last shared graphlet of the type and all graphlets since (Figure 5(b)).
    """
    for number, graphlet in enumerate(graphlets):
        if graphlet.opening is None:
            continue
        target = min(places[event.name] for event in graphlet.events) - 0.6, -rows[graphlet.name]
        queries = _names(graphlet)
        for before in reversed(graphlets[:number]):
            if not queries & _names(before):
                continue
            last = max(places[event.name] for event in before.events)
            axes.annotate(
                "",
                xy=(target[0], target[1] + 0.05),
                xytext=(last + 0.42, -rows[before.name]),
                arrowprops={"arrowstyle": "-|>", "color": "#777777", "linewidth": 0.7},
                zorder=1,
            )
            if before.shared and before.type == graphlet.type:
                break


def _names(graphlet: Graphlet) -> set[str]:
    return {name.partition(".")[0] for name in graphlet.queries}


def _draw_table(axes: Axes, snapshots: Sequence[Snapshot]) -> None:
    queries = list(dict.fromkeys(name for snapshot in snapshots for name in snapshot.values))
    cells = [
        [
            snapshot.name,
            snapshot.graphlet
            if snapshot.event is None
            else f"{snapshot.event} in {snapshot.graphlet}",
            *(_short(str(snapshot.values.get(name, ""))) for name in queries),
        ]
        for snapshot in snapshots
    ]
    titles = ["snapshot", "of", *(f"Query {name}" for name in queries)]
    table = axes.table(
        cells, colLabels=titles, loc="upper left", cellLoc="left", edges="horizontal"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    table.auto_set_column_width(list(range(len(titles))))


def _title(graph: HamletGraph, moments: int) -> str:
    shared = sum(graphlet.shared for graphlet in graph.graphlets)
    text = (
        f"{count(len(graph.graphlets), 'graphlet')}, {shared:,} of them shared; "
        f"{count(len(graph.snapshots), 'snapshot')}"
    )
    return f"{text} (the first {moments} moments)" if moments == MOST_MOMENTS else text
