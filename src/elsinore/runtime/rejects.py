"""Unusable events: the reasons, and raising an error or setting the events aside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_scalar
from elsinore.errors import InputError, is_on_the_command_line, option
from elsinore.model.spark_sql import quoted
from elsinore.runtime.result import shown_values
from elsinore.runtime.schema import plain_type
from elsinore.runtime.times import reads_as_time
from elsinore.words import count

REASON_COLUMN = "reject_reason"
NULL_TIME = "null time"
NULL_TYPE = "null type"
UNPARSEABLE_TIME = "unparseable time"
NOT_A_NUMBER = "time is not a number"
TIME_OUT_OF_RANGE = "time out of range"
NULL_END = "unusable end of its time"
ENDS_BEFORE = "time that ends before it begins"
ODD_LAW = "probabilities of its time that do not add up to 1"
LATE = "late: before the watermark"  # of live streams, as is the next one
AHEAD = "time too far ahead of the clock"

# The error that stops a Spark job at the first unusable event, with the reason.
REFUSAL = (
    "An event cannot be used: {}. Correct the input, drop such events, or run without them "
    "(rejects)."
)

# Types whose values are times unless they are out of range.
IN_RANGE = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_temporal)
SHOWN_ROWS = 5
SHOWN_WIDTH = 200  # characters of a row in an error


def unusable_reasons(
    time: pa.Array | pa.ChunkedArray,
    micros: pa.Array,
    event_type: pa.Array | pa.ChunkedArray | None = None,
) -> pa.Array:
    """Return the reason why each event cannot be used, null for usable events.

    `time` is the column as it was read and `micros` the result of `to_ticks`; a value that
    became null is unusable. An event with several faults shows the first: its time, then its type.

    >>> times = pa.array(["1e99", "soon", None])
    >>> unusable_reasons(times, pa.nulls(3, pa.int64())).to_pylist()
    ['time out of range', 'unparseable time', 'null time']
    """
    reasons = np.full(len(micros), None, dtype=object)
    if event_type is not None:
        reasons[_mask(event_type.is_null())] = NULL_TYPE
    value_type = plain_type(time.type)
    lost = _mask(micros.is_null())
    if pa.types.is_floating(value_type):
        reasons[lost] = TIME_OUT_OF_RANGE
        reasons[_mask(pc.fill_null(pc.is_nan(time), to_scalar(False)))] = NOT_A_NUMBER
    elif any(kind(value_type) for kind in IN_RANGE):
        reasons[lost] = TIME_OUT_OF_RANGE
    else:
        reasons[lost] = UNPARSEABLE_TIME
        reasons[lost & _mask(reads_as_time(time))] = TIME_OUT_OF_RANGE
    reasons[_mask(time.is_null())] = NULL_TIME
    return to_arrow(reasons, pa.string())


def reason_column(names: Iterable[str]) -> str:
    """Return a name for the column of reasons that events with columns of these names lack.

    Case is ignored, as Spark does.

    >>> reason_column(["time", "type"]), reason_column(["Reject_Reason"])
    ('reject_reason', 'reject_reason_2')
    """
    lowered_names = {name.casefold() for name in names}
    name, number = REASON_COLUMN, 1
    while name in lowered_names:
        number += 1
        name = f"{REASON_COLUMN}_{number}"
    return name


def set_aside(
    table: pa.Table, reasons: pa.Array, *, allowed: bool, time: str = "time"
) -> tuple[pa.Table, pa.Table]:
    """Return the usable events and the unusable ones, these with a last column `reject_reason`.

    If the input already has a column of that name, the new one is `reject_reason_2` and so on.
    Raise InputError, with the count, the reasons and the first five rows, if there are unusable
    events and these are not `allowed` (no place was named to put them); `time` is the column, or
    SQL expression, that the times were read from.

    >>> events = pa.table({"time": [1, None], "type": ["A", "B"]})
    >>> kept, rejected = set_aside(events, pa.array([None, "null time"]), allowed=True)
    >>> kept.num_rows, rejected.to_pylist()
    (1, [{'time': None, 'type': 'B', 'reject_reason': 'null time'}])
    """
    unusable = reasons.is_valid()
    if not allowed and pc.any(unusable).as_py():
        raise unusable_error(table, reasons, time)
    rejected = table.filter(unusable)
    name = reason_column(table.column_names)
    rejected = rejected.append_column(name, reasons.filter(unusable).cast(pa.string()))
    return table.filter(pc.invert(unusable)), rejected


def unusable_error(table: pa.Table, reasons: pa.Array, time: str) -> InputError:
    """Return the error of unusable events: their number, reasons and first rows, counted from 1.

    `reasons` [row] are null for usable events; `time` is the column, or SQL expression, of times.
    """
    rows = np.flatnonzero(_mask(reasons.is_valid()))
    why = reasons_text(reasons)
    lines = [f"{count(len(rows), 'event')} of {table.num_rows:,} cannot be used ({why})."]
    lines.append("The first of them:" if len(rows) > 1 else "It is:")
    for row in rows[:SHOWN_ROWS].tolist():
        values = (shown_values(column)[0] for column in table.slice(row, 1).columns)
        cells = zip(table.column_names, values, strict=True)
        row_text = ", ".join(f"{name}={_cell_text(value)}" for name, value in cells)
        if len(row_text) > SHOWN_WIDTH:
            row_text = row_text[: SHOWN_WIDTH - 3] + "..."
        lines.append(f"  row {row + 1} ({reasons[row].as_py()}): {row_text}")
    lines.append(unusable_remedy(set(reasons.drop_null().to_pylist()), time))
    return InputError("\n".join(lines))


def with_ragged_rows(rejected: pa.Table, reasons: Sequence[str]) -> pa.Table:
    """Return rejected events together with rows of a wrong number of cells, for these reasons.

    The attributes of such rows are null: which cell belongs to which column is unknown.

    >>> rejected = pa.table({"time": [None], "reject_reason": ["null time"]})
    >>> with_ragged_rows(rejected, ["1 cell where there are 2 columns"]).num_rows
    2
    """
    columns = [pa.nulls(len(reasons), field.type) for field in rejected.schema]
    columns[-1] = to_arrow(list(reasons), rejected.schema.types[-1])
    return pa.concat_tables([rejected, pa.table(columns, schema=rejected.schema)])


def reasons_text(reasons: pa.Array | pa.ChunkedArray) -> str:
    """Return a text with the number of events for each reason.

    >>> reasons_text(pa.array(["null time", None, "null time", "null type"]))
    '2 with null time, 1 with null type'
    """
    counts = pc.value_counts(reasons.drop_null()).to_pylist()
    return ", ".join(f"{reason['counts']:,} with {reason['values']}" for reason in counts)


def unusable_remedy(reasons: Collection[str], time: str = "time") -> str:
    """Return the remedy for events that are unusable for these reasons.

    `time` is the column, or SQL expression, that the times were read from.
    """
    if UNPARSEABLE_TIME in reasons:
        column = time if time.isidentifier() or "(" in time else quoted(time)
        text = _quoted(f"TRY_TO_TIMESTAMP({column}, 'dd/MM/yyyy')")
        return (
            "Times in text are read as ISO 8601, such as '2024-01-31T12:00:00', or as numbers "
            "where at least half of them are. If they have another format, such as 31/01/2024, "
            f"name it with {option('time', text)}.\n{unusable_remedy(())}"
        )
    if TIME_OUT_OF_RANGE in reasons:
        return (
            f"Times that are numbers count seconds unless {option('time_unit')} says ms, us or ns; "
            "where a time or a window has nanoseconds, times are of the years 1678 to 2261."
            f"\n{unusable_remedy(())}"
        )
    if AHEAD in reasons:
        return (
            f"{option('ahead')} limits how far times may be ahead of this machine's clock. "
            f"{unusable_remedy(())}"
        )
    if is_on_the_command_line():
        where = option("rejects", "PATH")
        return f"Correct them, or name a file for them with {where}, and the run continues."
    return "Correct them, or run with rejects=True, which sets them aside."


def _quoted(text: str) -> str:
    text = text.replace("`", "\\`") if is_on_the_command_line() else text  # not the shell's
    return f'"{text}"' if is_on_the_command_line() else text


def _cell_text(value: object) -> str:
    return "null" if value is None else str(value)


def _mask(values: pa.Array | pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(values)
