"""Row groups that are skipped hold no event that a condition keeps, whatever their statistics."""

from __future__ import annotations

import datetime as dt
import io
import math
import os
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.model.expression import Operator
from elsinore.operators import plan
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.options import RunOptions
from elsinore.runtime.travelling import ClassFilter
from elsinore.spark.scan.bounds import Statistics, bounds_of
from elsinore.spark.scan.conditions import (
    Bounds,
    Comparison,
    Condition,
    Conjunction,
    Disjunction,
    IsIn,
    Negation,
    NullTest,
    Outcome,
    StartsWith,
    Undecided,
    as_arrow,
    columns_of,
    outcome,
)
from elsinore.spark.scan.files import FileColumn, RowGroupDecision, row_groups_in
from elsinore.spark.scan.selection import judge_row_groups
from elsinore.spark.scan.skipping import Skipping, interests_of

often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "20")))

UTC = dt.UTC
EDGES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, -1, 0, 1, 127],
    pa.int64(): [-(2**63), -(2**53) - 1, 0, 2**53, 2**53 + 1, 2**63 - 1],
    pa.uint8(): [0, 1, 255],
    pa.uint32(): [0, 1, 2**31, 2**32 - 1],
    pa.float32(): [-math.inf, -0.0, 0.0, 0.1, 3.0, math.inf, math.nan],
    pa.float64(): [-math.inf, -0.0, 0.0, 0.1, 3.0, math.inf, math.nan],
    pa.decimal128(5, 2): [Decimal("-9.99"), Decimal("0.00"), Decimal("0.10"), Decimal("9.99")],
    pa.decimal128(25, 4): [Decimal("-1.0000"), Decimal("0.1000"), Decimal(10**15)],
    pa.string(): ["", "a", "aa", "ab", "b", "ä", "zz"],
    pa.large_string(): ["", "a", "aa", "ab", "b", "ä", "zz"],
    pa.dictionary(pa.int32(), pa.string()): ["", "a", "aa", "ab", "b"],
    pa.bool_(): [False, True],
    pa.date32(): [dt.date(1960, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29)],
    pa.timestamp("us", "UTC"): [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(1970, 1, 1, tzinfo=UTC),
        dt.datetime(2024, 2, 29, 12, tzinfo=UTC),
    ],
    pa.timestamp("ms"): [dt.datetime(1969, 12, 31), dt.datetime(2024, 3, 31, 2, 30)],
}
WANTED = {  # what Spark makes of a file's type
    pa.uint8(): pa.int16(),
    pa.uint32(): pa.int64(),
    pa.large_string(): pa.string(),
    pa.dictionary(pa.int32(), pa.string()): pa.string(),
    pa.timestamp("ms"): pa.timestamp("us"),
}
GROUP = 3  # rows


@st.composite
def conditions(draw: st.DrawFn, values: list[Any], kind: pa.DataType) -> Condition:
    """Return a condition on column x with constants among some values."""
    constants = st.sampled_from(values[:-1] if pa.types.is_floating(kind) else values).map(
        lambda v: pa.scalar(v, kind)
    )
    ordered = st.sampled_from([Operator.LT, Operator.LE, Operator.GT, Operator.GE])
    leaves: list[st.SearchStrategy[Condition]] = [
        st.just(NullTest("x")),
        st.builds(IsIn, st.just("x"), st.lists(constants, min_size=1, max_size=12).map(tuple)),
    ]
    if not pa.types.is_boolean(kind):
        leaves += [st.builds(Comparison, st.just("x"), ordered, constants)] * 3
    if pa.types.is_string(kind):
        leaves.append(
            st.builds(StartsWith, st.just("x"), st.sampled_from(["", "a", "aa", "ä", "c"]))
        )
    actual: Condition = draw(
        st.recursive(
            st.one_of(leaves),
            lambda parts: st.one_of(
                st.builds(Negation, parts),
                st.builds(Conjunction, parts, parts),
                st.builds(Disjunction, parts, parts),
            ),
            max_leaves=4,
        )
    )
    return actual


@often
@given(st.data())
def test_a_row_group_is_skipped_only_if_the_condition_keeps_nothing_of_it(
    data: st.DataObject,
) -> None:
    kind = data.draw(st.sampled_from(list(EDGES)))
    values = EDGES[kind]
    wanted = WANTED.get(kind, kind)
    few = st.lists(st.sampled_from(values), min_size=1, max_size=2)  # groups of few values differ
    rows: list[Any] = []
    for _ in range(data.draw(st.integers(1, 5))):
        some = [*data.draw(few), *([None] if data.draw(st.booleans()) else [])]
        rows += [data.draw(st.sampled_from(some)) for _ in range(GROUP)]
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    file = io.BytesIO()
    pq.write_table(
        pa.table({"x": pa.array(rows, plain).cast(kind)}),
        file,
        row_group_size=GROUP,
        write_statistics=data.draw(st.sampled_from([True, True, False])),
        use_dictionary=data.draw(st.booleans()),
        store_decimal_as_integer=data.draw(st.booleans()),
    )
    opened = pq.ParquetFile(file)
    columns = {"x": FileColumn("x", wanted)}
    statistics = Statistics("x.parquet", opened.metadata, opened.schema_arrow, columns)
    drawn = data.draw(conditions(values, wanted))
    assert columns_of(drawn) == {"x"}
    for number in range(opened.metadata.num_row_groups):
        actual = opened.read_row_group(number).column("x")
        if pa.types.is_dictionary(actual.type):
            actual = actual.cast(actual.type.value_type)
        table = pa.table({"x": actual.cast(wanted)})
        for condition in (drawn, *simple(table.column("x"))):
            possible = outcome(condition, lambda name: statistics(number, name))  # noqa: B023
            true = table.filter(as_arrow(condition)).num_rows
            false = table.filter(~as_arrow(condition)).num_rows
            assert possible & Outcome.TRUE or not true
            assert possible & Outcome.FALSE or not false
            assert possible & Outcome.NULL or true + false == table.num_rows


def simple(column: pa.ChunkedArray) -> list[Condition]:
    """Return the comparisons with each of a column's own values, where mistakes show."""
    values = [one for one in column.unique() if one.is_valid and not _is_nan(one)]
    actual: list[Condition] = [IsIn("x", (value,)) for value in values]
    if not pa.types.is_boolean(column.type):
        ordered = (Operator.LT, Operator.LE, Operator.GT, Operator.GE)
        actual += [Comparison("x", operator, value) for operator in ordered for value in values]
    return actual


def _is_nan(value: pa.Scalar) -> bool:
    return pa.types.is_floating(value.type) and math.isnan(value.as_py())


class Written:
    """Statistics as another writer may have put them into a file."""

    physical_type = "BYTE_ARRAY"
    has_min_max = has_null_count = True

    def __init__(self, least: Any, greatest: Any, nulls: int = 0) -> None:
        self.min_raw, self.max_raw, self.null_count = least, greatest, nulls


def test_shortened_bounds_of_texts_enclose_them_and_strange_ones_say_nothing() -> None:
    text, real = pa.string(), pa.float64()
    actual = bounds_of(Written(b"ab", b"ac"), 5, text, text)  # of "abacus" and "abyss"
    word = IsIn("x", (pa.scalar("abacus"),))
    assert outcome(word, lambda _: actual) == Outcome.TRUE | Outcome.FALSE
    assert outcome(StartsWith("x", "abacus"), lambda _: actual) == Outcome.TRUE | Outcome.FALSE
    assert outcome(StartsWith("x", "ad"), lambda _: actual) == Outcome.FALSE
    assert bounds_of(Written(b"b", b"a"), 5, text, text).least is None
    for least, greatest in ((math.nan, 1.0), (0.0, math.nan)):
        strange = Written(least, greatest)
        strange.physical_type = "DOUBLE"
        assert bounds_of(strange, 5, real, real).least is None
    assert not bounds_of(Written(b"", b"", 5), 5, text, text).values


def test_queries_take_nan_as_null_and_frames_as_the_greatest_number() -> None:
    high = Comparison("x", Operator.GT, pa.scalar(5.0))

    def low(_: str) -> Bounds:
        return Bounds(0.0, 1.0, nulls=False)

    assert outcome(high, low) == Outcome.TRUE | Outcome.FALSE
    assert outcome(high, low, nan_is_null=True) == Outcome.FALSE | Outcome.NULL
    assert outcome(NullTest("x"), low) == Outcome.FALSE
    assert outcome(NullTest("x"), low, nan_is_null=True) == Outcome.TRUE | Outcome.FALSE
    assert outcome(Undecided(), low) is Outcome.ANY


QUERIES = [
    "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.n > 3 AND A.s != 'p';",
    "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.n IN (1, 3, 9007199254740993) OR B.r <= 1;",
    "QUERY q RETURN COUNT(*) PATTERN B+ WHERE B.r >= 0.5 AND NOT (B.s = 'q' OR B.n IS NULL);",
    "QUERY q RETURN COUNT(*) PATTERN B+ WHERE B.price < 1 AND B.n < 2.5 AND B.t;",
    "QUERY q RETURN COUNT(*) PATTERN B+ WHERE B.n + 1 > 5 AND B.s LIKE 'p%';",
    "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [s] AND B.n > -1 GROUP BY t;",
    "QUERY q RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WHERE C.n > 3;",
    "QUERY q RETURN a.n PATTERN SEQ(A a, B+ b) WHERE a.n > 5 AND b[i].s = 'p' LIMIT 9;",
    "QUERY q RETURN COUNT(*) PATTERN B+ WHERE B.n > 3 STRATEGY CONTIGUOUS;",
]
VALUES = {
    "type": (pa.string(), ["A", "B", "C", "D"]),
    "n": (pa.int64(), [0, 3, 4, 2**53, 2**53 + 1, None]),
    "r": (pa.float64(), [0.0, 0.5, 1.0, math.nan, None]),
    "s": (pa.string(), ["p", "q", None]),
    "t": (pa.bool_(), [True, False, None]),
    "price": (pa.decimal128(9, 2), [Decimal("0.99"), Decimal("1.00"), None]),
}


def drawn_events(data: st.DataObject, unusable: bool) -> pa.Table:
    """Return events in row groups of `GROUP`, each with one or two values of a column."""
    columns: dict[str, list[Any]] = {name: [] for name in VALUES}
    for _ in range(data.draw(st.integers(1, 5))):
        for name, (_, values) in VALUES.items():
            some = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=2))
            columns[name] += [data.draw(st.sampled_from(some)) for _ in range(GROUP)]
    count = len(columns["type"])
    times: list[int | None] = list(range(count))
    if unusable:
        times[data.draw(st.integers(0, count - 1))] = None
    arrays = {name: pa.array(columns[name], kind) for name, (kind, _) in VALUES.items()}
    return pa.table({"time": pa.array(times, pa.int64()), **arrays})


@often
@given(st.data(), st.sampled_from(QUERIES), st.booleans())
def test_no_event_that_a_query_takes_is_in_a_skipped_row_group(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, text: str, unusable: bool
) -> None:
    path = str(tmp_path_factory.mktemp("skipped") / "events.parquet")
    table = drawn_events(data, unusable)
    pq.write_table(table, path, row_group_size=GROUP)
    (unit,) = plan(parse_workload(text)).units
    columns = [FileColumn(field.name, field.type) for field in table.schema]
    names = {name: name for name in table.column_names}
    options = RunOptions(allow_rejects=data.draw(st.booleans()))
    skipping = Skipping(
        condition=None,
        interests=interests_of((unit,), names, pa.string(), "type"),
        required=unit.required,
        time="time",
        type="type",
        strict=not options.allow_rejects,
        columns={column.name: column for column in columns},
    )

    def judge(uri: str, metadata: pq.FileMetaData, schema: pa.Schema) -> list[RowGroupDecision]:
        return judge_row_groups(skipping, options, uri, metadata, schema)

    selection = row_groups_in([path], columns, judge)
    kept = {group.number for group in selection.groups}
    assert len(kept) + selection.skipped == -(-table.num_rows // GROUP)
    for number in range(-(-table.num_rows // GROUP)):
        if number in kept:
            continue
        part = table.slice(number * GROUP, GROUP)
        assert not unit.keeps_all or any(part.column(n).null_count == GROUP for n in unit.required)
        assert options.allow_rejects or not part.column("time").null_count
        for name in unit.required:
            part = part.filter(pc.is_valid(part.column(name)))
        types = part.column("type").combine_chunks()
        read_by = {name: part.column(name).combine_chunks() for name in unit.classes.attributes}
        codes = classify(unit.classes, type_numbers(types, unit.types), unit.types, read_by)
        assert (ClassFilter(unit).apply(codes) < 0).all()
