# ruff: noqa: ARG005 - a function of values need not read all of them
"""Quantitative queries over tables, in this process."""

from dataclasses import make_dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import elsinore.quantitative as qre
from elsinore.errors import InputError, QuerySemanticError
from elsinore.runtime import predicate_bits

M, E = qre.event("M"), qre.event("E")
TOTAL = qre.iter_last(
    qre.split(
        qre.iterate(qre.atom(M, lambda m: m.v), qre.sum()), qre.atom(E), lambda total, end: total
    )
)
ROWS = [
    {"time": 1, "type": "M", "v": 2, "p": "x"},
    {"time": 2, "type": "M", "v": 3, "p": "y"},
    {"time": 3, "type": "E", "v": None, "p": "x"},
    {"time": 4, "type": "M", "v": 4, "p": "y"},
    {"time": 5, "type": "E", "v": None, "p": "y"},
]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize("data", [TABLE, TABLE.to_pandas(), pl.from_arrow(TABLE), ROWS])
def test_any_table_gives_time_and_value(data: Any) -> None:
    assert TOTAL.run(data).to_pylist() == [{"time": 3, "value": 5}, {"time": 5, "value": 4}]


def test_each_key_has_a_stream_of_its_own() -> None:
    assert TOTAL.by("p").run(TABLE).to_pylist() == [
        {"p": "x", "time": 3, "value": 2},
        {"p": "y", "time": 5, "value": 7},
    ]


def test_events_are_taken_in_order_of_time_and_without_time_as_they_stand() -> None:
    mixed = TABLE.take([4, 0, 3, 1, 2])
    assert TOTAL.run(mixed).equals(TOTAL.run(TABLE))
    assert TOTAL.run(TABLE.drop_columns("time")).to_pylist() == [
        {"position": 2, "value": 5},
        {"position": 4, "value": 4},
    ]


def test_columns_of_other_names_are_named_by_the_caller() -> None:
    renamed = TABLE.rename_columns(["ts", "kind", "v", "p"])
    assert TOTAL.run(renamed, time="ts", type="kind").column_names == ["ts", "value"]


def test_predicates_on_attributes_are_those_of_single_items() -> None:
    high = qre.filter((M.v > 2) | M.v.is_null())
    by_table = high.run(TABLE)["time"].to_pylist()
    stream = high.start()
    by_item = [row["time"] for row in ROWS if stream.push(row) is not qre.UNDEFINED]
    assert by_table == by_item == [2, 4]


def test_records_and_maps_become_structs_and_maps() -> None:
    keyed = qre.map_collect(E, "p", qre.match(qre.seq(M.star(), E)), E)
    counted = qre.apply(keyed, lambda found: {key: (key, 1.5) for key in found})
    found = counted.run(TABLE)
    assert pa.types.is_map(found.schema.field("value").type)
    assert found["value"].to_pylist() == [
        [("x", {"_1": "x", "_2": 1.5}), ("y", {"_1": "y", "_2": 1.5})]
    ]


def test_values_of_different_kinds_are_refused() -> None:
    mixed = qre.either(qre.atom(M, lambda m: (1, 2)), qre.atom(E, lambda e: {"x": 1}))
    with pytest.raises(InputError, match="different kinds: map and record"):
        qre.iter_last(mixed).run(TABLE)


def test_an_attribute_that_the_events_lack_is_named_with_the_nearest() -> None:
    with pytest.raises(QuerySemanticError, match=r"no attribute 'vv'\. Did you mean 'v'"):
        qre.filter(M.vv > 2).run(TABLE)
    with pytest.raises(QuerySemanticError, match="no attribute 'q'"):
        TOTAL.by("q").run(TABLE)


def test_events_without_a_time_are_refused() -> None:
    with pytest.raises(InputError, match="1 event has no time"):
        TOTAL.run(pa.table({"time": [1, None], "type": ["M", "E"], "v": [1, None]}))


def running(attribute: str) -> qre.Query:
    return qre.iterate1(qre.atom(qre.any, lambda item: getattr(item, attribute)), qre.sum())


def test_values_of_all_keys_are_the_next_querys_items_in_order_of_time() -> None:
    assert (TOTAL.by("p") >> running("value")).run(TABLE)["value"].to_pylist() == [2, 9]
    large = qre.filter(qre.item.value > 2)
    pair = qre.apply(large, lambda item: (item.p, item.time, item.value))
    assert (TOTAL.by("p") >> pair).run(TABLE).to_pylist() == [
        {"time": 5, "value": {"_1": "y", "_2": 5, "_3": 7}}
    ]


def test_fields_of_a_record_are_attributes_of_the_next_querys_items() -> None:
    pair = qre.apply(TOTAL, lambda total: (total, 10 * total))
    chain = pair.by("p") >> running("_2").by("p") >> running("value")
    assert [row["value"] for row in chain.run(TABLE).to_pylist()] == [20, 90]


def test_events_without_times_keep_their_positions_in_a_chain() -> None:
    events = TABLE.drop_columns("time")
    actual = (TOTAL.by("p") >> running("value")).run(events)
    assert actual.to_pylist() == [{"position": 2, "value": 2}, {"position": 4, "value": 9}]


def test_a_field_called_like_a_key_is_refused_in_a_chain() -> None:
    class_ = make_dataclass("Sum", [("p", int)])
    chain = qre.apply(TOTAL, class_).by("p") >> running("p")
    with pytest.raises(QuerySemanticError, match="field 'p'"):
        chain.run(TABLE)


def test_what_is_no_query_is_refused_in_a_chain() -> None:
    with pytest.raises(QuerySemanticError, match="takes queries"):
        TOTAL.by("p") >> 3  # type: ignore[operator]


def test_a_table_is_run_in_slices_as_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values are missing in some slices; items that change nothing fill others."""
    a, b = qre.event("A"), qre.event("B")
    others = qre.match((~(a | b)).star())
    value = qre.split(others, qre.atom(a, lambda item: item.v), qre.right)
    total = qre.split(qre.iterate(value, qre.sum()), others, qre.atom(b), lambda total, *_: total)
    count = 200
    table = pa.table(
        {
            "time": range(count),
            "type": ["ABCCCACCCCCCAAB"[n % 15] for n in range(count)],
            "key": [None if n % 11 == 0 else n % 3 for n in range(count)],
            "v": [None if n % 15 in {2, 14} else n for n in range(count)],
        }
    )
    query = qre.iter_last(total)
    expected = [each.run(table) for each in (query, query.by("key"))]
    assert all(actual.num_rows for actual in expected)
    monkeypatch.setattr(predicate_bits, "SLICE", 7)
    for each, values in zip((query, query.by("key")), expected, strict=True):
        assert each.run(table).equals(values)
