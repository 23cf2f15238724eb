"""Ranks: whole numbers in the order of the values that they stand for."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsinore as el
from elsinore.errors import InputError
from elsinore.operators.ranks import from_ranks, rank_doubles, to_ranks

CENTS = st.integers(-(10**17), 10**17).map(lambda cents: Decimal(cents).scaleb(-2))
KINDS = {
    "decimal": (pa.decimal128(20, 2), CENTS),
    "long decimal": (pa.decimal128(38, 0), st.integers(-(2**63) + 1, 2**63 - 2).map(Decimal)),
    "wide decimal": (pa.decimal256(60, 2), CENTS),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 2)),
    "int64": (pa.int64(), st.integers(-(2**63) + 1, 2**63 - 2)),
    "double": (pa.float64(), st.floats(allow_nan=False).map(lambda number: number + 0.0)),
    "date": (pa.date32(), st.dates()),
    "boolean": (pa.bool_(), st.booleans()),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_ranks_are_in_order_and_give_the_values_back(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    drawn = [None, *data.draw(st.lists(st.none() | values, max_size=8))]
    column = pa.array(drawn, kind).slice(1)
    ranks = to_ranks(column)
    actual = ranks.to_pylist()
    assert [rank is None for rank in actual] == [value is None for value in drawn[1:]]
    pairs = [pair for pair in zip(drawn[1:], actual, strict=True) if pair[0] is not None]
    for value, rank in pairs:
        assert [value < other for other, _ in pairs] == [rank < other for _, other in pairs]
    missing = column.is_null().to_numpy(zero_copy_only=False)
    numbers = np.asarray(ranks.fill_null(0).to_numpy(zero_copy_only=False))
    assert from_ranks(numbers, missing, kind).to_pylist() == drawn[1:]


@given(doubles=st.lists(st.floats() | st.sampled_from([0.0, -0.0]), max_size=8))
def test_ranks_are_in_the_order_of_doubles(doubles: list[float]) -> None:
    numbers = np.array(doubles)
    known = np.zeros(len(doubles), dtype=np.bool_)
    of_both = []
    for one_zero in (True, False):
        ranks = np.zeros(len(doubles), dtype=np.int64)
        every = rank_doubles(numbers, ranks, known, one_zero=one_zero)
        assert known.tolist() == [not math.isnan(number) for number in doubles]
        assert every == all(known)
        of_both.append(ranks)
    as_one, apart = of_both
    for first, number in enumerate(doubles):
        for second, other in enumerate(doubles):
            if known[first] and known[second]:
                assert (as_one[first] < as_one[second]) == (number < other)
    given_back = from_ranks(apart, ~known, pa.float64()).to_pylist()
    expected = ["None" if math.isnan(number) else repr(number) for number in doubles]
    assert [repr(number) for number in given_back] == expected
    assert not as_one[~known].any()


def test_least_and_greatest_decimals_are_exact() -> None:
    prices = [Decimal("1.50"), Decimal("-2.25"), None, Decimal("1.75")]
    table = pa.table({"time": [1, 2, 3, 4], "type": ["A"] * 4, "v": pa.array(prices)})
    workload = el.Workload.parse("QUERY q RETURN MIN(A.v) AS low, MAX(A.v) AS high PATTERN A;")
    (row,) = workload.run(table)["q"].to_pylist()
    assert (row["low"], row["high"]) == (Decimal("-2.25"), Decimal("1.75"))


@pytest.mark.parametrize("kind", [pa.decimal128(38, 0), pa.decimal256(60, 0)])
def test_decimals_beyond_64_bits_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(InputError, match="of up to 18 digits"):
        to_ranks(pa.array([Decimal(10) ** (kind.precision - 1)], kind))


def test_decimals_that_are_refused_are_named() -> None:
    numbers = pa.array([Decimal(2**63)], pa.decimal128(20, 0))
    table = pa.table({"time": [1], "type": ["A"], "v": numbers})
    workload = el.Workload.parse("QUERY q RETURN MIN(A.v) PATTERN A;")
    with pytest.raises(InputError, match=r"'v' is a decimal\(20, 0\).* Cast it to a double"):
        workload.run(table)
