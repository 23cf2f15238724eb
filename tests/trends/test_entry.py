"""Batches as operators take them, wherever their columns are and whoever lends slots."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.kernels import enter
from elsinore.kernels.arrow import Lender
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.operators.slots import KeySlots
from elsinore.trends.operators import load_operator
from elsinore.trends.sums.entry import MANY_TOTALS, arrive, arrive_sharing, read_sums
from elsinore.trends.values.columns import matrix
from support.trends import table_of
from support.units import UnitInput, unit_inputs
from trends.test_closing import many_events

TEXT = """QUERY q RETURN k, COUNT(*), SUM(b.v), SUM(b.w), MIN(b.v) PATTERN SEQ(A a, B b+) GROUP BY k
WITHIN 20 seconds SLIDE 5 seconds;"""
NEIGHBOURS = """QUERY q RETURN k, COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ(A a, B b+)
WHERE b[i].w >= b[i-1].w AND [k] GROUP BY k WITHIN 20 seconds SLIDE 5 seconds;"""
STEPS = """QUERY q RETURN k, COUNT(*) PATTERN SEQ(A a, B b+) STRATEGY SKIP TILL NEXT MATCH
WHERE b[i].w >= b[i-1].w GROUP BY k WITHIN 20 seconds SLIDE 5 seconds;"""
TUMBLING = """QUERY {name} RETURN k, COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ({first} a, B b+)
WHERE b.v < {bound} GROUP BY k WITHIN 20 seconds;"""
BOTH = pytest.mark.parametrize("text", [TEXT, NEIGHBOURS])


def drawn(text: str = TEXT) -> UnitInput:
    """Return events of many keys, and the unit of a query."""
    table = table_of(many_events(5, 300, 90))
    (found,) = unit_inputs(plan(parse_workload(text)), table, exact=False)
    return found


@pytest.mark.parametrize("text", [TEXT, NEIGHBOURS, STEPS])
def test_events_after_all_was_given_out_find_a_new_operator(text: str) -> None:
    given = drawn(text)
    operator = given.operator()
    first, again = ([operator.process(given.batch), operator.close()] for _ in range(2))
    assert len(given.results(first)["q"]) > 0
    assert given.results(first)["q"].equals(given.results(again)["q"])


@BOTH
def test_columns_of_other_places_and_widths_are_taken_too(text: str) -> None:
    given = drawn(text)
    batch = given.batch
    names = [*batch.schema.names[:3:-1], "time", "class", "group", "key"]
    columns = [batch.column(name) for name in names[:-1]]
    other = pa.record_batch([*columns, batch.column("key").cast(pa.int64())], names)
    results = []
    ways = [(batch, batch), (other, other)]
    if text == TEXT:  # rows that wait are of one schema
        ways.append((batch, other))
    for first, later in ways:
        operator = given.operator()
        pieces = first.slice(0, 100), later.slice(100, 100), first.slice(200)
        taken = [operator.process(piece) for piece in pieces]
        results.append(given.results([*taken, operator.close()])["q"])
    assert results[0].num_rows > 0
    assert all(result.equals(results[0]) for result in results)


def test_a_later_batch_without_a_column_that_is_added_up_is_refused() -> None:
    given = drawn()
    operator, batch = given.operator(), given.batch
    operator.process(batch.slice(0, 100))
    names = ["other" if name == "sum:v" else name for name in batch.schema.names]
    without = pa.RecordBatch.from_arrays(batch.columns, names)
    for _ in range(2):
        with pytest.raises(ValueError, match="sum:v"):
            operator.process(without.slice(100))


@drawn_from(
    st.lists(st.tuples(*[st.none() | st.floats()] * 2), max_size=40),
    st.integers(0, 9),
)
def test_numbers_that_are_added_up_are_read_as_they_are(
    rows: list[tuple[float | None, float | None]], first: int
) -> None:
    columns = [pa.array([row[place] for row in rows], pa.float64()) for place in (0, 1)]
    batch = pa.record_batch([pa.nulls(len(rows)), *columns], ["n", "sum:v", "sum:w"]).slice(first)
    addends, lender = np.empty(4 * batch.num_rows), Lender()
    try:
        read_sums(lender.lend(batch), np.array([1, 2]), addends)
    finally:
        lender.take_back()
    values, present = matrix(batch, "sum:", ["v", "w"], np.float64)
    expected = np.stack([values[0], present[0], values[1], present[1]], axis=1)
    np.testing.assert_array_equal(addends, expected.reshape(-1))


@BOTH
def test_slots_that_are_lent_give_what_keys_give(text: str) -> None:
    given, results = drawn(text), []
    for slots in (None, KeySlots()):
        operator = given.operator()
        batches = [given.batch.slice(0, 170), given.batch.slice(170)]
        taken = [operator.process(batch, slots) for batch in batches]
        results.append(given.results([*taken, operator.close()])["q"])
    assert results[0].equals(results[1])


@pytest.mark.parametrize("text", [TEXT, NEIGHBOURS, STEPS])
def test_columns_that_are_told_to_have_no_nulls_are_lent_slots_and_saved_too(text: str) -> None:
    given, results = drawn(text), []
    names = ("key", "group", "time", "class")
    schema = pa.schema([one.with_nullable(one.name not in names) for one in given.batch.schema])
    strict = pa.RecordBatch.from_arrays(given.batch.columns, schema=schema)
    for batch, slots in ((given.batch, None), (strict, KeySlots())):
        operator = given.operator()
        taken = [operator.process(batch.slice(0, 170), slots)]
        operator = load_operator(given.unit, operator.save())
        taken += [operator.process(batch.slice(170), slots), operator.close()]
        results.append(given.results(taken)["q"])
    assert results[0].num_rows > 0
    assert results[0].equals(results[1])


def test_bursts_are_looked_at_by_units_with_groups_alone_and_others_give_the_same_with_it() -> None:
    alone = TUMBLING.format(name="q", first="A", bound=3)
    shared = alone + TUMBLING.format(name="r", first="C", bound=4)
    assert vars(drawn(shared).operator())["_arrive"] is arrive_sharing
    given, results = drawn(alone), []
    for entered in (arrive, arrive_sharing):
        operator = given.operator()
        assert vars(operator)["_arrive"] is arrive
        vars(operator)["_arrive"] = entered
        taken = [operator.process(given.batch.slice(begin, 90)) for begin in range(0, 300, 90)]
        results.append(given.results([*taken, operator.close()])["q"])
    assert results[0].num_rows > 0
    assert results[0].equals(results[1])


def test_a_batch_after_one_out_of_order_is_read_from_its_first_event() -> None:
    given = drawn()
    operator, batch = given.operator(), given.batch
    rows = pa.array([*range(9), *range(200, 290), *range(9, 100)])
    with pytest.raises(InputError, match="out of time order"):
        operator.process(batch.take(rows))
    before, fresh = operator.statistics.matched, given.operator()
    for one in (operator, fresh):
        one.process(batch.slice(290))
    assert operator.statistics.matched - before == fresh.statistics.matched > 0


def test_a_closing_that_was_interrupted_can_be_done_again_and_events_come_before() -> None:
    given, results = drawn(), []
    first, second = given.batch.slice(0, 170), given.batch.slice(170)
    for is_interrupted in (True, False):
        operator = given.operator()
        given_out = [operator.process(first)]
        if is_interrupted:
            with (
                mock.patch("elsinore.trends.sums.operator.enter", side_effect=KeyboardInterrupt),
                pytest.raises(KeyboardInterrupt),
            ):
                operator.close(given.batch.column("time")[170].as_py())
        given_out += [operator.process(second), operator.close()]
        results.append(given.results(given_out)["q"])
    assert results[0].num_rows > 0
    assert results[0].equals(results[1])


def test_many_totals_leave_early_where_keys_are_groups_and_are_what_is_found_by_hashing() -> None:
    events = [
        replace(event, attributes={**event.attributes, "s": str(event.attributes["k"])})
        for event in many_events(3, 9_000, 2)
    ]
    query = """QUERY q{n} RETURN k, COUNT(*), SUM(b.v) PATTERN B b+ WHERE b.v < {n}{keys} GROUP BY k
    WITHIN 5 seconds SLIDE 1 second;"""
    early, results = [], []
    for keys in ("", " AND [s]"):
        text = "\n".join(query.format(n=n, keys=keys) for n in range(8))
        (given,) = unit_inputs(plan(parse_workload(text)), table_of(events), exact=False)
        operator = given.operator()
        batches = [given.batch.slice(begin, 1_000) for begin in range(0, 9_000, 1_000)]
        totals = [operator.process(batch) for batch in batches]
        early.append(sum(len(batch) for batch in totals))
        results.append(given.results([*totals, operator.close()]))
    assert early[0] >= MANY_TOTALS > early[1] == 0
    assert results[0].keys() == results[1].keys()
    assert all(table.equals(results[1][name]) for name, table in results[0].items())


def test_what_closes_with_a_batch_is_told_to_take_as_long_as_closing_alone() -> None:
    given = drawn()
    with (
        mock.patch("elsinore.trends.sums.operator.is_compiled", return_value=False),
        mock.patch("elsinore.trends.sums.operator.enter", side_effect=enter) as entered,
    ):
        operator, last = given.operator(), given.batch.column("time")[-1].as_py()
        operator.process(given.batch.slice(0, 290))
        entered.reset_mock()
        operator.process(given.batch.slice(290), until=last)
        operator.close(last)
    told = [call.args[1] for call in entered.call_args_list if call.args[0] is not read_sums]
    assert told[0] > told[-1] > 0
