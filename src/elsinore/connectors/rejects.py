"""Rejected records of live sources, in the same columns for all sources and faults."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from elsinore.arrow import no_table, to_arrow
from elsinore.errors import InputError, option
from elsinore.runtime.outputs import json_cells
from elsinore.runtime.rejects import REASON_COLUMN
from elsinore.words import count

# `partition` and `offset` locate a Kafka message; of a file, `offset` is the line of a
# JSON file or the row of a CSV file, from 1.
REJECTS = pa.schema(
    [
        (REASON_COLUMN, pa.string()),
        ("source", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("value", pa.string()),
    ]
)
SHOWN = 5  # rejected records that an error shows
SHOWN_WIDTH = 200  # characters of each


def no_rejects() -> pa.Table:
    """Return a table of rejects without rows."""
    return no_table(REJECTS)


def rejects_table(
    reasons: Sequence[str],
    source: str,
    values: Sequence[bytes | str | None],
    *,
    partition: int | None = None,
    offsets: Sequence[int | None],
) -> pa.Table:
    r"""Return rejected records as a table; bytes that are not UTF-8 are escaped as in Python.

    >>> rejects_table(["no object"], "t", [b"\xff"], offsets=[7]).column("value")[0].as_py()
    '\\xff'
    """
    texts = [
        value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
        for value in values
    ]
    columns = [
        to_arrow(list(reasons), pa.string()),
        to_arrow([source] * len(reasons), pa.string()),
        to_arrow([partition] * len(reasons), pa.int32()),
        to_arrow(list(offsets), pa.int64()),
        to_arrow(texts, pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=REJECTS)


def rejected_rows(
    table: pa.Table,
    reasons: pa.Array | pa.ChunkedArray,
    source: str,
    offsets: Sequence[int] | None = None,
) -> pa.Table:
    """Convert events that a run rejects (such as late ones) to rejects; the value is JSON.

    >>> late = pa.table({"time": [5], "type": ["A"]})
    >>> rejected_rows(late, pa.array(["late"]), "trips").to_pylist()[0]["value"]
    '{"time": 5, "type": "A"}'
    """
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    cells = [json_cells(column) for column in table.columns]
    values = [
        "{" + ", ".join(f"{name}: {cell}" for name, cell in zip(names, row, strict=True)) + "}"
        for row in zip(*cells, strict=True)
    ]
    places: Sequence[int | None] = [None] * len(values) if offsets is None else offsets
    return rejects_table(reasons.to_pylist(), source, values, offsets=places)


def rejects_of(table: pa.Table, source: str) -> pa.Table:
    """Convert rejected events of a run, whose last column has the reasons, to rejects."""
    columns = table.column_names
    return rejected_rows(table.select(columns[:-1]), table.column(columns[-1]), source)


def refuse(rejects: pa.Table) -> None:
    """Raise InputError with the count and the first rejects, if there are any.

    For runs without a destination for rejects.
    """
    if not rejects.num_rows:
        return
    first = "It is:" if rejects.num_rows == 1 else "The first of them:"
    lines = [f"{count(rejects.num_rows, 'record')} of the stream cannot be used. {first}"]
    for row in rejects.slice(0, SHOWN).to_pylist():
        place = "" if row["offset"] is None else f", {_place(row)}"
        value = row["value"] or ""
        excerpt = value if len(value) <= SHOWN_WIDTH else f"{value[: SHOWN_WIDTH - 3]}..."
        lines.append(f"  {row['source']}{place} ({row[REASON_COLUMN]}): {excerpt}")
    where = option("rejects", "PATH")
    lines.append(f"Name a folder for them with {where}, and the stream continues.")
    raise InputError("\n".join(lines))


def _place(row: dict[str, object]) -> str:
    if row["partition"] is None:
        return f"row {row['offset']}"
    return f"partition {row['partition']}, offset {row['offset']}"
