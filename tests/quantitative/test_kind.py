"""Queries of Python as a kind: named in a text, planned, run by both drivers, saved and loaded."""

import types
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore as el
import elsinore.quantitative as qre
from elsinore.errors import InvalidWorkloadError, QuerySemanticError, QuerySyntaxError, StateError
from elsinore.expressions.columns import evaluate
from elsinore.language import parse_workload, render
from elsinore.operators import OperatorOptions, kind_for, specialize
from elsinore.plan import Travel, Unit
from elsinore.runtime.classify import classify, type_numbers
from elsinore.workload import Workload

M, S = qre.event("M"), qre.event("S")
HIGH = qre.predicate(M.v > 5, "high")
PER_SYNC = qre.split(
    qre.iterate(
        qre.either(qre.atom(HIGH, lambda m: m.v), qre.atom(~(HIGH | S), lambda other: 0.0)),
        qre.sum(0.0),
    ),
    qre.atom(S),
    lambda total, sync: total,
)


def per_key() -> qre.Query:
    return qre.map_collect(S, "k", qre.iter_last(PER_SYNC))


def kinds_seen(state: str, item: Any) -> str:
    return state + item.type


MODULE = types.ModuleType("detectors")
MODULE.totals = qre.iter_last(PER_SYNC).by("k")  # type: ignore[attr-defined]
MODULE.per_key = per_key  # type: ignore[attr-defined]
MODULE.kinds = qre.iterate1(  # type: ignore[attr-defined]
    qre.atom(), "", kinds_seen
)
MODULE.pipeline = qre.filter(HIGH) >> qre.iterate1(qre.atom(), qre.count())  # type: ignore[attr-defined]
SO_FAR = qre.iterate1(qre.atom(qre.item.value >= 0.0, lambda item: item.value), qre.max())
LESS = qre.iterate1(qre.atom(qre.any, lambda item: item.value - item.k), qre.sum(0.0))
MODULE.chain = MODULE.totals >> SO_FAR.by("k") >> LESS  # type: ignore[attr-defined]
MODULE.number = 5  # type: ignore[attr-defined]
TEXT = """
QUERY totals FROM detectors:totals;
QUERY collected FROM detectors:per_key;
QUERY trends RETURN k, COUNT(*) PATTERN SEQ(M m+, S) GROUP BY k;
"""


def events(count: int = 60) -> pa.Table:
    drawn = np.random.default_rng(4)
    return pa.table(
        {
            "time": np.arange(count),
            "type": pa.array([("M", "S", "other")[n] for n in drawn.integers(0, 3, count)]),
            "v": pa.array([None if v == 9 else float(v) for v in drawn.integers(0, 10, count)]),
            "k": drawn.integers(0, 4, count),
        }
    )


def run(text: str, **options: Any) -> Any:
    return Workload.parse(text, python=[MODULE]).run(events(), **options)


def test_a_text_names_queries_of_python_and_is_rendered_again() -> None:
    workload = parse_workload(TEXT)
    assert parse_workload(render(workload)) == workload
    assert "QUERY totals\nFROM     detectors:totals;" in render(workload)
    assert render(parse_workload('QUERY q FROM "odd name":a.b')) == (
        'QUERY q\nFROM     "odd name":a.b;'
    )


def test_the_builder_takes_queries_of_python() -> None:
    built = el.query("collected").from_python(per_key)
    assert built.source == f"{__name__}:per_key"
    results = Workload(built).run(events())["collected"]
    assert results.to_pylist() == run(TEXT)["collected"].to_pylist()


def test_all_kinds_run_together_and_give_what_each_gives_alone() -> None:
    results = run(TEXT)
    alone = MODULE.totals.run(events()).to_pylist()
    assert results["totals"].to_pylist() == alone
    collected = per_key().run(events()).to_pylist()
    assert results["collected"].to_pylist() == collected
    assert len(alone) > 5 < len(collected)
    assert results["trends"].num_rows == 4


def test_a_chain_that_a_text_names_runs_beside_others_and_gives_what_it_gives_alone() -> None:
    text = f"{TEXT} QUERY chain FROM detectors:chain;"
    alone = MODULE.chain.run(events())
    assert run(text)["chain"].to_pylist() == alone.to_pylist()
    assert alone.column_names == ["time", "value"]
    assert len(set(alone["value"].to_pylist())) > 5
    rows: dict[str, list[Any]] = {}
    for name, table in Workload.parse(text, python=[MODULE]).batches(events()):
        rows.setdefault(name, []).extend(table.to_pylist())
    assert rows["chain"] == alone.to_pylist()
    explained = Workload.parse(text, python=[MODULE]).explain()
    assert ">> over the values in order of time" in explained
    assert "by k" in explained
    assert run("QUERY chain FROM detectors:chain", rejects=True)["chain"].num_rows == alone.num_rows


def test_a_chain_of_no_values_has_none() -> None:
    few = events(3)
    assert MODULE.totals.run(few.slice(0, 0)).num_rows == 0
    none = MODULE.chain.run(few.slice(0, 0))
    assert (none.num_rows, none.column_names) == (0, ["time", "value"])


def test_an_empty_list_has_the_columns_that_queries_of_all_kinds_name() -> None:
    matches = "QUERY matches RETURN a.w, b.x PATTERN SEQ(A a, B b) WHERE upper(a.u) = b.x"
    text = f"{TEXT} QUERY chain FROM detectors:chain; {matches}"
    results = Workload.parse(text, python=[MODULE]).run([])
    assert {name: result.column_names for name, result in results.items()} == {
        "totals": ["k", "time", "value"],
        "collected": ["time", "value"],
        "trends": ["k", "window_start", "window_end", "count(*)"],
        "chain": ["time", "value"],
        "matches": ["a.w", "b.x"],
    }
    for query in (MODULE.totals, per_key(), MODULE.chain, MODULE.pipeline, SO_FAR):
        assert query.run([]).num_rows == 0
    assert MODULE.totals.run([], time="at", type="what").column_names == ["k", "at", "value"]


def test_functions_receive_items_with_their_type() -> None:
    results = run("QUERY kinds FROM detectors:kinds; QUERY p FROM detectors:pipeline")
    assert results["kinds"].to_pylist()[-1]["value"] == "".join(events()["type"].to_pylist())
    assert results["p"].to_pylist() == MODULE.pipeline.run(events()).to_pylist()


def test_results_on_spark_are_those_in_process(spark: SparkSession) -> None:
    text = "QUERY totals FROM detectors:totals; QUERY collected FROM detectors:per_key;"
    text += "QUERY chain FROM detectors:chain;"
    frame = spark.createDataFrame(events().to_pandas())
    results = Workload.parse(text, python=[MODULE]).run(frame)
    expected = run(text)
    for name in ("totals", "collected", "chain"):
        rows = [repr(row) for row in results[name].to_pylist()]
        assert sorted(rows) == sorted(repr(row) for row in expected[name].to_pylist())


def test_spark_requires_a_declared_type_if_the_type_of_values_is_unknown(
    spark: SparkSession,
) -> None:
    frame = spark.createDataFrame(events(5).to_pandas())
    module = types.ModuleType("untold")
    module.query = qre.filter(S) >> qre.filter(qre.any)  # type: ignore[attr-defined]
    with pytest.raises(QuerySemanticError, match="Declare the return type"):
        Workload.parse("QUERY q FROM untold:query", python=[module]).run(frame)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("QUERY q FROM detectors:total", "has no 'total'.*Did you mean 'totals'"),
        ("QUERY q FROM other:x", "The module 'other' is not among"),
        ("QUERY q FROM detectors:number", r"is 5 \(int\)\. Name a query of elsinore.quantitative"),
        ("QUERY q FROM detectors:totals LIMIT 3", "leave LIMIT out"),
        ("QUERY q FROM detectors.totals", "Expected .*':'"),
        ("QUERY q FROM detectors:totals; QUERY r FROM detectors:x", "has no 'x'"),
    ],
)
def test_impossible_queries_are_rejected_before_events_are_read(text: str, message: str) -> None:
    with pytest.raises((QuerySemanticError, QuerySyntaxError, InvalidWorkloadError), match=message):
        _ = Workload.parse(text, python=[MODULE]).plan


def test_a_text_alone_runs_no_code() -> None:
    with pytest.raises(QuerySemanticError, match="a query alone runs no code"):
        Workload.parse("QUERY q FROM json:dumps")


def test_the_error_for_a_missing_attribute_suggests_the_nearest() -> None:
    few = events().rename_columns(["time", "type", "w", "key"])
    with pytest.raises(InvalidWorkloadError) as caught:
        Workload.parse(TEXT, python=[MODULE]).run(few)
    assert "the events have no attribute 'v'" in str(caught.value)
    assert "by: the events have no attribute 'k'" in str(caught.value)


def test_a_key_with_the_name_of_the_column_of_values_is_rejected() -> None:
    workload = Workload(el.query("q").from_python(qre.filter(M).by("value")))
    with pytest.raises(QuerySemanticError, match="by 'value': the result's column of values"):
        workload.run(events().append_column("value", events()["k"]))


def test_explain_contains_the_expression_tree() -> None:
    explained = Workload.parse(TEXT, python=[MODULE]).explain()
    assert "map_collect(S, item.k, S+)" in explained
    assert "partitioned by k" in explained


# --- the operator -----------------------------------------------------------------------------


def unit_and_batch(text: str) -> tuple[Unit, pa.RecordBatch]:
    table = events()
    plan = Workload.parse(text, python=[MODULE]).plan
    known = dict(zip(table.schema.names, table.schema.types, strict=True))
    (unit,) = specialize(plan, known, declared=False).units
    arrays = {name: table[name].combine_chunks() for name in table.column_names}
    numbers = type_numbers(arrays["type"], plan.types)
    key = np.zeros(table.num_rows) if not unit.key else arrays["k"].to_numpy()
    columns: dict[str, Any] = {
        "key": pa.array(key.astype(np.int32)),
        "group": pa.array(key.astype(np.int32)),
        "time": arrays["time"],
        "class": pa.array(classify(unit.classes, numbers, plan.types, {})),
    }
    for column in unit.columns:
        assert column.travel is Travel.RAW
        source = column.source
        columns[column.name] = (
            arrays[source] if isinstance(source, str) else evaluate(source, arrays)
        )
    return unit, pa.RecordBatch.from_pydict(columns)


def given_out(batches: Any) -> list[Any]:
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("query", ["totals", "per_key", "kinds", "pipeline"])
def test_results_do_not_depend_on_batches_and_saved_states(query: str) -> None:
    unit, batch = unit_and_batch(f"QUERY q FROM detectors:{query}")
    kind = kind_for(unit)
    expected = given_out(kind.operator(unit, OperatorOptions()).process(batch))
    assert len(expected) > 2
    operator = kind.operator(unit, OperatorOptions())
    results = []
    for begin in range(0, batch.num_rows, 7):
        results += given_out(operator.process(batch.slice(begin, 7)))
        assert operator.deadline() is None
        operator = kind.load(unit, operator.save())
    assert results + given_out(operator.close()) == expected


def test_results_of_consecutive_keys_are_those_of_interleaved_keys() -> None:
    unit, batch = unit_and_batch("QUERY q FROM detectors:totals")
    kind = kind_for(unit)
    expected = given_out(kind.operator(unit, OperatorOptions()).process(batch))
    order = np.argsort(batch.column("key").to_numpy(), kind="stable")
    sorted_ = batch.take(pa.array(order))
    operator = kind.operator(unit, OperatorOptions(one_slot=True))
    results = []
    for begin in range(0, batch.num_rows, 7):
        results += given_out(operator.process(sorted_.slice(begin, 7)))
        operator = kind.load(unit, operator.save())
    assert sorted(map(repr, results)) == sorted(map(repr, expected))


def test_a_damaged_state_is_rejected() -> None:
    unit, batch = unit_and_batch("QUERY q FROM detectors:totals")
    kind = kind_for(unit)
    operator = kind.operator(unit, OperatorOptions())
    list(operator.process(batch))
    for blob in (b"nothing", operator.save()[:-5]):
        with pytest.raises(StateError):
            kind.load(unit, blob)


@pytest.mark.parametrize("number", [40, 70])
def test_conditions_on_many_attributes_are_distinguished(number: int) -> None:
    steps = [qre.atom(getattr(qre.item, f"a{n}") > 0, type) for n in range(number)]
    in_turn = qre.iter_last(qre.split(*steps, lambda *ones: len(ones)))
    drawn = np.random.default_rng(number)
    columns: dict[str, Any] = {"time": np.arange(2 * number), "type": ["M"] * 2 * number}
    for n in range(number):
        signs = drawn.integers(-1, 2, 2 * number)
        signs[n::number] = 1
        columns[f"a{n}"] = pa.array([None if sign == 0 else float(sign) for sign in signs])
    table = pa.table(columns)
    results = Workload(el.query("in_turn").from_python(in_turn)).run(table)["in_turn"].to_pylist()
    assert results == in_turn.run(table).to_pylist()
    assert results == [{"time": n * number - 1, "value": number} for n in (1, 2)]
