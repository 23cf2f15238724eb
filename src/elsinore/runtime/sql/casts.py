"""Translating Spark's CAST to DuckDB's SQL, with Spark's rounding, overflow and text formats."""

from __future__ import annotations

from sqlglot import exp

from elsinore.runtime.sql.functions import failing
from elsinore.runtime.sql.kinds import Kind

Types = exp.DataType.Type
CAST_TYPES = {
    Types.TINYINT: "TINYINT",
    Types.SMALLINT: "SMALLINT",
    Types.INT: "INTEGER",
    Types.BIGINT: "BIGINT",
    Types.FLOAT: "FLOAT",
    Types.DOUBLE: "DOUBLE",
    Types.TEXT: "VARCHAR",
    Types.VARCHAR: "VARCHAR",
    Types.BOOLEAN: "BOOLEAN",
    Types.DATE: "DATE",
    Types.TIMESTAMP: "TIMESTAMP",
    Types.TIMESTAMPTZ: "TIMESTAMP",
    Types.TIMESTAMPLTZ: "TIMESTAMP",
    Types.TIMESTAMPNTZ: "TIMESTAMP",
}
_BEYOND_32_BITS = 3.4028235677973366e38  # doubles from here on become an infinite 32-bit float
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_WHOLE_TEXT = r"^\s*([+-]?[0-9]+)\s*$"
_NUMBER_TEXT = (
    r"^\s*([+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
    r"|(?i:inf|infinity)|(?i:nan)))\s*$"
)
_TRUE, _FALSE = "'t', 'true', 'y', 'yes', '1'", "'f', 'false', 'n', 'no', '0'"


def cast(value: str, kind: Kind, target: str) -> str | None:
    """Return SQL that casts a value of a kind to a DuckDB type and fails where Spark's cast fails.

    Returns None for casts that only Spark computes.

    >>> print(cast("x", Kind.DOUBLE, "INTEGER"))
    CAST(trunc(x) AS INTEGER)
    """
    plain = f"CAST({value} AS {target})"
    match kind, target:
        case Kind.NULL, _:
            return plain
        case Kind.TEXT, "VARCHAR":
            return value
        case Kind.TEXT, _:
            return _cast_text(value, target)
        case ((Kind.INTEGER | Kind.BOOLEAN | Kind.DATE), "VARCHAR"):
            return plain
        case Kind.INTEGER, "BOOLEAN":
            return plain
        case Kind.INTEGER, "TIMESTAMP":
            return f"make_timestamp(CAST({value} AS BIGINT) * 1000000)"
        case Kind.INTEGER, _ if target != "DATE":
            return plain
        case Kind.DOUBLE, _ if target in _WHOLE:
            return f"CAST(trunc({value}) AS {target})"
        case Kind.DOUBLE, "FLOAT":
            return _to_float32(value)
        case Kind.DOUBLE, "DOUBLE":
            return plain
        case Kind.DOUBLE, "BOOLEAN":
            return f"({value} <> 0)"
        case Kind.DOUBLE, "TIMESTAMP":
            micros = f"CAST(trunc(CAST({value} AS DOUBLE) * 1000000) AS BIGINT)"
            return f"make_timestamp({micros})"
        case Kind.DECIMAL, ("FLOAT" | "DOUBLE"):
            return f"CAST(CAST({value} AS VARCHAR) AS {target})"
        case Kind.DECIMAL, _ if target in _WHOLE:
            return f"CAST(trunc({value}) AS {target})"
        case Kind.BOOLEAN, _ if target in _WHOLE or target in {"FLOAT", "DOUBLE", "BOOLEAN"}:
            return plain
        case ((Kind.DATE | Kind.TIME), ("DATE" | "TIMESTAMP")):
            return plain
        case Kind.TIME, "BIGINT":
            return f"elsinore_floor_div(epoch_us({value}), 1000000)"
        case Kind.TIME, "DOUBLE":
            return f"epoch_us({value}) / 1000000.0::DOUBLE"
        case _:
            return None


def _to_float32(value: str) -> str:
    """Return SQL that converts a double to a 32-bit float; an overflow becomes infinite."""
    beyond = f"NOT isnan({value}) AND abs({value}) >= {_BEYOND_32_BITS!r}::DOUBLE"
    return f"CAST(CASE WHEN {beyond} THEN {value} * 'Infinity'::DOUBLE ELSE {value} END AS FLOAT)"


def _cast_text(value: str, target: str) -> str:
    """Return SQL that parses text as a value of a type, and fails for text that is not one."""
    if target == "BOOLEAN":
        word = f"lower(trim({value}, ' \t\n\r'))"
        return failing(f"{word} NOT IN ({_TRUE}, {_FALSE})", f"({word} IN ({_TRUE}))")
    if target in {"DATE", "TIMESTAMP"}:
        time = f"elsinore_timestamp({value})"
        value_read = time if target == "TIMESTAMP" else f"CAST({time} AS DATE)"
        return failing(f"{value} IS NOT NULL AND {time} IS NULL", value_read)
    form = _WHOLE_TEXT if target in _WHOLE else _NUMBER_TEXT
    return f"CAST(regexp_extract({value}, '{form}', 1) AS {target})"
