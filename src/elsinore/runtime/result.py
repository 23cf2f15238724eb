"""The result of one query: a pyarrow Table or a Spark DataFrame with common methods."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pyarrow as pa

from elsinore.errors import InputError, SetupError
from elsinore.words import count

SHOWN_ROWS = 20  # of a table in a notebook
SHOWN_COLUMNS = 12  # names in a representation


class Result:
    """A query's result, with all methods of its `frame`.

    `frame` is a pyarrow Table if the query ran in this process, and a lazily computed DataFrame if
    it runs on Spark. Besides the methods of these, results have `to_arrow`, `to_pandas`,
    `to_polars` and `to_pylist`, and are displayed in notebooks. Pass `frame`, or `to_arrow()`, to
    functions that check for one of these types.

    >>> result = Result("q", pa.table({"window_start": [0], "trends": [3.0]}))
    >>> result
    <q: 1 row of window_start, trends; in process>
    >>> result.to_pylist(), result.num_rows, result["trends"].to_pylist()
    ([{'window_start': 0, 'trends': 3.0}], 1, [3.0])
    """

    __slots__ = ("_frame", "_query")

    def __init__(self, query: str, frame: Any) -> None:
        self._query = query
        self._frame = frame

    @property
    def frame(self) -> Any:
        """The pyarrow Table or the Spark DataFrame."""
        return self._frame

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow Table; Spark computes and collects them."""
        return self.frame if isinstance(self.frame, pa.Table) else self.frame.toArrow()

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; Spark computes and collects them."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError as error:
            raise SetupError(
                "pandas is not installed. Install it with: pip install pandas"
            ) from error

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame; Spark computes and collects them."""
        try:
            import polars as pl  # noqa: PLC0415 - needed here only
        except ImportError as error:
            raise SetupError(
                "polars is not installed. Install it with: pip install polars"
            ) from error
        return pl.from_arrow(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dicts; Spark computes and collects them."""
        table = self.to_arrow()
        try:
            rows: list[dict[str, Any]] = table.to_pylist()
        except OverflowError as error:
            raise InputError(
                f"The rows of '{self._query}' have times outside of the years 1 to 9999, which "
                "Python's datetime does not support; use to_arrow()."
            ) from error
        return rows

    def __getattr__(self, name: str) -> Any:
        if name in Result.__slots__ or (name.startswith("__") and name != "__dataframe__"):
            raise AttributeError(name)  # copying and pickling look for such names
        return getattr(self.frame, name)

    def __getitem__(self, key: Any) -> Any:
        return self.frame[key]

    def __len__(self) -> int:
        return len(self.frame)

    def __bool__(self) -> bool:
        return not isinstance(self.frame, pa.Table) or self.frame.num_rows > 0

    def __eq__(self, other: object) -> bool:
        equal: bool = self.frame == (other.frame if isinstance(other, Result) else other)
        return equal

    def __hash__(self) -> int:
        return hash(self._query)

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self._query, self.frame)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = list(_names(self.frame))
        hidden = len(names) - SHOWN_COLUMNS
        column_names = ", ".join(names[:SHOWN_COLUMNS]) + (
            f" and {hidden} more" if hidden > 0 else ""
        )
        return (
            f"<{self._query}: {rows_text(self.frame)} of {column_names}; {engine_of(self.frame)}>"
        )

    def __str__(self) -> str:
        return str(self.frame)

    def _repr_html_(self) -> str:
        if isinstance(self.frame, pa.Table):
            head, total = self.frame.slice(0, SHOWN_ROWS), self.frame.num_rows
        else:
            head = self.frame.limit(SHOWN_ROWS + 1).toArrow()
            total = head.num_rows
            head = head.slice(0, SHOWN_ROWS)
        hidden = total - head.num_rows
        more_rows = f"{hidden:,} more" if isinstance(self.frame, pa.Table) else "more rows"
        not_shown = f": {more_rows} not shown" if hidden else ""
        note = f"<caption>{escape(self._query)}{not_shown}</caption>"
        columns = [shown_values(column) for column in head.columns]
        return html_table(head.column_names, list(zip(*columns, strict=True)), note)


def shown_values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values; as text for times outside of Python's years 1 to 9999.

    >>> days = pa.array([2932897], pa.int32()).cast(pa.date32())
    >>> shown_values(pa.chunked_array([days.cast(pa.timestamp("s"))]))
    ['10000-01-01 00:00:00']
    """
    try:
        values: list[Any] = column.to_pylist()
    except OverflowError:
        from elsinore.runtime.outputs import json_cells  # noqa: PLC0415 - where needed

        nested = pa.types.is_nested(column.type)
        values = list(json_cells(column)) if nested else column.cast(pa.string()).to_pylist()
    return values


def rows_text(frame: Any) -> str:
    """Return the number of rows as text: "1 row"; "rows" if it is not computed yet."""
    if not isinstance(frame, pa.Table):
        return "rows"
    return count(frame.num_rows, "row")


def engine_of(frame: Any) -> str:
    """Return the engine that computes a result, in words."""
    return "in process" if isinstance(frame, pa.Table) else "on Spark, when asked for"


def html_table(names: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Return a table as HTML for notebooks.

    >>> html_table(["a<b"], [[None]])
    '<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td>null</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows
    )
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    return "null" if value is None else escape(str(value))


def _names(frame: Any) -> Sequence[str]:
    names: Sequence[str] = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    return names
