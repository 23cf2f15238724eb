"""NaN has no place in an order: folds by order reject it, with the item's position, everywhere."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import elsinore.quantitative as qre
from elsinore.quantitative.items import as_item
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.streams import Streams
from quantitative.test_instructions import as_seen, given_out
from support.quantitative import called_by_python, cases
from support.quantitative_numbers import WITH_NAN, queries, table_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
S = qre.event("s")
VALUE = qre.atom(~S, lambda item: item.v)
FOLDS: dict[str, Callable[[], qre.Fold]] = {
    "min": qre.min,
    "max": qre.max,
    "top": lambda: qre.top(2),
    "median": qre.median,
    "quantile": lambda: qre.quantile(0.9),
    "approx_median": lambda: qre.approx_median(0.1),
    "approx_quantile": lambda: qre.approx_quantile(0.9, 0.1),
    "sketch": lambda: qre.sketch(0.1),
    "sketch_quantile": lambda: qre.sketch_quantile(0.5, 0.1),
}
SHAPES: dict[str, Callable[[qre.Fold], Any]] = {
    "iterate": lambda fold: qre.iterate(VALUE, fold),
    "iterate1": lambda fold: qre.iterate1(VALUE, fold),
    "window": lambda fold: qre.sliding(VALUE, 3, fold),
    "tumbling": lambda fold: qre.tumbling(VALUE, 2, fold),
    "keys": lambda fold: qre.map_collect(
        S, "k", qre.split(qre.iterate(VALUE, fold), qre.atom(S), qre.left), S
    ),
    "by": lambda fold: qre.iterate(VALUE, fold).by("k"),
    "pipeline": lambda fold: qre.filter(qre.any) >> qre.iterate(VALUE, fold),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(
    ("before", "count"),
    [(0, 4), (5, 8), (290, 300)],
)
def test_nan_is_rejected_with_the_position_of_its_item(
    fold: str, shape: str, before: int, count: int
) -> None:
    query = SHAPES[shape](FOLDS[fold]())
    values = [float(n % 7) + 1.0 for n in range(count)]
    values[before] = math.nan
    table = pa.table({"time": range(count), "type": ["a"] * count, "k": [1] * count, "v": values})
    message = rf"ValueError: NaN has no place in the order of values.*at item {before} "
    with pytest.raises(qre.OperationError, match=message):
        query.run(table)


def test_nan_within_a_tuple_and_in_a_key_of_top_is_rejected() -> None:
    pairs = qre.iterate(qre.atom(qre.any, lambda item: (item.v, item.k)), qre.max())
    greatest = qre.iterate(qre.atom(), qre.top(2, key=lambda item: item.v))
    table = pa.table({"v": [1.0, 2.0, math.nan, 3.0], "k": [1, 2, 3, 4]})
    for query in (pairs, greatest):
        with pytest.raises(qre.OperationError, match=r"NaN has no place.*at item 2 "):
            query.run(table)


def test_folds_without_an_order_accept_nan() -> None:
    for fold in (qre.sum(0.0), qre.mean(), qre.last()):
        result = qre.iterate1(VALUE, fold).run(pa.table({"type": ["a"], "v": [math.nan]}))
        assert math.isnan(result["value"][0].as_py())


@given(cases(queries(), WITH_NAN, longest=9))
@settings(max_examples=EXAMPLES)
def test_items_rows_and_calls_agree_on_streams_with_nan(case: tuple[Query, list[Any]]) -> None:
    query, stream = case
    table = table_of(stream)

    def interpreted() -> Any:
        places, values = query.start().extend([as_item(item) for item in stream])
        return list(zip(places, as_seen(values), strict=True))

    def over_rows() -> Any:
        return list(given_out(Streams(query.programs), table))

    expected = outcome(interpreted)
    assert outcome(over_rows) == expected
    with called_by_python():
        query = Query(query.node)
        assert outcome(interpreted) == expected


def outcome(run: Callable[[], Any]) -> str:
    """Return the values, or what is said of the item that was rejected, as text."""
    try:
        with np.errstate(all="ignore"):
            return repr(run())
    except qre.OperationError as error:
        return f"{error.expression} at {error.position}: {error.__cause__!r}"
