"""What is combined before the shuffle gives what events give that all travel, and in process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import elsinore as el
from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.local import run as run_in_process
from elsinore.model import Window, Workload
from elsinore.model.window import SECOND
from elsinore.operators import OperatorOptions, kind_for, plan
from elsinore.operators.panes import ActionSize
from elsinore.plan import Granularity, Sharing, Unit
from elsinore.plan.modes import Combine
from elsinore.runtime.columnar import Layout, Packing, Stretches
from elsinore.runtime.finishing import Finish, Outputs
from elsinore.runtime.options import RunOptions
from elsinore.runtime.results import Results
from elsinore.runtime.travelling import travelling
from elsinore.spark import shuffle
from elsinore.spark.combining import CombineEvents, least_events, panes_of, shared_times
from elsinore.spark.partition import RunOperators
from elsinore.spark.scan import combined as choice
from elsinore.spark.scan import files, ranges, tasks
from elsinore.spark.scan.combined import combining, unsent_share
from elsinore.spark.scan.files import FileColumn, RowGroup, row_groups_in, splits
from elsinore.spark.scan.parts import in_time_order
from elsinore.spark.scan.selection import judge_row_groups, row_groups_of
from elsinore.spark.scan.skipping import Skipping, interests_of
from elsinore.spark.scan.tasks import ScanAndPack
from elsinore.spark.spreading import Share, stretches_of
from oracles.reference import ReferenceEvent
from support.trends import Feature, table_of, trend_cases

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "20")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
PARTITIONS = 3
DAYS = ("mon.parquet", "tue.parquet", "wed.parquet", "thu.parquet", "fri.parquet")


def results(
    units: tuple[Unit, ...],
    path: Path,
    options: RunOptions,
    tasks: int,
    stretches: Stretches | None = None,
) -> tuple[list[dict[str, list[Any]]], int]:
    """Return the results of a pass's units, and how many events were combined, as Spark's tasks."""
    schema = pq.read_schema(path)
    read = [name for unit in units for name in unit.attributes]
    names = dict.fromkeys(["time", "type", *options.order_by, *read])
    columns = tuple(FileColumn(name, schema.field(name).type) for name in names)
    by_name = {column.name: column for column in columns}
    skipping = Skipping(
        condition=None,
        interests=interests_of(units, {name: name for name in names}, pa.string(), "type"),
        required=units[0].required,
        time="time",
        type="type",
        strict=True,
        columns=by_name,
    )
    selection = row_groups_in([str(path)], columns, partial(judge_row_groups, skipping, options))
    parts = splits(in_time_order(selection.groups), tasks)
    combine = None
    if options.combine is Combine.ALWAYS:
        actual = combining(units, parts, options)
        assert isinstance(actual, CombineEvents)
        combine = actual
    keys = [(f"g{n}", schema.field(name).type) for n, name in enumerate(units[0].group_by)]
    keys += [(f"k{n}", schema.field(name).type) for n, name in enumerate(units[0].equivalence)]
    orders = tuple(f"o{n}" for n in range(len(options.order_by)))
    events = [("time", pa.int64()), *((f"class{n}", pa.int64()) for n in range(len(units)))]
    events += [
        (o, schema.field(name).type) for o, name in zip(orders, options.order_by, strict=True)
    ]
    for number, column in enumerate(travelling(units).values()):
        double = column.name.startswith("sum:")
        kind = pa.float64() if double else schema.field(column.attributes[0]).type
        events.append((f"c{number}", kind))
    layout = Layout(pa.schema(keys), pa.schema(events))
    scan = ScanAndPack(
        splits=tuple(map(tuple, parts)),
        columns=columns,
        names={name: name for name in names},
        dictionary_columns=frozenset(),
        condition=None,
        units=units,
        options=options,
        packing=Packing(layout=layout, partitions=PARTITIONS, stretches=stretches),
        combine=combine,
    )
    sent = list(scan([pa.record_batch({"id": range(len(parts))})])) if parts else []
    types = [{name: schema.field(name).type for name in unit.carried} for unit in units]
    outputs = Outputs(units, types)
    run = RunOperators(
        units=units,
        outputs=outputs,
        layout=layout,
        options=OperatorOptions(one_slot=True, ordered=bool(orders), last_time=options.last_time),
        orders=orders,
        memory=300,
        actions=None if combine is None else combine.layout,
        combined=0 if combine is None else combine.number,
        again=scan.again,
        share=None
        if stretches is None or not stretches.crossing
        else Share.from_units(units, stretches, PARTITIONS),
    )
    partials: list[pa.RecordBatch] = []
    for partition in range(PARTITIONS):
        blobs = [b.filter(pa.compute.equal(b.column("pid"), partition)) for b in sent]
        partials += run(blobs)
    of_units = []
    for unit, carried in zip(units, types, strict=True):
        rows: dict[str, list[Any]] = {name: [] for name in unit.names}
        for place, name in enumerate(unit.names):
            number = unit.queries[place]
            mine = [b.filter(pa.compute.equal(b.column("query"), number)) for b in partials]
            mine = [outputs.fields_of(number, b) for b in mine]
            for table in Finish(unit, (place,), carried)(mine):
                rows[name] += table.to_pylist()
        of_units.append(rows)
    return of_units, 0 if combine is None else combine.statistics.combined


def comparable(rows: list[Any]) -> list[Any]:
    """Return rows in an order of their own, windows in seconds."""
    told = []
    for row in rows:
        bounds = {
            n: None if row[n] is None else row[n] / 1e6 for n in ("window_start", "window_end")
        }
        told.append(row | bounds)
    return told


@often
@given(
    trend_cases()
    | trend_cases(features=(Feature.NEGATION,))
    | trend_cases(features=(Feature.NEGATION,), most=20),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(["time", "hardly", "chance"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_combined_events_give_what_others_give(
    tmp_path: Path,
    case: tuple[Workload, list[ReferenceEvent]],
    rows: int,
    count: int,
    order: str,
    large: bool,
    ordered: bool,
    beside: bool,
    seed: int,
) -> None:
    workload, stream = case
    assume(len(stream) > 0)
    try:
        ready = plan(workload)
    except (QueryError, InvalidWorkloadError):
        assume(False)
        raise
    table = table_of(stream)
    chance = np.random.default_rng(seed)
    place = {
        "time": np.zeros(len(table)),
        "hardly": chance.integers(0, 3, len(table)),
        "chance": chance.integers(0, 1_000, len(table)),
    }[order]
    table = table.append_column("turn", pa.array(chance.permutation(len(table))))
    path = tmp_path / "events.parquet"
    in_file = np.argsort(table.column("time").to_numpy() + place, kind="stable")
    pq.write_table(table.take(pa.array(in_file)), path, row_group_size=rows)
    apart = order == "time" and len(set(table.column("time").to_pylist())) == len(table)
    by = ("turn",) if ordered else ()
    expected = run_in_process(ready, table, RunOptions(order_by=by))
    for unit in ready.units:
        assume(not isinstance(panes_of(unit), str))
        pass_ = with_another(workload, unit, chance) if beside else (unit,)
        for mode in (Combine.ALWAYS, Combine.NEVER):
            options = RunOptions(order_by=by, combine=mode)
            with pytest.MonkeyPatch.context() as patched:
                if large:  # for memory: row groups are cut in time
                    patched.setattr(files, "BATCH_ROWS", 1)
                    patched.setattr(tasks, "PIECE_ROWS", 2)
                    patched.setattr(tasks, "MOST_ROWS", 2)
                every, some = results(pass_, path, options, count)
            actual = every[pass_.index(unit)]
            if mode is Combine.ALWAYS and apart and any(actual.values()):
                assert some > 0
            for actual in every:
                check(actual, expected)


def with_another(workload: Workload, unit: Unit, chance: np.random.Generator) -> tuple[Unit, ...]:
    """Return a unit and one that keeps the events of one of its queries, in one pass."""
    name = chance.choice(unit.names)
    alone = replace(workload, queries=tuple(q for q in workload.queries if q.name == name))
    (fine,) = plan(alone, granularity=Granularity.FINE).units
    fine = replace(fine, queries=(len(workload.queries),))
    return (unit, fine) if chance.random() < 0.5 else (fine, unit)


def check(found: dict[str, list[Any]], expected: Results[Any]) -> None:
    for name, told in found.items():
        wanted = expected[name].to_pylist()
        assert len(told) == len(wanted)
        keys = [
            n for n in expected[name].column_names if not isinstance(wanted and wanted[0][n], float)
        ]
        for row, same in zip(
            sorted(comparable(told), key=lambda r: [repr(r[k]) for k in keys]),
            sorted(wanted, key=lambda r: [repr(r[k]) for k in keys]),
            strict=True,
        ):
            assert row == pytest.approx(same, nan_ok=True)


@often
@given(
    trend_cases(most=14)
    | trend_cases(most=14, features=(Feature.NEGATION, Feature.STRATEGIES))
    | trend_cases(features=(Feature.ADJACENT, Feature.ANCHORED, Feature.CONJUNCTION)),
    st.sampled_from(
        [Window(3 * SECOND), Window(4 * SECOND, SECOND), Window(2 * SECOND, 3 * SECOND)]
    ),
    st.integers(1, 6),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_a_keys_events_in_several_partitions_give_what_one_gives(
    tmp_path: Path,
    case: tuple[Workload, list[ReferenceEvent]],
    window: Window,
    rows: int,
    tasks: int,
    ordered: bool,
    seed: int,
) -> None:
    workload, stream = case
    assume(len(stream) > 0)
    windowed = (replace(query, window=query.window or window) for query in workload.queries)
    try:
        ready = plan(replace(workload, queries=tuple(windowed)))
    except (QueryError, InvalidWorkloadError):
        assume(False)
        raise
    table = table_of(stream)
    shuffled = np.random.default_rng(seed).permutation(len(table))
    table = table.append_column("turn", pa.array(np.argsort(shuffled)))
    path = tmp_path / "events.parquet"
    pq.write_table(table.take(pa.array(shuffled)), path, row_group_size=rows)
    options = RunOptions(order_by=("turn",) if ordered else (), combine=Combine.NEVER)
    expected = run_in_process(ready, table, options)
    for unit in ready.units:
        stretches = stretches_of([unit], options, PARTITIONS, None)
        assume(isinstance(stretches, Stretches))
        check(results((unit,), path, options, tasks, stretches)[0][0], expected)


@pytest.mark.parametrize("rise", [0.0, 1e9])
def test_variances_are_combined_without_loss(tmp_path: Path, rise: float) -> None:
    chance = np.random.default_rng(8)
    count = 400
    values = 1e9 + np.arange(count) // 90 * rise + chance.integers(0, 50, count) / 16
    table = pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000_000),
            "type": np.array(list("AB"))[chance.integers(0, 2, count)],
            "g": chance.integers(0, 3, count),
            "v": pa.array(values, mask=chance.random(count) < 0.1),
        }
    )
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=37)
    queries = """QUERY q RETURN g, VARIANCE(B.v) AS variance, STDDEV(B.v) AS deviation,
        VAR_POP(B.v) AS population PATTERN SEQ(A, B+) GROUP BY g WITHIN 60 SLIDE 30;"""
    ready = plan(el.language.parse_workload(queries))
    (unit,) = ready.units
    rows = {}
    for mode in (Combine.ALWAYS, Combine.NEVER):
        options = RunOptions(combine=mode, time_unit="us")
        (actual,), combined = results((unit,), tmp_path / "events.parquet", options, 4)
        assert (combined > 300) is (mode is Combine.ALWAYS)
        rows[mode] = sorted(comparable(actual["q"]), key=lambda r: (r["g"], r["window_start"]))
    assert len(rows[Combine.NEVER]) > 20
    assert any(row["variance"] for row in rows[Combine.NEVER])
    for row, same in zip(*rows.values(), strict=True):
        there = {name for name, value in same.items() if value is not None}
        assert there == {name for name, value in row.items() if value is not None}
        assert {n: row[n] for n in there} == pytest.approx({n: same[n] for n in there}, rel=1e-11)


QUERY = """QUERY q RETURN g, COUNT(*) AS n, AVG(B.v) AS v, MIN(B.v) AS least PATTERN SEQ(A, B+, C)
    GROUP BY g WITHIN 100 seconds SLIDE 50 seconds;"""

# An operator of its own, which goes over the same events: they are kept one by one.
RISING = """QUERY r RETURN g, COUNT(*) AS n PATTERN SEQ(C, B+ b) WHERE b[i].v > b[i-1].v
    GROUP BY g WITHIN 100 seconds SLIDE 50 seconds;"""


def skewed(rows: int = 6_000) -> pa.Table:
    """Return events of which four in five are of one key, twenty a second."""
    chance = np.random.default_rng(5)
    return pa.table(
        {
            "time": pa.array(np.arange(rows) // 20),
            "type": np.array(list("ABC"))[chance.integers(0, 3, rows)],
            "g": np.where(chance.random(rows) < 0.8, 0, chance.integers(1, 300, rows)),
            "v": chance.integers(0, 9, rows),
        }
    )


def rows_of(found: Any) -> list[Any]:
    return sorted(found.to_pylist(), key=lambda row: (row["g"], row["window_start"]))


def check_rows(found: Results[Any], expected: Results[Any]) -> None:
    for name in expected:
        for row, same in zip(rows_of(found[name]), rows_of(expected[name]), strict=True):
            assert row == pytest.approx(same)


def test_a_large_keys_events_are_combined_by_the_tasks_that_read_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = skewed()
    monkeypatch.setattr(choice, "ENOUGH_ROWS", len(table))
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=500)
    workload = el.Workload.parse(QUERY + RISING)
    expected = workload.run(table)
    rising = pc.sum(pc.is_in(table.column("type"), pa.array(["B", "C"]))).as_py()
    combined = {}
    for mode in ("auto", "always", "never"):
        with workload.run(str(tmp_path / "events.parquet"), spark=spark, combine=mode) as actual:
            check_rows(actual, expected)
            counted, kept = actual.statistics
            assert (counted.events, kept.events, kept.combined) == (len(table), rising, 0)
            assert counted.totals == len(expected["q"].to_arrow())
            combined[mode] = counted.combined
    # the large key's, but for moments that two row groups have, and hardly any other
    assert 0.6 * len(table) < combined["auto"] < 0.8 * len(table) < combined["always"]
    assert combined["never"] == 0


def test_events_in_no_order_of_time_are_not_combined(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = skewed()
    monkeypatch.setattr(choice, "ENOUGH_ROWS", len(table))
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
    pq.write_table(shuffled, tmp_path / "events.parquet", row_group_size=500)
    workload = el.Workload.parse(QUERY)
    with workload.run(str(tmp_path / "events.parquet"), spark=spark) as actual:
        for row, same in zip(rows_of(actual["q"]), rows_of(workload.run(table)["q"]), strict=True):
            assert row == pytest.approx(same)
        assert actual.statistics[0].combined == 0


def test_a_large_keys_events_are_spread_over_partitions_where_none_are_combined(
    spark: SparkSession,
) -> None:
    table = skewed()
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
    sliding = """QUERY q RETURN COUNT(*) AS n, AVG(B.v) AS v PATTERN SEQ(A, B+)
        WITHIN 10 seconds SLIDE 5 seconds;"""
    for text, names in ((QUERY.replace("SLIDE 50 seconds", ""), ["g"]), (sliding, [])):
        workload = el.Workload.parse(text)
        # twice as many partitions as there are cores, however little there is to do
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(shuffle, "PARTITION_BYTES", 1 << 10)
            actual = workload.run(spark.createDataFrame(shuffled.to_pandas()))
            rows = actual["q"].frame.withColumn("partition", F.spark_partition_id()).toArrow()
        by = [(name, "ascending") for name in [*names, "window_start"]]
        rows, expected = rows.sort_by(by), workload.run(table)["q"].sort_by(by)
        large = rows.filter(pc.equal(rows.column("g"), 0)) if names else rows
        assert len(set(large.column("partition").to_pylist())) > 1
        for row, same in zip(
            rows.drop_columns("partition").to_pylist(), expected.to_pylist(), strict=True
        ):
            assert row == pytest.approx(same)
        (counted,) = actual.statistics
        assert counted.events == len(table) if names else counted.events < len(table)
        assert counted.totals == len(rows)


def test_events_are_read_again_where_what_was_combined_overlaps(
    spark: SparkSession, tmp_path: Path
) -> None:
    table, path = skewed(), tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=500)
    workload = el.Workload.parse(RISING + QUERY)
    actual = workload.run(str(path), spark=spark, combine="always")
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
    pq.write_table(shuffled, path, row_group_size=500)
    check_rows(actual, workload.run(table))
    kept, counted = actual.statistics
    rising = pc.sum(pc.is_in(table.column("type"), pa.array(["B", "C"]))).as_py()
    assert (kept.events, kept.combined) == (rising, 0)
    assert (counted.events, counted.matched) == (len(table), len(table))
    assert counted.combined < 0.05 * len(table)  # of keys that do not overlap


def test_why_no_events_are_combined_is_told() -> None:
    text = "QUERY {} RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 60;"
    (unit,) = plan(el.language.parse_workload(text.format("q"))).units
    kept = "QUERY q RETURN COUNT(*) PATTERN B+ b WHERE b[i].v > b[i-1].v WITHIN 60;"
    (fine,) = plan(el.language.parse_workload(kept)).units
    long = text.format("q").replace("A, B+", "A{1,6}, B{1,6}")
    (expensive,) = plan(el.language.parse_workload(long)).units
    over_all = kept.replace("B+ b", "SEQ(A, B+ b)")
    (beside,) = plan(el.language.parse_workload(over_all)).units
    apart = [[RowGroup("f", n, 10**6, 1, (n * 10, n * 10 + 9))] for n in range(3)]
    over = [[RowGroup("f", n, 10**6, 1, (n, n + 9))] for n in range(3)]
    few = [[RowGroup("f", 0, 10, 1, (0, 9))]]
    unknown = [[RowGroup("f", 0, 10**6, 1, None)]]
    told = [
        combining([expensive, beside], apart, RunOptions()),
        combining([unit], apart, RunOptions(combine=Combine.NEVER)),
        combining([unit], apart, RunOptions(record=True)),
        combining([unit], apart, RunOptions(sharing=Sharing.ALWAYS)),
        combining([fine], apart, RunOptions()),
        combining([unit], over, RunOptions()),
        combining([unit], few, RunOptions()),
        combining([unit], unknown, RunOptions(combine=Combine.ALWAYS)),
    ]
    assert len({why for why in told if isinstance(why, str) and why}) == len(told)
    for units in ([unit], [unit, beside], [beside, unit], [fine, expensive]):
        actual = combining(units, apart, RunOptions())
        assert isinstance(actual, CombineEvents)
        assert actual.unit in {unit, expensive}
    assert (unsent_share(unit, []), unsent_share(unit, [fine]), unsent_share(unit, [beside])) == (
        1.0,
        0.5,
        0.0,
    )


def test_an_action_is_made_where_it_is_cheaper_than_its_events() -> None:
    small = size_of("SEQ(A, B+)", "WITHIN 60")
    least = [least_events(small, mode) for mode in Combine]
    assert least[1:] == [1, None]
    assert 2 <= least[0] < 100
    sliding = least_events(size_of("SEQ(A, B+)", "WITHIN 60 SLIDE 6"), Combine.AUTO)
    assert sliding is not None
    assert sliding > least[0]
    assert least_events(size_of("SEQ(A{1,20}, B{1,20}, C+)", "WITHIN 60"), Combine.AUTO) is None


def size_of(pattern: str, window: str) -> ActionSize:
    text = f"QUERY q RETURN COUNT(*) PATTERN {pattern} {window};"
    panes = kind_for(unit := plan(el.language.parse_workload(text)).units[0]).panes(unit)
    assert not isinstance(panes, str)
    return panes.size


def test_moments_of_several_files_are_shared() -> None:
    assert shared_times([(0, 5), (6, 9)]).tolist() == []
    assert shared_times([(0, 5), (5, 9), (5, 5)]).tolist() == [5, 6]
    assert shared_times([(0, 9), (3, 4), (-(2**62), 0)]).tolist() == [0, 1, 3, 5]


@pytest.mark.parametrize(
    ("kind", "unit", "span"),
    [
        (pa.int64(), "ms", (1_000, 3_000)),
        (pa.int16(), "s", (1_000_000, 3_000_000)),
        (pa.float64(), "s", (1_000_000, 3_000_000)),
        (pa.timestamp("ms", "Asia/Kathmandu"), "s", (1_000, 3_000)),
        (pa.timestamp("us"), "s", (1, 3)),
        (pa.date32(), "s", (86_400_000_000, 3 * 86_400_000_000)),
        (pa.uint64(), "s", None),
    ],
)
def test_statistics_tell_the_times_of_row_groups(
    tmp_path: Path, kind: pa.DataType, unit: str, span: tuple[int, int] | None
) -> None:
    times = pa.array([2, 1, None, 3], pa.int32() if pa.types.is_date(kind) else pa.int64())
    pq.write_table(pa.table({"t": times.cast(kind)}), tmp_path / "t.parquet")
    metadata, schema = (
        pq.read_metadata(tmp_path / "t.parquet"),
        pq.read_schema(tmp_path / "t.parquet"),
    )
    options = RunOptions(time_unit=unit)
    actual = ranges.ranges_of(metadata, schema.field("t"), FileColumn("t", kind), options)
    assert actual == [span]
    pq.write_table(
        pa.table({"t": times.cast(kind)}), tmp_path / "t.parquet", write_statistics=False
    )
    actual = ranges.ranges_of(
        pq.read_metadata(tmp_path / "t.parquet"), schema.field("t"), FileColumn("t", kind), options
    )
    assert actual == [None]


@pytest.mark.parametrize("files", [DAYS, ("all.parquet",)], ids=["a file a day", "one file"])
def test_daily_files_are_combined_whatever_their_names(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Sequence[str]
) -> None:
    table = skewed()
    monkeypatch.setattr(choice, "ENOUGH_ROWS", len(table))
    size = -(-len(table) // len(files))
    for number, name in enumerate(files):
        day = table.slice(number * size, size)
        pq.write_table(day, tmp_path / name, row_group_size=-(-size // 8))
    workload = el.Workload.parse(QUERY)
    paths = sorted(map(str, tmp_path.iterdir()))
    options = workload.timed(RunOptions(), numbers=True, fine=False)
    plan_of_run = workload.planned(clock=options.clock)
    predicted = row_groups_of(plan_of_run, paths, options)
    assert predicted is not None
    with workload.run(str(tmp_path), spark=spark) as actual:
        check_rows(actual, workload.run(table))
        (counted,) = actual.statistics
    assert [selection.not_combined for selection in predicted] == [counted.not_combined] == [""]
    assert counted.combined > 0.6 * len(table)


def test_files_that_overlap_are_not_combined_and_explain_says_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = skewed()
    monkeypatch.setattr(choice, "ENOUGH_ROWS", len(table))
    for number in range(3):  # each from the first day to the last
        part = table.take(pa.array(range(number, len(table), 3)))
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=len(table))
    workload = el.Workload.parse(QUERY)
    options = workload.timed(RunOptions(), numbers=True, fine=False)
    paths = sorted(map(str, tmp_path.iterdir()))
    predicted = row_groups_of(workload.planned(clock=options.clock), paths, options)
    assert predicted is not None
    with workload.run(str(tmp_path), spark=spark) as actual:
        check_rows(actual, workload.run(table))
        (counted,) = actual.statistics
    assert counted.combined == 0
    assert counted.not_combined == predicted[0].not_combined
    assert counted.not_combined.startswith("the row groups of several tasks overlap in time: 0%")
