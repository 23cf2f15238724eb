"""SQL expressions over unusual values are what Spark computes, or are rejected."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.errors import InputError
from elsinore.runtime.sql import evaluate_sql

INFINITY, NAN = math.inf, math.nan
EVENTS = pa.table(
    {
        "n": pa.array([1, -2, None, 7, 2**31 - 1, -(2**31)], pa.int32()),
        "big": pa.array([2**53 + 1, -5, None, 0, 2**63 - 1, -(2**63)], pa.int64()),
        "small": pa.array([1, -128, None, 0, 127, 5], pa.int8()),
        "x": pa.array([1.5, -2.5, None, NAN, INFINITY, -INFINITY]),
        "d": pa.array([0.0, 2.675, None, -0.0, 1e300, -1e-7]),
        "f": pa.array([0.1, -0.5, None, NAN, 16777217.0, 3.0], pa.float32()),
        "ok": pa.array([True, False, None, True, False, True]),
        "number": ["7", " +8 ", None, "", "N/A", "2147483648"],
        "real": ["1.5", "-1e3", None, "Infinity", "nan", "1,5"],
        "txt": ["Ab/c", "De/f Ünïß ﬁ", None, "", "a\nb", "  x% "],
        "part": ["b", "f", None, "", "\n", "x%"],
        "written": [
            *("2024-01-31 10:15:30", "2024-02-30", None, ""),
            *("1969-12-31T23:59:59.5Z", "2024-02-29"),
        ],
        "german": ["31/01/2024", "1/2/2024", None, "", "29/02/2023", "29/02/2024"],
        "at": pa.array(
            [
                datetime(2026, 1, 1, 0, 0, 1),
                datetime(2024, 2, 29, 23, 59, 59, 999999),
                None,
                datetime(1969, 12, 31, 23, 0, 0, 1),
                datetime(1900, 1, 1),
                datetime(2024, 12, 30, 12),
            ],
            pa.timestamp("us"),
        ),
        "zoned": pa.array(
            [
                datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC),
                datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC),
                None,
                datetime(1969, 12, 31, 23, tzinfo=UTC),
                datetime(1901, 5, 6, 7, tzinfo=UTC),
                datetime(2024, 12, 30, 12, tzinfo=UTC),
            ],
            pa.timestamp("us", "UTC"),
        ),
        "day": pa.array(
            [
                *(date(2024, 1, 31), date(2024, 2, 29), None),
                *(date(1969, 12, 31), date(1900, 3, 1), date(2023, 12, 31)),
            ]
        ),
        "items": pa.array([[1, 2], [], None, [None, 3], [5], [-1, None, 9]], pa.list_(pa.int32())),
        "names": [["a", "b"], [], None, [None, "ü"], [""], ["b"]],
        "who": [
            {"id": 1, "Name": "x"},
            {"id": None, "Name": ""},
            None,
            *[{"id": 3, "Name": "ß"}] * 3,
        ],
        "money": pa.array(
            [
                Decimal("1.50"),
                Decimal("-99.99"),
                None,
                Decimal(0),
                Decimal("99999999.99"),
                Decimal("0.01"),
            ],
            pa.decimal128(10, 2),
        ),
    }
)

FOLDER = Path(__file__).parent


def listed(name: str) -> list[str]:
    """Return the expressions of a file, which has one on each line."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("--")]


ALONE = listed("computed.txt")
NESTED = [
    *(f"IF(ok, {text}, NULL)" for text in ALONE[::12]),
    # Spark's optimizer knows that coalesce(1 / small, 0) is not null, even where 1 / small fails.
    *(f"({text}) IS NULL" for text in ALONE[3::12] if not text.startswith("coalesce(")),
    *(f"coalesce({text}, {text})" for text in ALONE[6::12]),
    *(f"CASE WHEN n > 0 THEN {text} WHEN ok THEN NULL ELSE {text} END" for text in ALONE[9::12]),
]
EXPRESSIONS = ALONE + NESTED


def plain(value: Any) -> Any:
    """Return a value that can be compared: NaN as text, floats to 15 digits."""
    if isinstance(value, float):
        return repr(value) if math.isnan(value) else f"{value:.15g}"
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def values(column: pa.Array) -> list[Any]:
    """Return a column's values; dates and times as numbers, as Python has not all of them."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [*map(plain, column.to_pylist())]


def kind(of_arrow: pa.DataType) -> str:
    """Return a type's name without a zone, which does not matter."""
    if pa.types.is_timestamp(of_arrow):
        return "timestamp"
    if pa.types.is_list(of_arrow):
        return f"list of {of_arrow.value_type}"
    return str(of_arrow).replace("large_", "")


@pytest.fixture(scope="module")
def of_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """Return all expressions as Spark computes them."""
    from pyspark.sql import functions as F  # noqa: N812

    from elsinore.spark.expressions import null_if_failing

    path: Path = tmp_path_factory.mktemp("events") / "events.parquet"
    pq.write_table(EVENTS, path)
    frame = spark.read.parquet(str(path)).coalesce(1)
    columns = [null_if_failing(F.expr(text)).alias(str(n)) for n, text in enumerate(EXPRESSIONS)]
    return frame.select(columns).toArrow()


def test_every_expression_has_spark_s_values_and_types(of_spark: pa.Table) -> None:
    assert len(EXPRESSIONS) > 300
    different = []
    for number, text in enumerate(EXPRESSIONS):
        expected = of_spark.column(number)
        found = evaluate_sql(text, EVENTS, "type")
        if values(found) != values(expected):
            different.append(f"{text}: {values(found)}, on Spark {values(expected)}")
        elif kind(found.type) != kind(expected.type):
            different.append(f"{text}: {found.type}, on Spark {expected.type}")
    assert different == []


@pytest.mark.parametrize("text", listed("rejected.txt"))
def test_what_spark_alone_computes_is_rejected_with_a_remedy(text: str) -> None:
    with pytest.raises(InputError, match=r"which is not computed in process.*Spark computes it"):
        evaluate_sql(text, EVENTS, "type")
