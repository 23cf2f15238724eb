"""What the figures of the SASE++ paper share: streams, time budgets, panels of curves.

A *panel* has a curve for each system, both axes as the paper has them. A system that passes its
time budget at a point has no value there: the table says so, and the picture has a cross at its
foot. No line is drawn across a point without a value.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.processes import seconds_of
from elsinore.errors import ElsinoreError

PAPER = "SASE++ (Zhang, Diao and Immerman, SIGMOD 2014)"
OVER = "over budget"
BELOW = "below the spread of runs"  # a difference that is too small to be measured
TURN = 0.02  # seconds between looks at what a run has spent
PATIENCE = 20  # seconds by the clock for each of the budget, where other programs run too
COLOURS = {
    "SASE+": "#D55E00",
    "ZStream": "#CC79A7",
    "postponing": "#E69F00",
    "on-the-fly": "#009E73",
    "collapsed": "#56B4E9",
    "Elsinore": "#0072B2",
}
MARKERS = "osD^vP*X"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run gave, and the processor seconds that it took."""

    value: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is nothing: the time budget, or what the engine said."""

    why: str


def limited(run: Callable[[], Any], budget: float) -> Spent | Refused:
    """Return what `run` gives within so many processor seconds, in a process forked for it.

    A run that waits for what never comes is ended after `PATIENCE` times as long by the clock. A
    limit of the system (RLIMIT_CPU) would make the processor's clock tick every 4 ms only.
    What is compiled already is compiled there too: warm kernels up first. What `run` gives is
    pickled. An error of Elsinore's, such as too many runs at once, is a reason too.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_into, args=(sender, run), daemon=True)
    process.start()
    sender.close()
    try:
        until = time.monotonic() + PATIENCE * budget
        while not receiver.poll(TURN):
            if seconds_of(process.pid) > budget or time.monotonic() > until:
                return Refused(OVER)
        given = receiver.recv()
    except EOFError:
        return Refused("its process ended without a result")
    finally:
        process.kill()
        process.join()
    if isinstance(given, Exception):
        raise given
    return given  # type: ignore[no-any-return]


def _into(sender: Connection, run: Callable[[], Any]) -> None:
    start = time.process_time()
    try:
        value = run()
        sender.send(Spent(value, time.process_time() - start))
    except ElsinoreError as error:
        sender.send(Refused(str(error)))
    except Exception as error:
        sender.send(error)


def stream(number: int, shares: Mapping[str, float], *, seed: int = 1) -> pa.Table:
    """Return events one time unit apart: `time`, `type` by its share, the rest X, and `v`.

    `v` is uniform in [0, 1).

    >>> stream(4, {"A": 0.5, "B": 0.5}).column("time").to_pylist()
    [0, 1, 2, 3]
    """
    draw = np.random.default_rng(seed)
    names = [*shares, "X"]
    chances = [*shares.values(), max(0.0, 1.0 - sum(shares.values()))]
    types = draw.choice(len(names), number, p=np.array(chances) / sum(chances))
    return pa.table(
        {
            "time": np.arange(number, dtype=np.int64),
            "type": pa.array(names).take(pa.array(types)),
            "v": draw.random(number),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel of a figure: curves of `y` over `x`, taken from rows with these columns.

    Its title begins with the letter that the paper gives it, such as `(a) `.
    """

    name: str  # rows with this in their column `panel` belong to it
    title: str
    x: str
    y: str
    log_x: bool = False
    log_y: bool = True

    @property
    def letter(self) -> str:
        """Return the panel's letter.

        >>> Panel(name="W", title="(c) Vary W", x="W", y="ms").letter
        'c'
        """
        return self.title[1]


def letters(panels: Sequence[Panel]) -> list[str]:
    """Return the letters of panels, which are the parts of a figure."""
    return [panel.letter for panel in panels]


def draw(
    picture: Picture, panels: Sequence[Panel], rows: Sequence[Mapping[str, Any]], *, across: int
) -> None:
    """Draw panels that have rows, `across` beside each other, with a curve for each system.

    Rows have `panel`, `system` and each panel's columns. None stands where a system has no value;
    `note` says why. Panels with the same curves have one legend, in the first of them.
    """
    measured = {row["panel"] for row in rows}
    panels = [panel for panel in panels if panel.name in measured]
    across = min(across, max(len(panels), 1))
    places = list(picture.subplots(-(-len(panels) // across), across, squeeze=False).flat)
    explained: set[tuple[str, ...]] = set()
    for panel, axes in zip(panels, places, strict=False):
        mine = [row for row in rows if row["panel"] == panel.name]
        systems = tuple(dict.fromkeys(row["system"] for row in mine))
        crossed = 0  # systems with crosses, which are above one another
        for number, system in enumerate(systems):
            rows_of = [row for row in mine if row["system"] == system]
            _curve(axes, panel, system, rows_of, number)
            crossed += _cross(axes, panel, rows_of, COLOURS.get(system, f"C{number}"), crossed)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(panel.x, fontsize=8)
        axes.set_ylabel(panel.y, fontsize=8)
        if panel.log_x:
            axes.set_xscale("log")
        if panel.log_y:
            axes.set_yscale("log")
        axes.tick_params(which="both", labelsize=7)
        axes.grid(linewidth=0.3)
        if systems not in explained:
            explained.add(systems)
            axes.legend(fontsize=7, framealpha=0.7)
    for axes in places[len(panels) :]:
        axes.set_axis_off()


def _curve(
    axes: Axes, panel: Panel, system: str, rows: Sequence[Mapping[str, Any]], number: int
) -> None:
    if all(row[panel.y] is None and not row["note"] for row in rows):
        return  # a system without such values, as the engine has no runs
    colour = COLOURS.get(system, f"C{number}")
    ordered = sorted(rows, key=lambda row: row[panel.x])
    axes.plot(
        [row[panel.x] for row in ordered],
        [_height(row[panel.y], panel) for row in ordered],
        marker=MARKERS[number % len(MARKERS)],
        markersize=4,
        linewidth=1.1,
        color=colour,
        label=system,
    )


def _cross(
    axes: Axes, panel: Panel, rows: Sequence[Mapping[str, Any]], colour: str, number: int
) -> bool:
    """Draw crosses where a system has no value; return whether there are such points."""
    over = [row[panel.x] for row in rows if row[panel.y] is None and row["note"] not in {"", BELOW}]
    (crosses,) = axes.plot(
        over,
        [0.01 + 0.03 * number] * len(over),
        marker="x",
        linestyle="none",
        color=colour,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
    )
    crosses.set_in_layout(False)
    return bool(over)


def _height(value: float | None, panel: Panel) -> float:
    """Return where a value is drawn: nowhere if it is absent, or 0 on a logarithmic axis."""
    return math.nan if value is None or (panel.log_y and value <= 0) else value
