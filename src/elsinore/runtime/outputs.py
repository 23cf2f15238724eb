"""Writing a table of results as one file: Parquet, CSV or JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from elsinore.arrow import to_arrow
from elsinore.errors import InputError, did_you_mean
from elsinore.runtime.drafts import draft
from elsinore.runtime.sources import format_of

OutputFormat = Literal["parquet", "csv", "json"]

ROWS_AT_A_TIME = 65_536
# types with a JSON form that Elsinore defines
_SPELLED = (pa.types.is_timestamp, pa.types.is_decimal, pa.types.is_duration)
DIGITS = {"ms": 3, "us": 6, "ns": 9}


def write_table(
    table: pa.Table, path: str | Path, file_format: OutputFormat, *, overwrite: bool = True
) -> None:
    r"""Write `table` to the file `path`; create its folder if it is missing.

    In CSV and JSON, timestamps are ISO 8601 (in UTC with Z if they have a zone; with 0, 3, 6 or 9
    decimals of a second as needed), durations are numbers of seconds, decimals are their digits,
    and non-finite doubles are Infinity, -Infinity and NaN, in JSON as strings. JSON is one object
    per line, nulls included. Lists and structs in a CSV cell are JSON.
    The file is replaced atomically.

    Raise InputError for an unknown format, and OutputError if the file cannot be written or exists
    without `overwrite`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "q1.json"
    >>> write_table(pa.table({"district": ["Harbor"], "count(*)": [math.inf]}), path, "json")
    >>> path.read_text()
    '{"district": "Harbor", "count(*)": "Infinity"}\n'
    """
    if file_format not in WRITERS:
        formats = get_args(OutputFormat)
        hint = did_you_mean(file_format, formats)
        raise InputError(f"Unknown format '{file_format}'. Formats: {', '.join(formats)}.{hint}")
    with draft(Path(path), overwrite=overwrite) as place, place.open("wb") as file:
        write_to(table, file, file_format)


def write_to(table: pa.Table, file: BinaryIO, file_format: OutputFormat) -> None:
    """Write `table` to an open file in the format of `write_table`."""
    WRITERS[file_format](table, file)


class Rows:
    """Writes a table piece by piece to an open file, in the format of `write_table`.

    Pieces are combined up to an efficient size; `close` writes the rest.
    """

    def __init__(self, file: BinaryIO, file_format: OutputFormat) -> None:
        self.count = 0
        self._file = file
        self._format = file_format
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._parquet: pq.ParquetWriter | None = None

    def add(self, piece: pa.Table) -> None:
        """Add a piece, and write the pending pieces if they are large enough."""
        self._pending.append(piece)
        self._pending_rows += piece.num_rows
        if self._pending_rows >= ROWS_AT_A_TIME * 4:
            self._write()

    def close(self) -> None:
        """Write the pending pieces. A file without any piece stays empty."""
        self._write()
        if self._parquet is not None:
            self._parquet.close()

    def _write(self) -> None:
        if not self._pending:
            return
        table = pa.concat_tables(self._pending)
        self._pending, self._pending_rows = [], 0
        if self._format == "parquet":
            if self._parquet is None:
                self._parquet = pq.ParquetWriter(self._file, table.schema)
            self._parquet.write_table(table)
        elif self._format == "csv":
            _write_csv(table, self._file, header=self.count == 0)
        else:
            _write_json(table, self._file)
        self.count += table.num_rows


@contextmanager
def writing_rows(
    path: Path, file_format: OutputFormat, *, overwrite: bool = False, parts: bool = False
) -> Iterator[Rows]:
    """Yield a writer of a table; the complete table appears at `path` when the block ends.

    With `parts` it is a folder with one file in it.
    """
    with draft(path, overwrite=overwrite) as place:
        file = place
        if parts:
            place.mkdir()
            file = place / part_name(0, file_format)
        with file.open("wb") as stream:
            rows = Rows(stream, file_format)
            yield rows
            rows.close()


def write_part(
    table: pa.Table, path: Path, file_format: OutputFormat, *, overwrite: bool = False
) -> None:
    """Write `table` as a folder with one file in it, atomically."""
    with draft(path, overwrite=overwrite) as folder:
        folder.mkdir()
        write_table(table, folder / part_name(0, file_format), file_format)


def part_name(number: int, file_format: OutputFormat) -> str:
    """Return the name of a file in a data set of several.

    >>> part_name(3, "csv")
    'part-00003.csv'
    """
    return f"part-{number:05}.{file_format}"


def output_format(path: Path) -> OutputFormat | None:
    """Return the format of a file by its name; None if it is unknown.

    >>> output_format(Path("bad.jsonl")), output_format(Path("bad.csv.gz"))
    ('json', None)
    """
    file_format = format_of(path)
    if file_format is None or file_format == "zeek" or path.suffix.lower() in {".gz", ".tsv"}:
        return None
    return file_format


def _write_csv(table: pa.Table, file: BinaryIO, *, header: bool = True) -> None:
    columns = [_csv_column(column) for column in table.columns]
    how = pa_csv.WriteOptions(include_header=header)
    pa_csv.write_csv(pa.table(columns, names=table.column_names), file, how)


def _csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return a column in a type that Arrow's CSV writer formats as `write_table` documents."""
    data_type = column.type
    if pa.types.is_dictionary(data_type):
        column = column.cast(data_type.value_type)
        data_type = column.type
    if pa.types.is_floating(data_type):
        return _spell_nonfinite(column)
    if pa.types.is_timestamp(data_type):
        return _iso8601(column)
    if pa.types.is_duration(data_type):
        return _seconds(column)
    if pa.types.is_decimal(data_type):
        return column.cast(pa.string())
    if pa.types.is_nested(data_type):
        texts = [None if cell == "null" else cell for cell in json_cells(column)]
        return to_arrow(texts, pa.string())
    return column


def _spell_nonfinite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.all(pc.is_finite(column)).as_py() is not False:
        return column
    text = column.cast(pa.string())
    for short, name in (("inf", "Infinity"), ("-inf", "-Infinity"), ("nan", "NaN")):
        text = pc.if_else(pc.equal(text, short), name, text)
    return text


def _iso8601(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps as text: no fraction, or the 3, 6 or 9 digits that a value needs."""
    unit = column.type.unit
    if column.type.tz is not None:
        column = column.cast(pa.timestamp(unit, "UTC"))
    text = pc.replace_substring(column.cast(pa.string()), " ", "T")
    if unit != "s":
        text = pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")
    for needless in {"ns": (6, 3), "us": (3,)}.get(unit, ()):
        pattern = rf"(\.\d{{{DIGITS[unit] - needless}}})0{{{needless}}}(Z?)$"
        text = pc.replace_substring_regex(text, pattern, r"\1\2")
    return text


def _seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return durations as texts of seconds, without trailing zeros."""
    digits = DIGITS.get(column.type.unit, 0)
    nanoseconds = column.cast(pa.int64()).cast(pa.decimal128(19))
    if not digits:
        return nanoseconds.cast(pa.string())
    seconds = pc.multiply(nanoseconds, pa.scalar(Decimal(1).scaleb(-digits)))
    return pc.replace_substring_regex(_without_exponent(seconds, digits), r"\.?0+$", "")


def _without_exponent(decimals: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    """Return decimals as texts without an exponent."""
    texts = decimals.cast(pa.decimal128(38, digits)).cast(pa.string())
    small = pc.match_substring(texts, "E")
    if not pc.any(small).as_py():
        return texts
    plain = [None if d is None else f"{d:.{digits}f}" for d in decimals.to_pylist()]
    return pa.chunked_array([to_arrow(plain, pa.string())])


def _write_json(table: pa.Table, file: BinaryIO) -> None:
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    for start in range(0, table.num_rows, ROWS_AT_A_TIME):
        part = table.slice(start, ROWS_AT_A_TIME)
        cells = [json_cells(column) for column in part.columns]
        for row in zip(*cells, strict=True):
            fields = ", ".join(f"{name}: {cell}" for name, cell in zip(names, row, strict=True))
            file.write(f"{{{fields}}}\n".encode())


def json_cells(column: pa.ChunkedArray) -> Iterator[str]:
    """Yield the JSON text of each value of a column."""
    data_type = column.type
    if pa.types.is_decimal(data_type):
        digits = column.cast(pa.string()).to_pylist()
        return ("null" if text is None else text for text in digits)
    if pa.types.is_timestamp(data_type):
        return (_json_plain(text) for text in _iso8601(column).to_pylist())
    if pa.types.is_date(data_type):
        return (_json_plain(text) for text in column.cast(pa.string()).to_pylist())
    if pa.types.is_duration(data_type):
        return ("null" if text is None else text for text in _seconds(column).to_pylist())
    if any(_contains_type(data_type, test) for test in _SPELLED):
        return (_json_nested(value) for value in column)
    return (_json_plain(value) for value in column.to_pylist())


def _contains_type(data_type: pa.DataType, test: Any) -> bool:
    """Return whether `test` is true of `data_type` or of a type nested in it."""
    inner = (data_type.field(index).type for index in range(data_type.num_fields))
    return bool(test(data_type)) or any(_contains_type(part, test) for part in inner)


def _json_plain(value: Any) -> str:
    # Plain types are formatted here: `json.dumps` creates an encoder per call, which is slower.
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return repr(value)
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    """Return `value` with infinities and NaN, at any depth, as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def _json_nested(value: pa.Scalar) -> str:
    """Return the JSON text of a scalar that is a timestamp or has timestamps or decimals inside."""
    if not value.is_valid:
        return "null"
    if isinstance(value, pa.TimestampScalar):
        text = _iso8601(pa.chunked_array([to_arrow([value], value.type)]))[0].as_py()
        return json.dumps(text)
    if isinstance(value, pa.DurationScalar):
        return str(_seconds(pa.chunked_array([to_arrow([value], value.type)]))[0].as_py())
    if isinstance(value, pa.Decimal128Scalar | pa.Decimal256Scalar):
        return str(value.cast(pa.string()).as_py())
    if isinstance(value, pa.StructScalar):
        fields = (f"{json.dumps(name)}: {_json_nested(inner)}" for name, inner in value.items())
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, pa.ListScalar | pa.LargeListScalar):
        return f"[{', '.join(_json_nested(inner) for inner in value)}]"
    return _json_plain(value.as_py())


WRITERS: dict[str, Callable[[pa.Table, Any], None]] = {
    "parquet": pq.write_table,
    "csv": _write_csv,
    "json": _write_json,
}
