"""Predicates on times and lengths of time: of items, of tables, and of data frames."""

from __future__ import annotations

import types
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

import elsinore as el
import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError

START = datetime(2024, 1, 1)
ITEM = qre.event("B")
PREDICATES = {  # with what each says of an item
    "short": (ITEM.wait < timedelta(minutes=5), lambda x: x["wait"] < timedelta(minutes=5)),
    "less": (-ITEM.wait > timedelta(minutes=1), lambda x: -x["wait"] > timedelta(minutes=1)),
    "twice": (
        ITEM.wait * 2 >= ITEM.end - ITEM.start,
        lambda x: x["wait"] * 2 >= x["end"] - x["start"],
    ),
    "third": (ITEM.wait / 3 < timedelta(seconds=60), lambda x: x["wait"] / 3 < timedelta(0, 60)),
    "share": (ITEM.wait / timedelta(minutes=1) > 2, lambda x: x["wait"] / timedelta(0, 60) > 2),
    "before": (
        ITEM.start + ITEM.wait <= ITEM.end,
        lambda x: x["start"] + x["wait"] <= x["end"],
    ),
}


def items_of(numbers: list[tuple[int, int, int]]) -> list[dict[str, object]]:
    return [
        {
            "time": n,
            "type": "B",
            "wait": timedelta(seconds=wait),
            "start": START + timedelta(seconds=start),
            "end": START + timedelta(seconds=end),
        }
        for n, (wait, start, end) in enumerate(numbers)
    ]


def counter(name: str) -> qre.Query:
    predicate, _ = PREDICATES[name]
    counted = qre.either(qre.atom(predicate, lambda item: 1), qre.atom(~predicate, lambda item: 0))
    return qre.iterate1(counted, qre.sum(0))


def expected(name: str, items: list[dict[str, object]]) -> list[int]:
    _, holds = PREDICATES[name]
    return np.cumsum([holds(item) for item in items]).astype(int).tolist()


SECONDS = st.integers(-600, 600)


@settings(max_examples=80)
@given(
    st.sampled_from(sorted(PREDICATES)), st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1)
)
def test_predicates_agree_with_comparisons_in_python(name, numbers) -> None:
    items = items_of(numbers)
    stream = counter(name).start()
    assert [stream.push(item) for item in items] == expected(name, items)


def run(name: str, events: object) -> list[int]:
    module = types.ModuleType("detectors")
    module.q = counter(name)  # type: ignore[attr-defined]
    workload = el.Workload.parse("QUERY q FROM detectors:q", python=[module])
    result = workload.run(events)["q"]
    table = result if isinstance(result, pa.Table) else result.to_arrow()
    return table.sort_by("time").column("value").to_pylist()


@pytest.mark.parametrize("name", sorted(PREDICATES))
def test_both_drivers_evaluate_them_equally(name: str, spark: SparkSession) -> None:
    drawn = np.random.default_rng(3).integers(-600, 600, (40, 3)).tolist()
    items = items_of([tuple(numbers) for numbers in drawn])
    assert run(name, pa.Table.from_pylist(items)) == expected(name, items)
    kinds = [T.LongType(), T.StringType(), T.DayTimeIntervalType(), *[T.TimestampNTZType()] * 2]
    fields = [T.StructField(field, kind) for field, kind in zip(items[0], kinds, strict=True)]
    rows = [tuple(item.values()) for item in items]
    assert run(name, spark.createDataFrame(rows, T.StructType(fields))) == expected(name, items)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (date(2024, 1, 1), datetime(2024, 1, 1, 0, 4)),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 0, 4)),
        (pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01 00:04:59.999999999")),
    ],
)
def test_items_may_have_any_date_and_time_types_of_python(earlier: object, later: object) -> None:
    within = ITEM.end - ITEM.start < timedelta(minutes=5)
    stream = qre.iterate1(
        qre.either(qre.atom(within, lambda item: 1), qre.atom(~within, lambda item: 0)), qre.sum(0)
    ).start()
    assert stream.push({"type": "B", "start": earlier, "end": later}) == 1
    assert stream.push({"type": "B", "start": earlier, "end": later + timedelta(minutes=5)}) == 1


def test_comparing_a_number_with_a_length_of_time_is_rejected() -> None:
    module = types.ModuleType("detectors")
    module.q = qre.iterate1(  # type: ignore[attr-defined]
        qre.atom(ITEM.v < timedelta(minutes=5), lambda item: 1), qre.sum(0)
    )
    workload = el.Workload.parse("QUERY q FROM detectors:q", python=[module])
    events = pa.table({"time": [1], "type": ["B"], "v": [3]})
    with pytest.raises(QuerySemanticError, match=r"'.*v < 5 minutes'.*For a number of seconds"):
        workload.run(events)
