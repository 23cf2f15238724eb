"""SQL expressions computed in process."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.runtime.sql import evaluate_sql

TABLE = pa.table(
    {
        "delay": pa.array([20, 3, None]),
        "fare": pa.array([1.5, 0.0, 4.0]),
        "kind": pa.array(["Late", " on time ", None]),
        "carrier": pa.array(["UA", "AA", "UA"]).dictionary_encode(),
        "ok": pa.array([True, False, None]),
        "at": pa.array([0, 86_400_000_000, None], pa.timestamp("us")),
        "odd name": pa.array([1, 2, 3]),
    }
)


def of(text: str) -> list[Any]:
    return evaluate_sql(text, TABLE, "type").to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("delay", [20, 3, None]),
        ("DELAY", [20, 3, None]),
        ("odd name", [1, 2, 3]),
        ("`odd name` + 1", [2, 3, 4]),
        ("'x'", ["x", "x", "x"]),
        ("7", [7, 7, 7]),
        ("2.5", [2.5, 2.5, 2.5]),
        ("TRUE", [True, True, True]),
        ("CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END", ["Late", "OnTime", "OnTime"]),
        ("CASE WHEN delay > 15 THEN 'Late' END", ["Late", None, None]),
        ("CASE WHEN delay > 5 THEN 'a' WHEN delay > 1 THEN 'b' ELSE 'c' END", ["a", "b", "c"]),
        ("CASE carrier WHEN 'UA' THEN 'u' ELSE 'x' END", ["u", "x", "u"]),
        ("CASE WHEN delay > 5 THEN NULL ELSE 'x' END", [None, "x", "x"]),
        ("IF(delay > 5, 'a', 'b')", ["a", "b", "b"]),
        ("delay IN (3, 4)", [False, True, None]),
        ("delay NOT IN (3, 4)", [True, False, None]),
        ("delay IN (20, NULL)", [True, None, None]),
        ("delay BETWEEN 3 AND 5", [False, True, None]),
        ("delay NOT BETWEEN 3 AND 5", [True, False, None]),
        ("kind LIKE 'L%'", [True, False, None]),
        ("kind NOT LIKE 'L_te'", [False, True, None]),
        ("COALESCE(kind, 'none')", ["Late", " on time ", "none"]),
        ("COALESCE(delay, fare) ", [20, 3, 4]),
        ("CAST(delay AS STRING)", ["20", "3", None]),
        ("CAST(fare AS BIGINT)", [1, 0, 4]),
        ("CAST(carrier AS STRING)", ["UA", "AA", "UA"]),
        ("carrier || '-' || delay", ["UA-20", "AA-3", None]),
        ("CONCAT(carrier, 'x')", ["UAx", "AAx", "UAx"]),
        ("UPPER(TRIM(kind))", ["LATE", "ON TIME", None]),
        ("lower(kind)", ["late", " on time ", None]),
        ("delay IS NULL", [False, False, True]),
        ("delay IS NOT NULL", [True, True, False]),
        ("NOT ok", [False, True, None]),
        ("ok IS TRUE", [True, False, False]),
        ("ok IS NOT TRUE", [False, True, True]),
        ("ok IS FALSE", [False, True, False]),
        ("NOT kind LIKE 'L%'", [False, True, None]),
        ("ok OR delay = 3", [True, True, None]),
        ("ok AND delay = 20", [True, False, None]),
        ("delay / fare", [20 / 1.5, None, None]),
        ("-delay * 2 - 1", [-41, -7, None]),
        ("ABS(-delay)", [20, 3, None]),
        ("delay % 7", [6, 3, None]),
        ("-delay % 7", [-6, -3, None]),
        ("MOD(delay, `odd name` - 1)", [None, 0, None]),
        ("delay % fare", [0.5, None, None]),
        ("7.5 % `odd name`", [0.5, 1.5, 1.5]),
        ("LENGTH(kind)", [4, 9, None]),
        ("SUBSTRING(kind, 2, 2)", ["at", "on", None]),
        ("SUBSTR(kind, 3)", ["te", "n time ", None]),
        ("SUBSTRING(carrier, 0, 1)", ["U", "A", "U"]),
        ("LEFT(carrier, 1) || '!'", ["U!", "A!", "U!"]),
        ("FLOOR(fare)", [1, 0, 4]),
        ("CEIL(fare) + delay", [22, 3, None]),
        ("FLOOR(delay)", [20, 3, None]),
        ("at > '1970-01-01 12:00:00'", [False, True, None]),
        ("at", [datetime(1970, 1, 1), datetime(1970, 1, 2), None]),
        ("CAST(at AS DATE)", [date(1970, 1, 1), date(1970, 1, 2), None]),
        ("NULL", [None, None, None]),
    ],
)
def test_an_expression_is_computed_for_each_row(text: str, expected: list[Any]) -> None:
    assert of(text) == expected


ODD = pa.table(
    {
        "n": ["7", " +8 ", "N/A", None, "2147483648"],
        "day": ["31/01/2024", "1/2/2024", "2024-01-31", "31/02/2024", None],
        "big": pa.array([2**62, 1, -(2**62), None, 2**63 - 1]),
        "zero": [0, 1, 2, None, 0],
        "mixed": ["x", "2", "3", "4", "5"],
        "f": [1.9, float("nan"), -1e300, None, -0.5],
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(n AS INT)", [7, 8, None, None, None]),
        ("CAST(n AS BIGINT)", [7, 8, None, None, 2147483648]),
        ("CAST(n AS DOUBLE)", [7.0, 8.0, None, None, 2147483648.0]),
        ("CAST(f AS INT)", [1, None, None, None, 0]),
        ("CAST(big AS INT)", [None, 1, None, None, None]),
        ("CAST(zero AS TIMESTAMP)", [datetime(1970, 1, 1, 0, 0, s) for s in (0, 1, 2)] + [None]),
        ("COALESCE(CAST(n AS INT), 0)", [7, 8, None, 0, None]),
        ("COALESCE(TRY_CAST(n AS INT), 0)", [7, 8, 0, 0, 0]),
        ("CAST(n AS INT) IS NULL", [False, False, None, True, None]),
        ("CASE WHEN mixed = 'x' THEN 0 ELSE CAST(mixed AS INT) END", [0, 2, 3, 4, 5]),
        ("IF(zero = 0, 1, 10 / zero)", [1.0, 10.0, 5.0, None, 1.0]),
        ("zero = 0 OR 10 / zero > 5", [True, True, False, None, True]),
        ("zero <> 0 AND 10 / zero > 5", [False, True, False, None, False]),
        ("10 / zero > 5 OR zero = 0", [None, True, False, None, None]),
        ("COALESCE(10 % zero, 7)", [None, 0, 0, 7, None]),
        ("TRY_DIVIDE(10, zero)", [None, 10.0, 5.0, None, None]),
        ("big + big", [None, 2, -(2**63), None, None]),
        ("big * 4", [None, 4, None, None, None]),
        ("TO_DATE(day, 'dd/MM/yyyy')", [date(2024, 1, 31), None, None, None, None]),
        ("TRY_TO_TIMESTAMP(day, 'd/M/yyyy')", [datetime(2024, 1, 31), datetime(2024, 2, 1)]),
        ("COALESCE(TO_DATE(day, 'dd/MM/yyyy'), DATE'2000-01-01')", [date(2024, 1, 31), None, None]),
    ],
)
def test_an_expression_that_fails_for_a_row_is_null_there(text: str, expected: list[Any]) -> None:
    found = evaluate_sql(text, ODD, "type").to_pylist()
    assert found[: len(expected)] == expected
    assert len(expected) == len(found) or set(found[len(expected) : -1]) <= {None}


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("dd.MM.yyyy HH:mm:ss", "31.01.2024 23:59:58", datetime(2024, 1, 31, 23, 59, 58)),
        ("d/M/yy h:mm a", "1/12/24 12:05 AM", datetime(2024, 12, 1, 0, 5)),
        ("dd MMM yyyy hh:mm a", "09 Feb 2024 01:05 PM", datetime(2024, 2, 9, 13, 5)),
        ("yyyyMMdd'T'HHmmss.SSS", "20240131T010203.25", datetime(2024, 1, 31, 1, 2, 3, 250_000)),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2024-01-31T01:00:00+02:00", datetime(2024, 1, 30, 23)),
        ("HH 'o''clock'", "07 o'clock", datetime(1970, 1, 1, 7)),
        ("yyyy-MM-dd", "2024-13-01", None),
        ("yyyy-MM-dd", "24-01-01", None),
        ("dd MMM yyyy", "09 feb 2024", None),
    ],
)
def test_times_are_read_in_a_given_format(pattern: str, text: str, expected: datetime) -> None:
    quoted = pattern.replace("'", "\\'")
    found = evaluate_sql(f"TO_TIMESTAMP(t, '{quoted}')", pa.table({"t": [text]}), "time")
    (time,) = found.cast(pa.timestamp("us")).to_pylist()
    assert time == expected


def test_a_format_that_only_spark_reads_is_refused_with_those_that_are_read() -> None:
    with pytest.raises(InputError, match=r"has 'EEE', which cannot be read in this process\. Read"):
        evaluate_sql("TO_TIMESTAMP(t, 'EEE dd')", pa.table({"t": ["Mon 01"]}), "time")


def test_a_column_is_taken_by_its_name_whatever_that_is() -> None:
    table = pa.table({"a + b": [1], "case": [2], "a": [5], "b": [6]})
    assert evaluate_sql("a + b", table, "type").to_pylist() == [1]
    assert evaluate_sql("case", table, "type").to_pylist() == [2]


def test_of_names_that_differ_in_case_the_exact_one_is_taken() -> None:
    table = pa.table({"A": [1], "a": [2]})
    assert evaluate_sql("a + 0", table, "type").to_pylist() == [2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "dely > 3",
            r"no column 'dely', read for the type. Did you mean 'delay'\? Columns: delay,",
        ),
        ("CASE WHEN", "The expression for the type, 'CASE WHEN', is not SQL"),
        ("delay >", "is not SQL"),
        ("SUM(delay) OVER ()", "Spark computes it"),
        ("CAST(delay AS BINARY)", "there is no CAST to BINARY"),
        ("kind LIKE ANY ('a', 'b')", "Spark computes it"),
        ("kind LIKE 'a' ESCAPE '!'", "Spark computes it"),
        ("delay IN (SELECT 1)", "Spark computes it"),
        ("UPPR(kind)", r"only Spark has this function \(there is upper\)"),
        ("UPPER(kind, kind)", "it takes 1 argument here. Hand over a Spark DataFrame"),
        ("UPPER(delay)", "it does not accept a whole number"),
        ("FLOOR(fare, 1)", "Spark computes it"),
        ("TRIM(BOTH 'x' FROM kind)", "Spark computes it"),
        ("kind > 3", "a whole number and text cannot be compared"),
        ("delay + kind", "a whole number and text cannot be compared or computed with"),
    ],
)
def test_what_cannot_be_computed_is_told(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        of(text)


def test_a_missing_column_of_the_default_name_points_at_the_option() -> None:
    with pytest.raises(InputError, match="Name the column that has the type with type="):
        evaluate_sql("type", TABLE, "type")


def test_a_table_without_rows_has_no_values() -> None:
    assert (
        evaluate_sql("CASE WHEN delay > 5 THEN 'a' END", TABLE.slice(0, 0), "type").to_pylist()
        == []
    )


NESTED = pa.table(
    {
        "type": ["outer", "outer", "outer"],
        "id.orig": [1, 2, 3],
        "s": [{"Type": "A", "in": {"v": {"w": {"u": 1}}}}, None, {"Type": "B", "in": None}],
        "d": pa.StructArray.from_arrays([pa.array(["A", None, "B"]).dictionary_encode()], ["type"]),
    }
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("s.type", ["A", None, "B"]),
        ("LOWER(S.Type)", ["a", None, "b"]),
        ("s.in.v.w.u + 1", [2, None, None]),
        ("`id.orig` * 2", [2, 4, 6]),
        ("LOWER(d.type)", ["a", None, "b"]),
    ],
)
def test_fields_of_structs_are_read_as_spark_does(text: str, values: list[Any]) -> None:
    assert evaluate_sql(text, NESTED, "type").to_pylist() == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s.typ = 'A'", "there is no field 'typ'. Did you mean 'Type'? Fields: Type, in."),
        ("type.a = 'A'", "'type' is of type string, not a struct"),
        ("id.orig = 1", "in backticks: `id.orig`"),
        ("r.type = 'A'", "no column 'r'"),
    ],
)
def test_a_field_that_is_not_there_is_never_read_from_elsewhere(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate_sql(text, NESTED, "type")
