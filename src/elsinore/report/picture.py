"""Drawing panels of bursts with Matplotlib, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import SetupError
from elsinore.report.bursts import Bursts, Panel
from elsinore.runtime.drafts import draft
from elsinore.runtime.times import MICROSECONDS, TimeKind

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
except ImportError as error:
    raise SetupError(
        "Pictures are drawn by Matplotlib, which is not installed. Install it with: "
        "pip install 'elsinore[report]'"
    ) from error

# Two colours that colour-blind people distinguish (Okabe and Ito).
SHARED, SINGLE = "#0072B2", "#E69F00"
WIDTH, HEIGHT = 14.0, 3.2  # inches, of the picture and of a panel
DOTS = 110  # per inch
MOST_PANELS = 16  # a picture with more is too large


def draw(
    panels: Sequence[Panel], kind: TimeKind, path: Path, *, overwrite: bool = True
) -> tuple[Path, ...]:
    """Draw panels below one another; return the files, `path` with .png and .svg.

    Left, bars of the events in each burst, coloured by whether it was shared; right, the benefit
    that was expected of sharing it. At most the first `MOST_PANELS` are drawn. Equal panels give
    equal files. Raises OutputError if they cannot be written, or exist without `overwrite`.
    """
    drawn = panels[:MOST_PANELS]
    figure = Figure(figsize=(WIDTH, HEIGHT * len(drawn) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(drawn), 2, squeeze=False)
    for panel, (left, right) in zip(drawn, rows, strict=True):
        right.sharex(left)
        left.set_title(panel.title, loc="left", fontsize=9, parse_math=False)
        right.set_title("Benefit expected of sharing", loc="left", fontsize=9)
        _bars(left, panel.bursts, kind)
        _benefit(right, panel.bursts, kind)
        for axes in (left, right):
            _time_axis(axes, kind)
    handles = [Patch(color=SHARED, label="shared"), Patch(color=SINGLE, label="not shared")]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return save(figure, path, overwrite=overwrite)


def _bars(axes: Axes, bursts: Bursts, kind: TimeKind) -> None:
    left, width = _places(bursts.time, kind), _widths(bursts, kind)
    label = "events in bursts, by bin" if bursts.binned else "events in the burst"
    align: Literal["edge", "center"] = "edge" if bursts.binned else "center"
    shared, single = bursts.shared, bursts.single
    axes.bar(left, single, width, align=align, color=SINGLE, linewidth=0)
    axes.bar(left, shared, width, bottom=single, align=align, color=SHARED, linewidth=0)
    axes.set_ylabel(label, fontsize=8)


def _benefit(axes: Axes, bursts: Bursts, kind: TimeKind) -> None:
    axes.axhline(0, color="black", linewidth=0.8)
    if bursts.binned:
        middle = _places(bursts.time, kind) + _widths(bursts, kind) / 2
        axes.vlines(middle, bursts.least, bursts.greatest, color="#999999", linewidth=0.6)
        axes.plot(middle, bursts.benefit, color="black", linewidth=0.8)
        axes.set_ylabel("mean, least to greatest", fontsize=8)
    else:
        colours = np.where(bursts.shared > 0, SHARED, SINGLE)
        axes.scatter(_places(bursts.time, kind), bursts.benefit, s=8, c=list(colours), linewidths=0)
        axes.set_ylabel("benefit", fontsize=8)


def _places(micros: NDArray[np.int64], kind: TimeKind) -> NDArray[np.float64]:
    """Return times for Matplotlib: days since the epoch, or in the input's unit."""
    places: NDArray[np.float64] = micros / _per_unit(kind)
    return places


def _widths(bursts: Bursts, kind: TimeKind) -> NDArray[np.float64]:
    """Return the widths of bars: those of bins, or a visible width for single bursts."""
    if bursts.binned:
        return _places(bursts.until - bursts.time, kind)
    times = bursts.time
    span = int(times[-1] - times[0]) if len(times) > 1 else 0
    return np.full(len(times), max(span, 1) / max(200, 2 * len(times)) / _per_unit(kind))


def _per_unit(kind: TimeKind) -> int:
    if kind.form in {"integer", "float"}:
        return MICROSECONDS[kind.unit]
    return 86_400_000_000


def _time_axis(axes: Axes, kind: TimeKind) -> None:
    axes.tick_params(labelsize=8)
    axes.margins(x=0.01)
    if kind.form in {"integer", "float"}:
        axes.set_xlabel(f"time ({kind.unit})", fontsize=8)
        return
    locator = AutoDateLocator(tz=kind.zone)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=kind.zone)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)


def save(figure: Figure, path: Path, *, overwrite: bool) -> tuple[Path, ...]:
    """Write a picture as PNG and SVG; equal pictures give equal files."""
    places = (path.with_suffix(".png"), path.with_suffix(".svg"))
    with draft(places[0], overwrite=overwrite) as file:
        figure.savefig(file, dpi=DOTS, format="png")
    with (
        mpl.rc_context({"svg.hashsalt": "elsinore"}),
        draft(places[1], overwrite=overwrite) as file,
    ):
        figure.savefig(file, metadata={"Date": None}, format="svg")
    return places
