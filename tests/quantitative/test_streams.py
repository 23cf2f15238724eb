"""Streams: errors take nothing with them, states are saved and loaded, space stays flat."""

import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import ElsinoreError, InputError
from elsinore.quantitative.runnable import Query
from support.quantitative import cases, queries

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
M, S = qre.event("M"), qre.event("s")
ITEM_COLUMNS = pa.schema([("type", pa.string()), ("v", pa.int64()), ("k", pa.int64())])


def inverse_of_last() -> Query:
    return qre.iterate(qre.atom(qre.any, lambda v: 10 // v), 0, lambda total, v: total + v)


@given(cases(queries()), st.data())
@settings(max_examples=EXAMPLES)
def test_a_loaded_stream_continues_as_if_never_saved(
    case: tuple[Query, list[Any]], data: st.DataObject
) -> None:
    query, stream = case
    cut = data.draw(st.integers(0, len(stream)))
    whole, first = query.start(), query.start()
    expected = [whole.push(item) for item in stream]
    found = [first.push(item) for item in stream[:cut]]
    second = query.load(first.save())
    assert second.value == first.value
    assert second.position == cut
    assert found + [second.push(item) for item in stream[cut:]] == expected


def test_a_function_that_raises_names_item_position_and_expression_and_keeps_the_state() -> None:
    stream = inverse_of_last().start()
    assert [stream.push(5), stream.push(2)] == [2, 7]
    with pytest.raises(qre.OperationError, match=r"ZeroDivisionError.*at item 2") as caught:
        stream.push(0)
    assert caught.value.position == 2
    assert caught.value.item == 0
    assert "of atom(any" in caught.value.expression
    assert stream.push(1) == 17


def test_the_error_for_a_missing_attribute_of_an_item_suggests_the_nearest() -> None:
    query = qre.iterate(qre.atom(op=lambda item: item.value), qre.sum())
    has = r"no attribute 'value' \(it has: type, valu. Did you mean 'valu'\?\), at item 0"
    for give in (query.start().push, lambda row: query.run([row])):
        with pytest.raises(qre.OperationError, match=has):
            give({"type": "M", "valu": 2})


def test_the_representation_of_a_stream_contains_its_query_and_its_value() -> None:
    stream = qre.iterate(qre.atom(), qre.count()).start()
    stream.push(3)
    text = "<stream of <iterate(atom(any), count): any*> at position 1, value 1>"
    assert repr(stream) == text


def test_items_of_a_batch_before_one_that_fails_are_processed() -> None:
    stream = inverse_of_last().start()
    with pytest.raises(qre.OperationError):
        stream.extend([5, 2, 0, 1])
    assert stream.position == 2
    assert stream.push(1) == 17


def test_a_function_that_raises_in_one_key_changes_no_key() -> None:
    per_key = qre.split(
        qre.iterate(qre.atom(~S, lambda m: m.v), qre.sum()),
        qre.atom(S),
        lambda total, sync: total // sync.v,
    )
    query = qre.map_collect(S, "k", per_key, S)
    stream = query.start()
    for key, v in (("x", 4), ("y", 6)):
        stream.push({"type": "M", "k": key, "v": v})
    with pytest.raises(qre.OperationError, match="ZeroDivisionError"):
        stream.push({"type": "s", "k": None, "v": 0})
    stream.push({"type": "M", "k": "x", "v": 2})
    assert stream.push({"type": "s", "k": None, "v": 2}) == {"x": 3, "y": 3}


def test_a_key_that_cannot_be_hashed_is_named_with_its_item() -> None:
    query = qre.map_collect(S, lambda item: item.k, qre.match(qre.seq((~S).star(), S)), S)
    with pytest.raises(InputError, match=r"The key \['x'\] cannot be told from.*tuple, at item 0"):
        query.start().push({"type": "M", "k": ["x"]})


def test_the_key_function_is_not_called_for_synchronization_items() -> None:
    query = qre.map_collect(S, lambda item: item.k, qre.match(qre.seq((~S).star(), S)), S)
    assert query.start().push({"type": "s"}) == {}


def test_an_error_in_a_later_stage_restores_the_earlier_stages() -> None:
    running = qre.filter(qre.any) >> inverse_of_last()
    stream = running.start()
    assert stream.push(5) == 2
    with pytest.raises(qre.OperationError, match="item 1"):
        stream.push(0)
    assert (stream.position, stream.push(2)) == (1, 7)


def test_idle_keys_cost_nothing() -> None:
    calls = []

    def at_sync(total: int, item: Any) -> int:
        calls.append(item)
        return total

    per_key = qre.split(qre.iterate(qre.atom(~S), qre.count()), qre.atom(S), at_sync)
    day = qre.iter_last(qre.map_collect(S, "k", per_key, S))
    stream = day.start()
    for n in range(100):
        stream.push({"type": "M", "k": n})
    stream.push({"type": "s", "k": None})
    first = len(calls)
    stream.push({"type": "M", "k": 7})
    assert stream.push({"type": "s", "k": None}) == {7: 1}
    assert len(calls) - first <= 3  # key 7 and the idle ones together, not one for each of 100


def test_the_state_of_a_long_stream_is_no_larger_than_that_of_a_short_one() -> None:
    begin, end = qre.event("B"), qre.event("E")
    episode = qre.split(
        qre.atom(begin),
        qre.iterate(qre.atom(M, lambda m: m.v), qre.mean()),
        qre.atom(end),
        qre.unit,
    )
    query = qre.combine(
        qre.iter_last(episode), qre.sliding(episode, 3, qre.count()), lambda one, other: other
    )
    day = [{"type": kind, "v": 1.0} for kind in "BMME"]
    stream = query.start()
    sizes = []
    for _ in range(3):
        stream.extend(day * 500)
        sizes.append(len(stream.save()))
    assert max(sizes) - min(sizes) < 32


def test_a_state_is_loaded_in_another_process() -> None:
    stream = (qre.sliding(qre.atom(), 3, qre.sum())).start()
    stream.extend([1, 2, 3])
    code = (
        "import sys, elsinore.quantitative as qre\n"
        "s = qre.sliding(qre.atom(), 3, qre.sum()).load(sys.stdin.buffer.read())\n"
        "print(s.push(4))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], input=stream.save(), capture_output=True, check=True
    )
    assert found.stdout.strip() == b"9"


def test_a_running_stream_takes_items_and_batches_of_arrow_alike() -> None:
    mean = qre.iterate1(qre.atom(M, lambda m: m.v), qre.mean())
    query = qre.iter_last(qre.split(mean, qre.atom(S), qre.left))
    items = [{"type": "Ms"[n % 5 == 4], "v": float(n * n % 7)} for n in range(60)]
    alone = query.start()
    expected = [(n, v) for n, item in enumerate(items) if (v := alone.push(item)) is not None and v]
    stream = query.start()
    found = [(n, v) for n in range(7) if (v := stream.push(items[n])) is not qre.UNDEFINED]
    for table in (pa.Table.from_pylist(items[7:31]), pa.RecordBatch.from_pylist(items[31:40])):
        given = stream.take(table)
        found += zip(given["position"].to_pylist(), given["value"].to_pylist(), strict=True)
    assert stream.value == alone.value or stream.position == 40
    frame = pa.Table.from_pylist(items[40:50]).to_pandas()
    given = stream.take(frame.rename(columns={"type": "kind"}), type="kind")
    found += zip(given["position"].to_pylist(), given["value"].to_pylist(), strict=True)
    found += stream.over(pl.DataFrame(items[50:]))
    assert found == expected
    assert stream.save() == alone.save()


def test_rows_before_one_that_fails_have_been_taken() -> None:
    query = qre.iterate(qre.atom(qre.any, lambda item: 10 // item.n), 0, lambda t, v: t + v)
    stream = query.start()
    with pytest.raises(qre.OperationError, match="at item 2 "):
        stream.take(pa.table({"n": [5, 2, 0, 1, 1]}))
    assert (stream.position, stream.push({"n": 1})) == (2, 17)


def test_an_error_tells_the_whole_item_and_its_place_among_all() -> None:
    """Items that change nothing are left out, and attributes that nothing reads."""
    value = qre.split(qre.match((~M).star()), qre.atom(M, lambda m: 10 // m.v), qre.right)
    query = qre.iterate(value, 0, lambda total, v: total + v)
    kinds = ["x", "M", "x", "x", "M", "x", "M", "x"]
    table = pa.table({"type": kinds, "v": [0, 5, 0, 0, 2, 0, 0, 0], "other": list(range(8))})
    with pytest.raises(qre.OperationError, match=r"at item 6 .*v=0, other=6\)") as caught:
        query.run(table)
    assert (caught.value.position, caught.value.item.other) == (6, 6)
    stream = query.start()
    with pytest.raises(qre.OperationError, match="at item 6 "):
        stream.take(table)
    assert stream.position == 6
    assert stream.push({"type": "M", "v": 1}) == 17


@given(cases(queries(keys=False), longest=12))
@settings(max_examples=EXAMPLES)
def test_rows_that_change_nothing_may_be_omitted(case: tuple[Query, list[Any]]) -> None:
    query, stream = case
    table = pa.Table.from_pylist([item._asdict() for item in stream], ITEM_COLUMNS)
    singly, rows = query.start(), query.start()
    expected = [
        (n, v) for n, item in enumerate(stream) if (v := singly.push(item)) is not qre.UNDEFINED
    ]
    told = np.array([rows.streams.bits.of(item) for item in stream], np.int64)
    found = rows.streams.take_rows(table, told, last=rows.last)
    assert list(zip(found.places.tolist(), found.boxed(), strict=True)) == expected
    assert rows.position == len(stream)
    assert rows.value == singly.value


def test_an_error_in_a_keys_stream_names_its_item_and_position_in_that_stream() -> None:
    value = qre.split(qre.match((~M).star()), qre.atom(M, lambda m: 10 // m.v), qre.right)
    query = qre.iterate(value, 0, lambda total, v: total + v).by("k")
    table = pa.table({"type": list("MxMMxM"), "v": [1, 9, 2, 5, 9, 0], "k": [1, 1, 2, 1, 2, 2]})
    with pytest.raises(qre.OperationError, match=r"at item 2 .*v=0, k=2\)"):
        query.run(table)
    found = query.run(table.slice(0, 5)).to_pylist()
    assert [(row["k"], row["position"], row["value"]) for row in found] == [
        (1, 0, 10), (2, 2, 5), (1, 3, 12)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"time": [1, None]}, {}, r"1 event has no time .*\(column 'time'\): None in row 1"),
        ({"time": [1.0, float("nan")]}, {}, "no time that can be read .*nan in row 1"),
        ({"time": ["2026-01-01", "soon"]}, {}, "no time that can be read .*'soon' in row 1"),
        ({"time": [[1], [2]]}, {}, "cannot be a time"),
        ({"type": ["M", None]}, {}, "1 event has no type, and M reads it"),
        ({}, {"time": "when"}, "time: the events have no attribute 'when'"),
        ({}, {"type": "'A'"}, "no attribute ''A''.*use the predicate qre.any"),
        ({}, {"type": "kind"}, "the events have no attribute 'kind'.*Did you mean 'kin'"),
        ({}, {"by": "key"}, "by: the events have no attribute 'key'"),
        ({"k": [[1], [2]]}, {"by": "k"}, "an array or a map cannot be a key"),
    ],
)
def test_unusable_events_stop_the_run(
    columns: dict[str, Any], options: dict[str, str], message: str
) -> None:
    table = pa.table({"time": [1, 2], "type": ["M", "s"], "v": [1, 2], "kin": [1, 1]} | columns)
    query: Any = qre.iter_last(qre.either(qre.atom(M), qre.atom(S)))
    if by := options.pop("by", None):
        query = query.by(by)
    with pytest.raises(ElsinoreError, match=message):
        query.run(table, **options)


@pytest.mark.parametrize("numbers", [[1, 2, 3], (0.5,), range(3)])
def test_numbers_are_no_table_and_are_pointed_at_streams(numbers: Any) -> None:
    query = qre.iterate1(qre.atom(), qre.sum())
    for process in (query.run, query.start().take):
        with pytest.raises(InputError, match=r"query\.start\(\)\.extend\(items\)"):
            process(numbers)


def test_times_as_text_are_ordered_by_time() -> None:
    times = ["2026-01-01T09:00:00Z", "2026-01-01T09:30:00+01:00", "2026-01-01T08:45:00.5Z"]
    found = qre.map(lambda item: item.v).run({"time": times, "v": [0, 1, 2]})
    assert found["value"].to_pylist() == [1, 2, 0]
    assert found["time"].to_pylist() == [times[1], times[2], times[0]]


def test_a_run_warns_of_a_rate_that_never_matches() -> None:
    never = qre.atom(qre.predicate((M.v > 5) & (M.v < 3), "odd"))
    with pytest.warns(UserWarning, match="the rate odd never matches: no item satisfies odd"):
        assert never.run({"type": ["M"], "v": [4]}).num_rows == 0
    with pytest.warns(UserWarning, match="never matches"):
        never.by("v").run({"type": ["M"], "v": [4]})


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("bab", "begins with a, but event 0 (counted from 0) does not match: k=7, type=b."),
        ("aaxb", "continues with a or b after 2 events, but event 2 (counted from 0) does not"),
        ("aa", "match only the beginning of its rate a+ b, which continues with a or b."),
    ],
)
def test_the_warning_for_a_run_without_values_names_the_first_event_outside_the_rate(
    types: str, message: str
) -> None:
    counted = qre.iterate1(qre.atom(qre.event("a")), qre.count())
    query = qre.split(counted, qre.atom(qre.event("b")), qre.left)
    others = {"type": ["b"], "k": [8]}
    events = {"type": list(types) + others["type"], "k": [7] * len(types) + others["k"]}
    with pytest.warns(qre.NoValueWarning, match=re.escape(message)):
        assert query.by("k").run(events).num_rows == 0


def test_a_null_key_of_a_map_is_an_error() -> None:
    query = qre.map_collect(S, "k", qre.match(qre.seq((~S).star(), S)), S)
    with pytest.raises(InputError, match="a map with the key None"):
        query.run({"type": ["M", "s"], "k": [None, 1]})


@pytest.mark.parametrize("other", ["text", True, 1.5, None])
def test_parts_of_either_have_values_of_one_type_or_numbers(other: Any) -> None:
    query = qre.iter_last(qre.either(qre.atom(M, lambda _: 1), qre.atom(S, lambda _: other)))
    table = pa.table({"type": ["M", "s"]})
    if isinstance(other, float) or other is None:
        assert query.run(table)["value"].to_pylist() == [1, other]
    else:
        with pytest.raises(InputError, match=r"kinds: .*int.*All parts of an `either`"):
            query.run(table)


def test_parts_of_either_with_values_of_two_types_are_an_error_in_the_run() -> None:
    query = qre.iter_last(qre.either(qre.atom(M, lambda m: m.v), qre.atom(S, lambda s: (s.v, 1))))
    table = pa.table({"type": ["M", "s"], "v": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"of different kinds.*All parts of an `either`"):
        query.run(table)


def test_steps_of_a_long_stream_are_as_many_as_items() -> None:
    """The work per item does not grow: functions are called as often for the last items."""
    calls = []

    def counted(total: int, v: int) -> int:
        calls.append(v)
        return total + v

    pair = qre.split(qre.atom(M, lambda m: 1), qre.atom(S), qre.left)
    fold = qre.Fold(name="n", init=0, step=counted, inverse=lambda total, v: total - v)
    stream = qre.sliding(pair, 50, fold).start()
    items = [{"type": "M"}, {"type": "s"}] * 500
    per_batch = []
    for _ in range(4):
        calls.clear()
        stream.extend(items)
        per_batch.append(len(calls))
    assert per_batch == [500] * 4


def test_the_error_of_a_condition_on_a_missing_attribute_lists_the_attributes() -> None:
    with pytest.raises(InputError, match=r"'sped', which the Record .* Did you mean 'speed'"):
        qre.filter(qre.item.sped > 1).start().push({"type": "M", "speed": 3})
    passed_on = qre.iterate(qre.atom(), qre.counts()) >> qre.filter(qre.item.x > 1)
    with pytest.raises(InputError, match="'x', which the Counts"):
        passed_on.start().push(1)


def test_a_condition_on_a_missing_value_is_false() -> None:
    above = qre.filter(qre.item > 2)
    passed_on = qre.apply(qre.filter(qre.any), lambda item: item.v)
    items = [{"v": None}, {"v": 3}, {"v": 1}]
    assert (passed_on >> above).start().extend(items)[0] == [1]


def test_keys_of_a_dictionary_that_fills_its_numbers_may_be_null() -> None:
    names = pa.array([f"k{number}" for number in range(128)])
    numbers = pa.array([*range(128), None, None, 7], pa.int8())
    table = pa.table({"k": pa.DictionaryArray.from_arrays(numbers, names), "v": range(131)})
    found = qre.iterate(qre.atom(qre.any, lambda item: item.v), 0, max).run(table, by=["k"])
    assert found["k"].to_pylist() == [*names.to_pylist(), None, None, "k7"]
    assert found["value"].to_pylist()[-3:] == [128, 129, 130]


ODD_NAMES = ["class", "import", "None", "_x", "", "a b", "count", "_fields", "__class__", "_1", "0"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_attributes_need_not_be_identifiers(name: str) -> None:
    values = [float(n % 5) for n in range(300)]
    table = pa.table({"time": range(300), "type": ["M"] * 300, name: values})
    read = qre.iterate(qre.atom(qre.any, lambda item: item[name]), qre.sum(0.0))
    assert read.run(table)["value"].to_pylist()[-1] == sum(values)
    above = qre.filter(M[name] > 3).run(table)["value"].to_pylist()
    assert above == [row for row in table.to_pylist() if row[name] > 3]
    assert qre.filter(M[name] > 3).start().push(table.slice(4, 1).to_pylist()[0])[name] == 4.0
    by_key = qre.iterate(qre.atom(), qre.count()).by(name).run(table)
    assert by_key[name].to_pylist() == values
    per_key = qre.map_collect(S, name, qre.match(qre.seq((~S).star(), S)))
    synced = table.set_column(1, "type", pa.array(["M"] * 299 + ["s"]))
    keys = dict(per_key.run(synced)["value"].to_pylist()[-1])
    assert sorted(keys) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_representation_of_an_item_names_its_attributes() -> None:
    item = {"type": "M", "class": 1, "_1": 2, "a b": 3}
    stream = qre.iterate(qre.atom(qre.any, lambda item: item.type + 1), qre.sum()).start()
    with pytest.raises(
        qre.OperationError, match=re.escape("Record(type='M', class=1, _1=2, a b=3)")
    ):
        stream.push(item)
    with pytest.raises(qre.OperationError, match=r"no attribute 'clas'.*Did you mean 'class'"):
        qre.map(lambda item: item["clas"]).start().push(item)


def test_a_chain_shows_the_fields_of_a_tuple_under_the_names_that_they_have() -> None:
    pairs = qre.map(lambda item: (item.v, 2 * item.v)).by("k")
    table = pa.table({"time": range(300), "type": ["M"] * 300, "k": [1] * 300, "v": range(300)})
    sums = pairs >> qre.map(lambda item: (item._1 + item._2, item.k))
    found = sums.run(table)["value"].to_pylist()
    assert found[2:4] == [{"_1": 6, "_2": 1}, {"_1": 9, "_2": 1}]
    items = (pairs >> qre.filter(qre.any)).run(table)["value"].to_pylist()
    assert items[5] == {"k": 1, "time": 5, "_1": 5, "_2": 10}
    wrong = pairs >> qre.map(lambda item: item.v)
    with pytest.raises(qre.OperationError, match=r"\(it has: k, time, _1, _2\.\)"):
        wrong.run(table)


@pytest.mark.parametrize("failing", [0, 299, 300, 599])
def test_a_pipeline_of_many_items_stops_before_the_one_at_which_a_later_stage_fails(
    failing: int,
) -> None:
    """Many items are taken by loops, stage by stage; each stage is left as before the item."""
    numbers = qre.map(lambda item: item.n)
    inverses = qre.iterate1(qre.atom(qre.any, lambda n: 1 / (n - failing)), qre.sum())
    items = [{"n": n} for n in range(600)]
    stream, singly = (numbers >> inverses).start(), (numbers >> inverses).start()
    with pytest.raises(qre.OperationError) as caught:
        stream.extend(items)
    expected = [singly.push(item) for item in items[:failing]]
    assert caught.value.taken == (list(range(failing)), expected)
    assert caught.value.position == failing
    assert stream.save() == singly.save()
    rest = items[failing + 1 :]
    assert stream.extend(rest)[1] == [singly.push(item) for item in rest]


def test_a_pipeline_calls_functions_once_per_item() -> None:
    calls = []

    def noted(item: Any) -> Any:
        calls.append(item)
        return item

    every = M | S
    late = qre.split(qre.match(every.star()), qre.match(M), qre.match(every.times(7)), lambda *_: 1)
    stream, singly = ((qre.map(noted) >> late).start() for _ in range(2))
    rng = np.random.default_rng(1)
    items = [{"type": "Ms"[place]} for place in rng.integers(0, 2, 600)]
    per_batch = []
    for _ in range(2):
        calls.clear()
        values = stream.extend(items)[1]
        per_batch.append(len(calls))
        assert values == [value for item in items if (value := singly.push(item)) == 1]
    assert per_batch == [len(items), len(items)]
