"""Cells that an event changes one after another come to what rows of lanes come to."""

from __future__ import annotations

import itertools
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from elsinore.trends.sums import class_words
from elsinore.trends.sums.cell_lists import Cell, cell_words

QUERY = """QUERY q{number} RETURN key, {returns}
PATTERN {pattern} GROUP BY key WITHIN {within} SLIDE {slide};"""
PATTERNS = (
    "SEQ({first} a, {many} b+, {last} c)",
    "SEQ({first} a, ({many} b | {last} c)+)",
    "SEQ(({first} a)?, ({last} c)?, ({many} b)+)",
)
RETURNS = ("COUNT(*), COUNT(b), AVG(b.v), SUM(c.v)", "COUNT(*)")
GREAT, BEYOND = 2.0**232, 2.0**664  # few of which add up to the same in any order
VALUES = st.sampled_from([None, 0.0, 1.5, -3.0, GREAT, -GREAT, BEYOND, float("nan"), float("inf")])
EVENTS = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.integers(0, 1), VALUES), min_size=1, max_size=25
)


def results(
    table: pa.Table,
    number: int,
    slide: int,
    wide: int,
    pattern: str = PATTERNS[0],
    returns: str = RETURNS[0],
) -> tuple[str, int]:
    """Return the rows of so many queries in words, and how many lists of cells there were."""
    types = itertools.product("BACD", "ABCD", "CBAD")
    if pattern != PATTERNS[0]:  # of one type they would be ambiguous
        types = (several for several in types if len({*several}) == 3)
    queries = [
        QUERY.format(
            number=n,
            pattern=pattern.format(first=a, many=b, last=c),
            returns=returns,
            within=20,
            slide=slide,
        )
        for n, (a, b, c) in enumerate(itertools.islice(types, 7, 7 + number))
    ]
    lists = 0
    made = class_words.ClassWords._write_cells

    def counted(
        self: class_words.ClassWords,
        written: class_words._Writer,
        steps: list[class_words.Step],
        gained: range,
    ) -> class_words.Here | int:
        nonlocal lists
        found = made(self, written, steps, gained)
        lists += found != 0
        return found

    with (
        mock.patch.object(class_words, "WIDE", wide),
        mock.patch.object(class_words.ClassWords, "_write_cells", counted),
    ):
        found = run(plan(parse_workload("\n".join(queries))), table, RunOptions(threads=1))
    return str([found[f"q{n}"].to_pylist() for n in range(number)]), lists


def test_four_lanes_are_told_of_once_and_before_single_ones() -> None:
    rows = [
        [Cell(20 + lane, (10 + lane,), (), -1) for lane in range(6)],  # read 10 to 15
        [Cell(14 + lane, (14 + lane, 0), (), -1) for lane in range(5)],  # one for all lanes
        [Cell(30 + lane, (40 + lane,), (), -1) for lane in range(4)],
    ]
    fours = [20, 10, 30, 40]
    sums = [24, 14, 99, 25, 15, 99]
    sums += [word for lane in range(14, 19) for word in (lane, lane, 0)]  # 14 is read before
    assert cell_words(rows, 1, 99) == [2, 7, 0, *fours, *sums]


def test_terms_that_are_not_added_by_four_are_added_in_twos() -> None:
    rows = [
        [Cell(20 + lane, (20 + lane, 10 + lane, 1), (), -1) for lane in range(5)],
        [Cell(30, (2, 3, 4), (), -1)],
    ]
    fours = [20, 20, 20, 10]  # all but the last lane's first two terms
    sums = [24, 24, 14, *(word for lane in range(20, 25) for word in (lane, 1, 99))]
    sums += [30, 2, 3, 30, 4, 99]
    assert cell_words(rows, 1, 99) == [2, 8, 0, *fours, *sums]


@settings(max_examples=25)
@given(
    EVENTS,
    st.integers(1, 16),
    st.sampled_from([20, 7, 3]),
    st.sampled_from(PATTERNS),
    st.sampled_from(RETURNS),
    st.booleans(),
)
def test_cells_and_rows_give_the_same(
    events: list[tuple[str, int, float | None]],
    number: int,
    slide: int,
    pattern: str,
    returns: str,
    tied: bool,
) -> None:
    types, keys, values = zip(*events, strict=True)
    table = pa.table(
        {
            "time": [place >> tied for place in range(len(events))],
            "type": types,
            "key": keys,
            "v": pa.array(values, pa.float64()),
        }
    )
    cells, _ = results(table, number, slide, class_words.WIDE, pattern, returns)
    rows, lists = results(table, number, slide, 0, pattern, returns)
    assert lists == 0
    assert cells == rows


@pytest.mark.parametrize("number", [1, 6, 20])
def test_cells_get_powers_where_numbers_grow_beyond_doubles(number: int) -> None:
    types = ["A", "B", "C", "D", *["B", "C"] * 600, "A", "B", "C"]
    times = range(len(types))
    table = pa.table(
        {"time": pa.array([t / 100 for t in times]), "type": types, "key": [0] * len(types),
         "v": [float(t % 7) for t in times]}
    )  # fmt: skip
    cells, lists = results(table, number, 20, class_words.WIDE)
    assert lists > 0
    assert cells == results(table, number, 20, 0)[0]
