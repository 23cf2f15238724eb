"""Templates that translate Spark's SQL functions to DuckDB's SQL.

A rule consists of the kinds of the arguments and a template in which `{0}` is the first argument.
Templates correct differences between DuckDB's and Spark's values and types. Functions without a
rule are only computed by Spark. `tests/runtime/sql` compares all functions with Spark.

Kinds: `t` text, `i` whole number, `n` number, `f` double, `r` 32-bit float, `b` boolean, `d` date,
`s` timestamp, `l` list, `.` any type. A number is cast to a double for `f`, a date to a timestamp
for `s`, a timestamp to a date for `d`. Capital letters require a constant: `I` a number of digits,
`U` a unit of time, `T` a text.
"""

from __future__ import annotations

from dataclasses import dataclass

FAILS = "CASE WHEN {} THEN CAST('fails' AS BOOLEAN) ELSE FALSE END"  # an error if {} is true


@dataclass(frozen=True, slots=True)
class Rule:
    """One translation of a function: the kinds of its arguments, and a template for DuckDB."""

    kinds: str
    template: str


def failing(condition: str, value: str) -> str:
    """Return SQL that fails for rows in which a condition is true, and is `value` for others."""
    return f"CASE WHEN {FAILS.format(condition)} THEN NULL ELSE {value} END"


def _change_case(name: str) -> str:
    """Return SQL for lower or upper: DuckDB's for ASCII, Python's for other text (Unicode)."""
    is_ascii = "strlen({0}) = length({0})"
    return f"CASE WHEN {is_ascii} THEN {name}({{0}}) ELSE elsinore_{name}({{0}}) END"


def _logarithm(name: str, argument: str = "{0}") -> str:
    """Return SQL for a logarithm; null for numbers that are not positive."""
    return f"CASE WHEN {argument} > 0 THEN {name}({argument}) END"


def _whole(name: str) -> str:
    """Return SQL that rounds a double to a 64-bit integer; NaN becomes 0, an overflow fails."""
    inside = f"CASE WHEN isnan({{0}}) THEN 0 ELSE CAST({name}({{0}}) AS BIGINT) END"
    return failing("NOT isnan({0}) AND abs({0}) > 9223372036854775807", inside)


def _rounded(digits: str, kind: str = "DOUBLE") -> str:
    """Return SQL that rounds the decimal text of a number half up to digits behind the point.

    Doubles of at least 2^52 have no fraction and are unchanged.
    """
    constant_argument = "CAST(CAST({0} AS DOUBLE) AS VARCHAR)"
    decimal = f"CAST({constant_argument} AS DECIMAL(38, {digits}))"
    return f"CASE WHEN abs({{0}}) < 4503599627370496 THEN CAST({decimal} AS {kind}) ELSE {{0}} END"


def _element(index: str, is_out_of_range: str, *, null_on_error: bool) -> str:
    """Return SQL for a list's element; an index out of range is null or, by default, fails."""
    value = f"list_extract({{0}}, {index})"
    if null_on_error:
        return f"CASE WHEN {is_out_of_range} THEN NULL ELSE {value} END"
    return failing(is_out_of_range, value)


_BAD_INDEX = "{1} < 0 OR {1} >= len({0})"
_BAD_POSITION = "{1} = 0 OR abs({1}) > len({0})"
_SECONDS = 1_000_000

_TEXTS = {
    "lower": [Rule("t", _change_case("lower"))],
    "upper": [Rule("t", _change_case("upper"))],
    "initcap": [Rule("t", "elsinore_initcap({0})")],
    "reverse": [Rule("t", "elsinore_reverse({0})")],
    "length": [Rule("t", "CAST(length({0}) AS INTEGER)")],
    "octet_length": [Rule("t", "CAST(strlen({0}) AS INTEGER)")],
    "trim": [Rule("t", "trim({0}, ' ')")],
    "ltrim": [Rule("t", "ltrim({0}, ' ')")],
    "rtrim": [Rule("t", "rtrim({0}, ' ')")],
    "left": [Rule("ti", "left({0}, greatest({1}, 0))")],
    "right": [Rule("ti", "right({0}, greatest({1}, 0))")],
    "replace": [Rule("ttt", "replace({0}, {1}, {2})"), Rule("tt", "replace({0}, {1}, '')")],
    "repeat": [Rule("ti", "repeat({0}, {1})")],
    "space": [Rule("i", "repeat(' ', {0})")],
    "instr": [Rule("tt", "CAST(strpos({0}, {1}) AS INTEGER)")],
    "locate": [Rule("tt", "CAST(strpos({1}, {0}) AS INTEGER)")],
    "startswith": [Rule("tt", "starts_with({0}, {1})")],
    "endswith": [Rule("tt", "ends_with({0}, {1})")],
    "contains": [Rule("tt", "contains({0}, {1})")],
    "translate": [Rule("ttt", "translate({0}, {1}, {2})")],
    "levenshtein": [Rule("tt", "CAST(levenshtein({0}, {1}) AS INTEGER)")],
    "md5": [Rule("t", "md5({0})")],
    "substring": [
        Rule("ti", "elsinore_substring({0}, {1}, 2147483647)"),
        Rule("tii", "elsinore_substring({0}, {1}, {2})"),
    ],
    "substring_index": [Rule("tti", "elsinore_substring_index({0}, {1}, {2})")],
    "lpad": [
        Rule("ti", "lpad({0}, greatest({1}, 0), ' ')"),
        Rule("tiT", "lpad({0}, greatest({1}, 0), {2})"),
    ],
    "rpad": [
        Rule("ti", "rpad({0}, greatest({1}, 0), ' ')"),
        Rule("tiT", "rpad({0}, greatest({1}, 0), {2})"),
    ],
}

_NUMBERS = {
    "abs": [Rule("n", "abs({0})")],
    "sqrt": [Rule("f", "CASE WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({0}) END")],
    "cbrt": [Rule("f", "cbrt({0})")],
    "exp": [Rule("f", "exp({0})")],
    "pow": [Rule("ff", "elsinore_pow({0}, {1})")],
    "ln": [Rule("f", _logarithm("ln"))],
    "log10": [Rule("f", _logarithm("log10"))],
    "log2": [Rule("f", _logarithm("log2"))],
    "log": [
        Rule("f", _logarithm("ln")),
        Rule("ff", "CASE WHEN {0} > 0 AND {1} > 0 THEN ln({1}) / ln({0}) END"),
    ],
    "sign": [
        Rule("f", "CASE WHEN isnan({0}) OR {0} = 0 THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END")
    ],
    "floor": [Rule("i", "CAST({0} AS BIGINT)"), Rule("f", _whole("floor"))],
    "ceil": [Rule("i", "CAST({0} AS BIGINT)"), Rule("f", _whole("ceil"))],
    "round": [
        Rule("i", "{0}"),
        Rule("r", _rounded("0", "FLOAT")),
        Rule("rI", _rounded("{1}", "FLOAT")),
        Rule("f", _rounded("0")),
        Rule("fI", _rounded("{1}")),
    ],
    "mod": [Rule("nn", "({0} % {1})")],
    "pmod": [Rule("ii", "((({0} % {1}) + {1}) % {1})")],
    "isnan": [Rule("f", "coalesce(isnan({0}), FALSE)")],
    "nanvl": [Rule("ff", "CASE WHEN isnan({0}) THEN {1} ELSE {0} END")],
    "bit_count": [Rule("i", "CAST(bit_count(CAST({0} AS BIGINT)) AS INTEGER)")],
    "try_divide": [Rule("ff", "CASE WHEN {1} <> 0 THEN {0} / {1} END")],
    "try_add": [Rule("ii", "TRY({0} + {1})"), Rule("ff", "{0} + {1}")],
    "try_subtract": [Rule("ii", "TRY({0} - {1})"), Rule("ff", "{0} - {1}")],
    "try_multiply": [Rule("ii", "TRY({0} * {1})"), Rule("ff", "{0} * {1}")],
}

_TIMES = {
    "year": [Rule("d", "CAST(year({0}) AS INTEGER)")],
    "quarter": [Rule("d", "CAST(quarter({0}) AS INTEGER)")],
    "month": [Rule("d", "CAST(month({0}) AS INTEGER)")],
    "weekofyear": [Rule("d", "CAST(weekofyear({0}) AS INTEGER)")],
    "day": [Rule("d", "CAST(day({0}) AS INTEGER)")],
    "dayofyear": [Rule("d", "CAST(dayofyear({0}) AS INTEGER)")],
    "dayofweek": [Rule("d", "CAST(dayofweek({0}) + 1 AS INTEGER)")],
    "weekday": [Rule("d", "CAST(isodow({0}) - 1 AS INTEGER)")],
    "hour": [Rule("s", "CAST(hour({0}) AS INTEGER)")],
    "minute": [Rule("s", "CAST(minute({0}) AS INTEGER)")],
    "second": [Rule("s", "CAST(second({0}) AS INTEGER)")],
    "date_trunc": [Rule("Us", "CAST(date_trunc({0}, {1}) AS TIMESTAMP)")],
    "trunc": [Rule("dU", "CAST(date_trunc({1}, {0}) AS DATE)")],
    "last_day": [Rule("d", "last_day({0})")],
    "date_add": [Rule("di", "({0} + CAST({1} AS INTEGER))")],
    "date_sub": [Rule("di", "({0} - CAST({1} AS INTEGER))")],
    "add_months": [Rule("di", "CAST({0} + to_months(CAST({1} AS INTEGER)) AS DATE)")],
    "datediff": [Rule("dd", "CAST({0} - {1} AS INTEGER)")],
    "unix_date": [Rule("d", "CAST({0} - DATE '1970-01-01' AS INTEGER)")],
    "unix_seconds": [Rule("s", f"elsinore_floor_div(epoch_us({{0}}), {_SECONDS})")],
    "unix_millis": [Rule("s", "elsinore_floor_div(epoch_us({0}), 1000)")],
    "unix_micros": [Rule("s", "epoch_us({0})")],
    "timestamp_seconds": [Rule("i", f"make_timestamp(CAST({{0}} AS BIGINT) * {_SECONDS})")],
    "timestamp_millis": [Rule("i", "make_timestamp(CAST({0} AS BIGINT) * 1000)")],
    "timestamp_micros": [Rule("i", "make_timestamp(CAST({0} AS BIGINT))")],
}

_LISTS = {
    "size": [Rule("l", "CAST(len({0}) AS INTEGER)")],
    "element_at": [Rule("li", _element("{1}", _BAD_POSITION, null_on_error=False))],
    "try_element_at": [
        Rule("li", failing("{1} = 0", _element("{1}", _BAD_POSITION, null_on_error=True))),
    ],
    "get": [Rule("li", _element("{1} + 1", _BAD_INDEX, null_on_error=True))],
    "array_contains": [
        Rule(
            "l.",
            "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN list_contains({0}, {1}) THEN TRUE "
            "WHEN list_count({0}) < len({0}) THEN NULL ELSE FALSE END",
        )
    ],
    "array_min": [Rule("l", "list_min({0})")],
    "array_max": [Rule("l", "list_max({0})")],
}

_NULLS = {
    "isnull": [Rule(".", "({0} IS NULL)")],
    "isnotnull": [Rule(".", "({0} IS NOT NULL)")],
}

_ALIASES = {
    "lcase": "lower",
    "ucase": "upper",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "substr": "substring",
    "power": "pow",
    "ceiling": "ceil",
    "signum": "sign",
    "dayofmonth": "day",
    "date_diff": "datediff",
    "cardinality": "size",
    "unix_timestamp": "unix_seconds",
}

FUNCTIONS: dict[str, list[Rule]] = _TEXTS | _NUMBERS | _TIMES | _LISTS | _NULLS
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in _ALIASES.items()}
ELEMENT = Rule("li", _element("{1} + 1", _BAD_INDEX, null_on_error=False))  # list[n], from 0

TRUNCATED_TO = {  # units of date_trunc, by Spark's names
    name: unit
    for unit, names in {
        "year": ("year", "yyyy", "yy"),
        "quarter": ("quarter",),
        "month": ("month", "mon", "mm"),
        "week": ("week",),
        "day": ("day", "dd"),
        "hour": ("hour",),
        "minute": ("minute",),
        "second": ("second",),
        "millisecond": ("millisecond",),
        "microsecond": ("microsecond",),
    }.items()
    for name in names
}

MACROS = """
CREATE MACRO elsinore_floor_div(n, d) AS
    CASE WHEN n % d < 0 THEN n // d - 1 ELSE n // d END;
CREATE MACRO elsinore_first(s, pos) AS
    CASE WHEN pos > 0 THEN CAST(pos AS BIGINT) - 1 WHEN pos < 0 THEN length(s) + pos ELSE 0 END;
CREATE MACRO elsinore_substring(s, pos, n) AS
    CASE WHEN s IS NULL OR pos IS NULL OR n IS NULL THEN NULL
         WHEN n <= 0 OR elsinore_first(s, pos) + CAST(n AS BIGINT) <= 0 THEN ''
         ELSE substring(s, greatest(elsinore_first(s, pos), 0) + 1,
                        elsinore_first(s, pos) + CAST(n AS BIGINT)
                        - greatest(elsinore_first(s, pos), 0)) END;
CREATE MACRO elsinore_substring_index(s, d, n) AS
    CASE WHEN s IS NULL OR d IS NULL OR n IS NULL THEN NULL
         WHEN n = 0 OR d = '' THEN ''
         WHEN n > 0 THEN array_to_string(string_split(s, d)[:n], d)
         ELSE array_to_string(string_split(s, d)[-least(-n, len(string_split(s, d))):], d) END;
CREATE MACRO elsinore_pow(x, y) AS
    CASE WHEN x IS NULL OR y IS NULL THEN NULL WHEN y = 0 THEN 1.0 WHEN isnan(y) THEN y
         WHEN abs(x) = 1 AND isinf(y) THEN CAST('NaN' AS DOUBLE) ELSE pow(x, y) END;
"""
