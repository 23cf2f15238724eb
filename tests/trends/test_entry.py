"""Batches as operators take them, wherever their columns are and whoever lends slots."""

from __future__ import annotations

import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.operators.slots import KeySlots
from elsinore.trends.kind import operator_class
from support.trends import table_of
from support.units import UnitInput, unit_inputs
from trends.test_closing import many_events

TEXT = """QUERY q RETURN k, COUNT(*), SUM(b.v), SUM(b.w), MIN(b.v) PATTERN SEQ(A a, B b+) GROUP BY k
WITHIN 20 seconds SLIDE 5 seconds;"""
NEIGHBOURS = """QUERY q RETURN k, COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ(A a, B b+)
WHERE b[i].w >= b[i-1].w AND [k] GROUP BY k WITHIN 20 seconds SLIDE 5 seconds;"""
STEPS = """QUERY q RETURN k, COUNT(*) PATTERN SEQ(A a, B b+) STRATEGY SKIP TILL NEXT MATCH
WHERE b[i].w >= b[i-1].w GROUP BY k WITHIN 20 seconds SLIDE 5 seconds;"""
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
        operator = operator_class(given.unit).load(given.unit, operator.save())
        taken += [operator.process(batch.slice(170), slots), operator.close()]
        results.append(given.results(taken)["q"])
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
