"""A condition on a variable that a match does not bind does not apply, whatever its form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from benchmarks.evaluations import ENGINE, EVALUATIONS, run_by

import elsinore as el
from support.small_arrays import interpret_evaluations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module", autouse=True)
def interpreted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        interpret_evaluations(patch)
        yield


EVENTS = [
    {"time": 0.0, "type": "A", "v": 1.0, "id": "a"},
    {"time": 1.0, "type": "C", "v": 2.0, "id": "c"},
]
# none of these holds for null, and none for the values of a and c
FORMS = [
    "x.v > c.v",
    "c.v < x.v",
    "x.v > 5",
    "x.v + c.v > 9",
    "NOT (x.v < 9)",
    "x.v IS NOT NULL",
    "a.v > 5 OR x.v > 5",
    "x.v > 5 OR COUNT(y[]) > 5",
    "COUNT(y[]) + x.v > 9",
    "y[1].v > 5",
    "y[1].v > c.v",
    "y[y.LEN].v > 5",
    "c.v < y[y.LEN].v",
    "y[y.LEN].v IS NOT NULL",
    "y[i].v > y[i-1].v",
    "y[i].v > a.v",
    "y[i].v > AVG(y[].v)",
    "y[i].v > MAX(y[1..i-1].v)",
    "y[i].v > AVG(w[].v)",
    "AVG(y[].v) > 5",
    "MIN(y[].v) > c.v",
    "MAX(y[].v) - MIN(y[].v) > c.v",
    "SUM(y[].v) IS NOT NULL",
    "SUM(w[].v) > 5",
    "NOT (SUM(y[].v) < 9)",
    "LAST_ONE(y[].v) > 5",
    "COUNT(y[]) > 5 OR AVG(y[].v) > 5",
    "AVG(z[].v) > 5",
    "Z.v > c.v",
]


class LastOne:
    """The last value."""

    def init(self) -> float:
        return 0.0

    def step(self, state: float, value: float) -> float:
        return value

    def value(self, state: float) -> float:
        return state


def rows(condition: str, pattern: str, evaluation: str = ENGINE) -> list[dict[str, Any]]:
    text = f"QUERY q RETURN a.id AS a, c.id AS c PATTERN {pattern} WHERE {condition}"
    workload = el.Workload.parse(text, aggregates={"LAST_ONE": LastOne})
    return run_by(evaluation, workload, EVENTS)["q"].to_pylist()


PATTERN = "SEQ(A a, X? x, W* w, Y* y, (Z z OR Z+ z)?, C c)"


@pytest.mark.parametrize("condition", FORMS)
def test_the_match_is_judged_as_if_the_condition_were_absent(condition: str) -> None:
    for evaluation in (ENGINE, *EVALUATIONS):
        assert rows(condition, PATTERN, evaluation) == [{"a": "a", "c": "c"}], evaluation


@pytest.mark.parametrize("condition", ["COUNT(y[]) > 0", "COUNT(y[].v) > 0", "COUNT(y[]) > c.v"])
def test_a_count_of_no_events_is_0_and_applies(condition: str) -> None:
    assert rows(condition, PATTERN) == []
    assert rows(condition.replace("> 0", "= 0").replace("> c.v", "< c.v"), PATTERN) != []


def test_a_condition_applies_when_a_value_is_null_and_the_variable_is_bound() -> None:
    text = "QUERY q RETURN c.id AS c PATTERN SEQ(X+ x, C c) WHERE {}"
    stream = [{"time": 0.0, "type": "X", "v": None, "id": "x"}, EVENTS[1]]
    for condition in ("AVG(x[].v) > 1", "x[1].v > c.v", "c.v > x[x.LEN].v"):
        assert el.Workload.parse(text.format(condition)).run(stream)["q"].num_rows == 0


def test_a_returned_value_of_an_unbound_variable_is_null() -> None:
    text = f"QUERY q RETURN x.v, y[1].v, y[].v, AVG(y[].v), COUNT(y[]) AS n PATTERN {PATTERN}"
    (row,) = el.Workload.parse(text).run(EVENTS)["q"].to_pylist()
    assert [row[name] for name in row if name != "n"] == [None, None, [], None]
    assert row["n"] == 0


TREND_FORMS = (
    "x.v > 5",
    "x.v > c.v",
    "c.v < y.v",
    "y.v > a.v",
    "y.v + c.v > 9",
    "x[1].v > a.v",
    "x[i].v > x[i-1].v",
    "NOT (y.v < 9)",
    "c.v > 5 OR c.v + y.v > 9",
    "y.v IS NOT NULL",
)


def forms_of_both(forms: tuple[str, ...]) -> el.Workload:
    """Return for each condition a trend query and a match query that have one result each."""
    pattern = "PATTERN SEQ(A a, X* x, (Y y)?, C c)"
    return el.Workload.parse(
        "\n".join(
            f"QUERY t{n} RETURN COUNT(*) AS n {pattern} WHERE {form};"
            f"QUERY m{n} RETURN c.v AS n, a.id {pattern} WHERE {form};"
            for n, form in enumerate(forms)
        )
    )


def test_trend_queries_follow_the_rule_too() -> None:
    results = forms_of_both(TREND_FORMS).run(EVENTS)
    for n, form in enumerate(TREND_FORMS):
        assert [row["n"] for row in results[f"t{n}"].to_pylist()] == [1], form
        assert [row["n"] for row in results[f"m{n}"].to_pylist()] == [2], form


def test_so_do_both_on_spark(spark: SparkSession) -> None:
    forms = ("y.v + c.v > 9", "x[1].v > a.v")
    results = forms_of_both(forms).run(spark.createDataFrame(pa.Table.from_pylist(EVENTS)))
    for n, form in enumerate(forms):
        assert [row["n"] for row in results[f"t{n}"].toArrow().to_pylist()] == [1], form
        assert [row["n"] for row in results[f"m{n}"].toArrow().to_pylist()] == [2], form
