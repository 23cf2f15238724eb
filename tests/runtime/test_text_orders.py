"""Numbers that are text and compared by their order are told of."""

from pathlib import Path

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.runtime.files import read_events

RISING = "QUERY q RETURN COUNT(*) PATTERN T+ WHERE T[i].price > T[i-1].price;"


def told(prices: list[str | None], text: str = RISING) -> tuple[str, ...]:
    rows = range(len(prices))
    table = pa.table({"time": rows, "type": ["T"] * len(prices), "price": prices, "w": prices})
    return el.Workload.parse(text).run(table).warnings


@pytest.mark.parametrize(
    ("prices", "example"),
    [(["9", "10", None], "'10' is before '9'"), (["2", "n/a", "-1", "-3"], "'-1' is before '-3'")],
)
def test_numbers_in_text_that_are_ordered_otherwise_are_told(
    prices: list[str | None], example: str
) -> None:
    (sentence,) = told(prices)
    assert sentence == (
        f"query q: T[i].price > T[i-1].price compares texts: {example}. If numbers are meant, "
        "cast 'price' to a number."
    )


@pytest.mark.parametrize(
    "condition", ["T.price BETWEEN '5' AND '10'", "T[i].price <= T[i-1].w", "'10' > T.price"]
)
def test_constants_and_other_columns_are_texts_too(condition: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN T+ WHERE {condition};"
    assert len(told(["9", "8"] if "'" in condition else ["9", "10"], text)) == 1


@pytest.mark.parametrize(
    "prices", [["20240131", "20231224"], ["007", "010"], ["a9", "a10"], [None], ["3", "x", "y"]]
)
def test_texts_that_are_none_or_in_the_same_order_are_not(prices: list[str | None]) -> None:
    assert told(prices) == ()


def test_equality_is_the_same_for_both() -> None:
    assert told(["9", "10"], RISING.replace(">", "=")) == ()


def test_a_column_that_is_text_on_purpose_is_not_told_of(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("time,type,price\n1,T,9\n2,T,10\n3,T,n/a\n")
    workload = el.Workload.parse(RISING)
    assert len(workload.run(read_events(path)).warnings) == 1
    assert workload.run(read_events(path, text="price")).warnings == ()
