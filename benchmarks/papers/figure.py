"""A figure of a paper as it was measured: a table, what the paper says, and a picture."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogFormatter
from rich.console import Console
from rich.table import Table

from elsinore.errors import OutputError

DOTS = 110  # to the inch
PIPE_WIDTH = 140  # columns of a table that goes into a file or a pipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured: a table, whose texts are shown as they are, and remarks below it.

    `draw` fills an empty picture; `shown` is printed in place of the table, where that is long.
    """

    title: str
    table: pa.Table
    remarks: Sequence[str]
    draw: Callable[[Picture], None]
    size: tuple[float, float] = (12.0, 4.0)  # inches
    shown: pa.Table | None = None


def print_table(figure: Figure) -> None:
    """Print the table and the remarks."""
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    shown = Table(title=figure.title, title_justify="left")
    table = figure.table if figure.shown is None else figure.shown
    for field in table.schema:
        is_text = pa.types.is_string(field.type)
        shown.add_column(field.name, justify="left" if is_text else "right")
    for row in table.to_pylist():
        shown.add_row(*(_shown(value) for value in row.values()))
    console.print(shown)
    for remark in figure.remarks:
        console.print(f"- {remark}", highlight=False)


def check_free(files: Sequence[Path], *, overwrite: bool) -> None:
    """Make the files' folder. Raises OutputError where one exists and may not be replaced."""
    for file in files:
        if file.exists() and not overwrite:
            raise OutputError(f"{file} exists; --overwrite replaces it.")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{file.parent} cannot be made: {error.strerror}") from error


def write(figure: Figure, files: Sequence[Path]) -> None:
    """Write the table as CSV, and the picture."""
    table, *pictures = files
    pa_csv.write_csv(figure.table, table)
    picture = Picture(figsize=figure.size, layout="constrained")
    FigureCanvasAgg(picture)
    figure.draw(picture)
    for file in pictures:
        picture.savefig(file, dpi=DOTS, metadata={"Date": None} if file.suffix == ".svg" else {})
    print(f"written: {', '.join(map(str, files))}")


class PlainLabels(LogFormatter):
    """Labels of a logarithmic axis: 0.4, 2, 50 k, 10 M; only those that have room."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick, or none."""
        return plain(x) if super().__call__(x, pos) else ""


def plain(value: float) -> str:
    """Return a number as axes have it.

    >>> plain(0.4), plain(2000), plain(1e7)
    ('0.4', '2 k', '10 M')
    """
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def label_plainly(axes: Axes) -> None:
    """Give the logarithmic y-axis plain labels."""
    axes.yaxis.set_major_formatter(PlainLabels())
    axes.yaxis.set_minor_formatter(PlainLabels())


def mark_missing(axes: Axes, places: Sequence[float], colour: str, number: int = 0) -> None:
    """Mark points without a value at the top of a panel; each system of a `number` of its own."""
    for place in places:
        axes.plot([place], [1.0 - 0.035 * number], "x", color=colour, ms=7, clip_on=False,
                  transform=axes.get_xaxis_transform())  # fmt: skip


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
