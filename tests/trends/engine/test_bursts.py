"""Bursts: which are shared and when, and that sharing changes no number, whatever its size."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Sequence as Several
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.datasets.abc import abc
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing
from elsinore.trends.kind import TrendsOperator, operator_class
from elsinore.trends.statistics import SharingStatistics
from support.trends import SCHEMA
from support.units import UnitInput, unit_inputs

RETURNS = "COUNT(*), LOG2(COUNT(*)) AS log, COUNT(b), SUM(b.w), AVG(b.w), MIN(b.v), MAX(b.v)"
DEPTH = 32
Results = dict[str, list[dict[str, Any]]]


def given(text: str, types: str, values: Several[float | None] | None = None) -> UnitInput:
    """Return the input of a workload of one unit: an event a second of each type in turn."""
    (unit,) = inputs(text, types, values)
    return unit


def inputs(
    text: str,
    types: str,
    values: Several[float | None] | None = None,
    times: Several[int] | None = None,
    granularity: Granularity = Granularity.AUTO,
) -> list[UnitInput]:
    """Return the inputs of a workload's units; times: in seconds, one after another by default."""
    found = list(values) if values is not None else [float(n % 7) - 2 for n in range(len(types))]
    whole = [None if v is None or not abs(v) < 1e9 else int(v) for v in found]
    rows = {
        "time": times or range(len(types)),
        "type": list(types),
        "v": whole,
        "w": found,
        "k": [1] * len(types),
    }
    columns = [
        pa.array(rows.get(name, [None] * len(types)), SCHEMA.field(name).type)
        for name in SCHEMA.names
    ]
    table = pa.table(columns, schema=SCHEMA)
    ready = plan(parse_workload(text), granularity=granularity)
    return unit_inputs(ready, table, exact=False)


def run(
    unit: UnitInput, sharing: Sharing, pieces: int = 1, *, ordered: bool = True
) -> tuple[Results, TrendsOperator]:
    """Run a unit in some mode, stopped and started again between the pieces."""
    operator = operator_class(unit.unit)(unit.unit, ordered=ordered, sharing=sharing, record=True)
    edges = [round(n * len(unit.batch) / pieces) for n in range(pieces + 1)]
    totals = []
    for start, end in itertools.pairwise(edges):
        totals.append(operator.process(unit.batch.slice(start, end - start)))
        if end < len(unit.batch):
            operator = operator_class(unit.unit).load(unit.unit, operator.save())
    totals.append(operator.close())
    return {name: table.to_pylist() for name, table in unit.results(totals).items()}, operator


def repeated(operator: TrendsOperator) -> list[SharingStatistics]:
    """Return what became of the sets of Kleene sub-patterns."""
    return [one for one in operator.statistics.sharing if "+" in one.name]


def assert_alike(one: Results, other: Results) -> None:
    """Compare results, numbers to nine digits."""
    assert one.keys() == other.keys()
    for name, rows in one.items():
        assert len(rows) == len(other[name])
        for row, same in zip(rows, other[name], strict=True):
            for column, value in row.items():
                if isinstance(value, float):
                    assert math.isclose(value, same[column], rel_tol=1e-9, abs_tol=1e-9) or (
                        math.isnan(value) and math.isnan(same[column])
                    ), (name, column)
                else:
                    assert value == same[column], (name, column)


def workload(queries: int, window: str = "", returns: str = RETURNS) -> str:
    """Return queries with B+ in common that begin with A, C, D or nothing."""
    firsts = ["A x, ", "C x, ", "D x, ", ""]
    return "\n".join(
        f"QUERY q{n} RETURN {returns} PATTERN SEQ({firsts[n % 4]}B b+, {'EF'[n // 4]} e) {window};"
        for n in range(queries)
    )


@pytest.mark.parametrize("sharing", [Sharing.ALWAYS, Sharing.DYNAMIC])
@pytest.mark.parametrize("window", ["", "WITHIN 300 seconds", "WITHIN 90 seconds SLIDE 20 seconds"])
@pytest.mark.parametrize("pieces", [1, 5])
def test_bursts_longer_than_doubles_are_wide_give_what_single_events_give(
    sharing: Sharing, window: str, pieces: int
) -> None:
    random.seed(5)
    bursts = [random.choice("ACDEF") + "B" * length for length in (3, 900, 40, 1, 2000, 0, 60, 700)]
    unit = given(workload(8, window), "".join(bursts) + "AEFCEF")
    expected, _ = run(unit, Sharing.NEVER)
    found, operator = run(unit, sharing, pieces)
    assert_alike(found, expected)
    assert sum(one.shared_graphlets for one in operator.statistics.sharing) > 0


GUARDED = (
    "SEQ(A x, B b+, NOT N)",
    "SEQ(C x, B b+, NOT N, E e)",
    "SEQ(A x, NOT N, B b+, F e)",
    "SEQ(NOT N, B b+, NOT (M OR F), E e)",
    "(SEQ(B b, NOT N))+",
    "(SEQ(NOT M, B b))+",
    "SEQ(D x, B b+, E e)",
)


@pytest.mark.parametrize("sharing", [Sharing.ALWAYS, Sharing.DYNAMIC])
@pytest.mark.parametrize("window", ["", "WITHIN 300 seconds", "WITHIN 90 seconds SLIDE 20 seconds"])
@pytest.mark.parametrize("pieces", [1, 5])
def test_queries_with_not_share_long_bursts_with_those_without(
    sharing: Sharing, window: str, pieces: int
) -> None:
    random.seed(6)
    text = "\n".join(
        f"QUERY q{n} RETURN {RETURNS} PATTERN {pattern} {window};"
        for n, pattern in enumerate(GUARDED)
    )
    lengths = (3, 900, 40, 1, 2000, 0, 60, 5, 5, 700)
    bursts = [random.choice("ACDNMEF") + "B" * length for length in lengths]
    unit = given(text, "".join(bursts) + "AEBBFCEBBB")
    expected, _ = run(unit, Sharing.NEVER)
    assert sum(map(bool, expected.values())) >= 5
    found, operator = run(unit, sharing, pieces)
    assert_alike(found, expected)
    (shared,) = repeated(operator)
    assert shared.queries == tuple(f"q{n}" for n in range(len(GUARDED)))
    assert shared.shared_graphlets > 0


def test_what_not_forbids_undoes_what_ended_before_it() -> None:
    text = """
        QUERY until RETURN COUNT(*), MIN(b.v), SUM(b.w) PATTERN SEQ(A x, B b+, NOT N);
        QUERY plain RETURN COUNT(*) PATTERN SEQ(A x, B b+);
    """
    # after N: trends that end in the two last B's, of which 2**3 and 2**4 there are
    unit = given(text, "ABBBNBB", [0.0, -5.0, 7.0, 7.0, 0.0, 3.0, 4.0])
    for sharing in Sharing:
        found, _ = run(unit, sharing)
        assert found["plain"][0]["count(*)"] == 31.0
        (row,) = found["until"]
        assert row["count(*)"] == 24.0
        assert row["min(b.v)"] == -5
        # the three before N are in half of them; the first after it in 8 and half of 16
        assert row["sum(b.w)"] == 9.0 * 12 + 3.0 * 16 + 4.0 * 16


def test_a_state_to_whose_sums_other_events_add_is_brought_up_to_date_by_itself() -> None:
    returns = "COUNT(*), COUNT(b), SUM(b.w), MIN(b.v), COUNT(y), SUM(y.w), MAX(y.v)"
    text = f"""
        QUERY one RETURN {returns} PATTERN SEQ(A x, B b*, B y) WITHIN 10 seconds SLIDE 5 seconds;
        QUERY two RETURN {returns} PATTERN SEQ(A x, B b*, B y, NOT N) WITHIN 20 seconds;
        QUERY three RETURN COUNT(*) PATTERN SEQ(A x, B b+) WITHIN 20 seconds;
    """
    unit = given(text, "ABBNBBBABBB", [0.0, -5.0, 7.0, 7.0, 0.0, 3.0, 4.0, 9.0, 1.0, 2.0, 6.0])
    expected, _ = run(unit, Sharing.NEVER)
    assert expected["one"][1]["count(b)"] != expected["one"][1]["count(y)"]
    for sharing in (Sharing.ALWAYS, Sharing.DYNAMIC):
        assert_alike(run(unit, sharing)[0], expected)


@pytest.mark.parametrize("sharing", list(Sharing))
def test_a_number_that_a_burst_makes_huge_may_grow_a_little_more(sharing: Sharing) -> None:
    text = """
        QUERY p RETURN LOG2(COUNT(*)) AS log PATTERN SEQ(A x, B b+, E e);
        QUERY q RETURN LOG2(COUNT(*)) AS log PATTERN SEQ(A x, B b+);
        QUERY r RETURN LOG2(COUNT(*)) AS log PATTERN SEQ(A x, B b+, NOT N);
    """
    unit = given(text, "A" + "B" * 300 + "E" + "B" * 400 + "E" + "B" + "E")
    found, _ = run(unit, sharing)
    assert found["p"][0]["log"] == pytest.approx(math.log2(2.0**-401 + 1 / 2 + 1) + 701)
    assert found["q"][0]["log"] == found["r"][0]["log"] == 701.0


@pytest.mark.parametrize("ends", ["BB", "G" * 350 + "AB"])  # in the same window, or in the next one
def test_a_twin_may_be_huge_where_what_it_goes_with_is_not(ends: str) -> None:
    text = """
        QUERY p RETURN SUM(b.w) AS sum PATTERN SEQ(A x, B b+, E e) WITHIN 800 seconds;
        QUERY q RETURN SUM(b.w) AS sum PATTERN SEQ(C x, B b+, E e) WITHIN 800 seconds;
        QUERY r RETURN SUM(b.w) AS sum PATTERN SEQ(A x, B b+, NOT N) WITHIN 800 seconds;
    """
    great = [2.0**25 * value for value in (-230.0, 0.0, 192.0, 0.0, 57.0)]
    wild = 2.0**65  # such an event acts at once, on numbers as they are
    values = [*[0.0] * 480, *great, *[0.0] * (len(ends) - 1), wild, -wild]
    unit = given(text, "A" + "B" * 480 + "NBEBE" + ends, values)
    expected, _ = run(unit, Sharing.NEVER)
    found, _ = run(unit, Sharing.ALWAYS)
    assert_alike(found, expected)


@pytest.mark.parametrize("order", [1, -1])
def test_extremes_of_ever_more_or_ever_less(order: int) -> None:
    length = 5 * DEPTH
    values = [float(order * n) for n in range(length)]
    types = "".join("ACD"[n % 3] if n % 11 == 0 else "B" for n in range(length - 2)) + "EF"
    unit = given(workload(8), types, values)
    assert_alike(run(unit, Sharing.ALWAYS)[0], run(unit, Sharing.NEVER)[0])


def test_values_that_would_spoil_sums_act_at_once() -> None:
    values = [1.0, 2.0, math.inf, 3.0, 1e300, None, -1e300, 5.0, 1.0, 2.0, 3.0, 4.0]
    unit = given(workload(6, "WITHIN 8 seconds"), "ACBBBBBBBBEF", [*values[:12]])
    assert_alike(run(unit, Sharing.ALWAYS)[0], run(unit, Sharing.NEVER)[0])
    big = 2.0**40
    huge = [big, 1.0, big, 1.0, -big, 0.5, -big, 0.25, 1.0, 2.0, 3.0, 4.0]
    unit = given(workload(6), "ACBBBBABBBEF", huge)
    assert_alike(run(unit, Sharing.ALWAYS)[0], run(unit, Sharing.NEVER)[0])


@pytest.mark.parametrize("length", [50, 52, 53])
def test_counts_are_exact_up_to_53_binary_digits(length: int) -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ({t}, B+);" for n, t in enumerate("AC")
    )
    found, _ = run(given(text, "A" + "B" * length + "CB"), Sharing.ALWAYS)
    assert found["q0"][0]["count(*)"] == 2.0 ** (length + 1) - 1
    assert found["q1"][0]["count(*)"] == 1.0


def test_the_snapshots_of_tables_4_and_5_come_out() -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ({t}, B+);" for n, t in enumerate("AC")
    )
    found, operator = run(given(text, "AACBBBB"), Sharing.ALWAYS)
    assert [found[name][0]["count(*)"] for name in ("q0", "q1")] == [30.0, 15.0]
    found, _ = run(given(text, "AACBBBBAACCCB"), Sharing.ALWAYS)
    assert [found[name][0]["count(*)"] for name in ("q0", "q1")] == [30.0 + 34.0, 15.0 + 19.0]
    (shared,) = repeated(operator)
    assert shared.name == "B+"
    assert shared.queries == ("q0", "q1")
    assert (shared.bursts, shared.graphlets, shared.shared_graphlets) == (1, 1, 1)
    assert (shared.graphlet_snapshots, shared.most_propagated) == (1, 1)
    assert [(r.time, r.events, r.queries, r.shared) for r in shared.records] == [
        (3_000_000, 4, 2, 2)
    ]


def test_long_bursts_are_shared_and_short_ones_are_not() -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN COUNT(B) PATTERN SEQ(A x, B+, C c) WITHIN {n + 2} hours;"
        for n in range(20)
    )
    long = given(text, ("A" + "B" * 100 + "C") * 12)
    short = given(text, "ABC" * 400)
    _, operator = run(long, Sharing.DYNAMIC)
    (counted,) = repeated(operator)
    assert counted.decisions == counted.bursts == 12
    assert counted.shared_graphlets == 12  # the first one once it had turned out to be long
    assert counted.decision_seconds > 0
    _, operator = run(short, Sharing.DYNAMIC)
    (counted,) = repeated(operator)
    assert counted.bursts == 400
    assert counted.shared_graphlets == 0
    assert counted.graphlets == 20 * 400


@pytest.mark.parametrize("sharing", list(Sharing))
def test_a_burst_without_an_earlier_event_adds_nothing_when_its_window_closes(
    sharing: Sharing,
) -> None:
    text = """
        QUERY q0 RETURN COUNT(*), MIN(b.v) PATTERN SEQ(E x, B b+, A a+) WITHIN 50 seconds;
        QUERY q1 RETURN COUNT(*), SUM(b.v) PATTERN SEQ(F x, B b+, A a+) WITHIN 50 seconds;
    """
    table = pa.table({"time": [3, 32, 36, 36], "type": list("EBBA"), "v": [0, 12, 3, 0]})
    (unit,) = unit_inputs(plan(parse_workload(text)), table, exact=False)
    operator = operator_class(unit.unit)(
        unit.unit, sharing=sharing
    )  # the last B does not precede the A
    found = unit.results([operator.process(unit.batch), operator.close()])
    assert found["q0"].column("min(b.v)").to_pylist() == [12]


@pytest.mark.parametrize("sharing", list(Sharing))
def test_bursts_are_counted_in_every_mode(sharing: Sharing) -> None:
    """HAMLET, Definition 10: other types end a burst, and so do the edges of windows."""
    text = """
        QUERY q0 RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;
        QUERY q1 RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 seconds;
    """
    #          0123456789|0123456789|012
    _, operator = run(given(text, "ABBZBCBBAB" + "BBBBBBBBBB" + "BCB"), sharing)
    (counted,) = repeated(operator)
    assert [record.events for record in counted.records] == [3, 2, 1, 10, 1, 1]
    assert counted.bursts == 6
    assert (counted.decisions == 0) == (sharing is Sharing.NEVER)


@pytest.mark.parametrize("sharing", list(Sharing))
def test_bursts_are_counted_where_neighbours_are_compared(sharing: Sharing) -> None:
    text = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ({t}, B+ b) WHERE b[i].v >= b[i-1].v;"
        for n, t in enumerate("AC")
    )
    _, operator = run(given(text, "ABBCBZB"), sharing)
    (counted,) = repeated(operator)
    assert counted.name == "B+ [i].v >= [i-1].v"
    assert [record.events for record in counted.records] == [2, 2]


def test_bursts_are_shared_only_while_that_is_expected_to_save_something() -> None:
    """In the example, a few bursts in turn would now and then have paid, though most do not."""
    text = (Path(__file__).parents[3] / "examples" / "abc.cep").read_text()
    events = abc(2_000)
    results = el.Workload.parse(text).run(events, record=True)
    (shared,) = (found for counted in results.statistics for found in counted.sharing)
    assert any(record.benefit < 0 for record in shared.records)
    assert all(record.benefit > 0 for record in shared.records if record.shared)


@pytest.mark.parametrize("seed", range(4))
def test_the_same_holds_for_drawn_bursts(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [draw.choice((1, 1, 2, 2, 3, 4, 5, 8, 10)) for _ in range(120)]
    types = "".join(draw.choice("ACD") + "B" * length for length in lengths)
    text = """
        QUERY a RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 50 seconds;
        QUERY c RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 50 seconds;
        QUERY b RETURN COUNT(*), COUNT(B) PATTERN B+ WITHIN 50 seconds;
    """
    _, operator = run(given(text, types), Sharing.DYNAMIC)
    (counted,) = repeated(operator)
    assert len(counted.records) > 10
    assert all(record.benefit > 0 for record in counted.records if record.shared)


def test_graphlets_merge_when_bursts_grow_and_split_when_they_shrink() -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN SUM(b.v) PATTERN SEQ(A x, B b+, C c) WITHIN {n + 2} minutes;"
        for n in range(20)
    )
    phase = "ABC" * (512)
    unit = given(text, phase + ("A" + "B" * 200 + "C") * 40 + phase)
    found, operator = run(unit, Sharing.DYNAMIC)
    (counted,) = repeated(operator)
    assert counted.merges > 0
    assert counted.splits > 0
    assert_alike(found, run(unit, Sharing.NEVER)[0])


@pytest.mark.parametrize("pieces", [1, 5])
@pytest.mark.parametrize("where", ["", "WHERE b.v < {n}"])
@pytest.mark.parametrize(
    "types",
    ["ABC" * 1_024, ("A" + "B" * 100 + "C") * 12, ("A" + "B" * 3000 + "C") * 2 + "AB" * 256],
)
def test_a_burst_is_decided_once(types: str, where: str, pieces: int) -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN COUNT(*), MAX(b.w) PATTERN SEQ(A x, B b+, C c) {where.format(n=n)} "
        f"WITHIN {30 * (n + 2)} minutes;"
        for n in range(20)
    )
    _, operator = run(given(text, types), Sharing.DYNAMIC, pieces)
    (counted,) = repeated(operator)
    assert counted.decisions == counted.bursts > 0
    if pieces == 1:
        assert len(counted.records) == counted.bursts
    assert sum(record.events for record in counted.records) <= types.count("B")
    assert min(record.events for record in counted.records) > 0


def test_an_event_is_a_snapshot_where_predicates_differ_and_only_there() -> None:
    text = """
        QUERY q0 RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b.v < 2;
        QUERY q1 RETURN COUNT(*) PATTERN SEQ(C, B x+) WHERE NOT x.v >= 2;
        QUERY q2 RETURN COUNT(*) PATTERN SEQ(D, B b+) WHERE b.v < 2;
        QUERY q3 RETURN COUNT(*) PATTERN SEQ(A, B b+);
        QUERY q4 RETURN COUNT(*) PATTERN SEQ(C, B b+);
    """
    for values in ([1.0] * 33, [3.0] * 33, [float(n % 7) for n in range(33)]):
        snapshots = sum(value >= 2 for value in values[3:])
        unit = given(text, "ACD" + "B" * 30, values)
        found, operator = run(unit, Sharing.ALWAYS)
        (shared,) = repeated(operator)
        assert shared.queries == ("q0", "q1", "q2", "q3", "q4")
        assert (shared.event_snapshots, shared.most_propagated) == (snapshots, 1 + snapshots)
        assert_alike(found, run(unit, Sharing.NEVER)[0])


def test_a_snapshot_at_an_event_has_the_value_of_each_query() -> None:
    """HAMLET, Definition 9: x of the graphlet and z at b5, which q0 takes and q1 does not."""
    text = """
        QUERY q0 RETURN COUNT(*) PATTERN SEQ(A, B b+);
        QUERY q1 RETURN COUNT(*) PATTERN SEQ(C, B b+) WHERE b.v < 5;
    """
    # a1 a2 c1 | b3: x; b4: 2x; b5: z (4x for q0, 0 for q1); b6: 4x + z
    unit = given(text, "AACBBBB", [0.0, 0.0, 0.0, 1.0, 1.0, 9.0, 1.0])
    found, operator = run(unit, Sharing.ALWAYS)
    assert found["q0"][0]["count(*)"] == 2.0 * (1 + 2 + 4 + 8)
    assert found["q1"][0]["count(*)"] == 1.0 * (1 + 2 + 0 + 4)
    (shared,) = repeated(operator)
    assert (shared.graphlet_snapshots, shared.event_snapshots) == (1, 1)


PREDICATES = ("", "b.v < {0}", "b.v >= {0} AND b.w < {1}", "b.w >= {1}")
LOOPS = (
    "SEQ(A x, B b+)",
    "SEQ(C x, B b+, E e)",
    "SEQ(D x, B b+, NOT N)",
    "SEQ(A x, NOT N, B b+, F e)",
    "B b+",
    "(SEQ(A x, B b+))+",
    "SEQ(A x, B b*, B y)",
    "SEQ(C x, E e, F f, B b+)",
    "SEQ(A x, (SEQ(E e, B b+))+)",
    "SEQ(D x, B b, E e, F f)",
)
DRAWN = int(os.environ.get("ELSINORE_EXAMPLES", "20")) // 4


@pytest.mark.parametrize("seed", range(max(DRAWN, 4)))
def test_queries_whose_predicates_differ_share_and_find_what_they_do_alone(seed: int) -> None:
    draw = random.Random(seed)
    windows = ("WITHIN 90 seconds SLIDE 20 seconds", "WITHIN 300 seconds", "WITHIN 40 seconds", "")
    text = []
    for number in range((3, 5, 12, 20)[seed % 4]):
        cuts = draw.randint(-1, 5), draw.randint(-1, 5)
        where = draw.choice(PREDICATES).format(*cuts)
        returns = draw.choice((RETURNS, "COUNT(*)", "SUM(b.w)", "COUNT(*), MIN(b.v)"))
        window = draw.choice(windows if seed % 3 else windows[:1])
        text.append(
            f"QUERY q{number} RETURN {returns} PATTERN {draw.choice(LOOPS)} "
            f"{'WHERE' if where else ''} {where} {window};"
        )
    lengths = (0, 1, 3, 20, 60, 150)
    types = "".join(
        draw.choice("ACDEFNZ") * draw.choice((1, 1, 4)) + "B" * draw.choice(lengths)
        for _ in range(8)
    )
    values, level, stirred = [], 0.0, draw.choice((0.02, 0.5))
    for _ in types:
        level = float(draw.randint(-2, 5)) if draw.random() < stirred else level
        values.append(level if draw.random() < 0.95 else None)
    unit = given("\n".join(text), types, values)
    expected, _ = run(unit, Sharing.NEVER)
    for sharing in (Sharing.ALWAYS, Sharing.DYNAMIC):
        assert_alike(run(unit, sharing, pieces=draw.choice((1, 3)))[0], expected)


def test_nothing_is_shared_where_it_is_not_wanted() -> None:
    _, operator = run(given(workload(4), "ACBBBE"), Sharing.NEVER)
    (shared,) = repeated(operator)
    assert (shared.bursts, shared.shared_graphlets, shared.decisions) == (1, 0, 0)


@pytest.mark.parametrize("sharing", list(Sharing))
@pytest.mark.parametrize("pieces", [1, 5])
def test_lanes_that_no_event_reads_catch_up_with_many_bursts_at_once(
    sharing: Sharing, pieces: int
) -> None:
    firsts = "ACDEFGHIJKLM"
    text = "\n".join(
        f"QUERY q{n} RETURN {RETURNS} PATTERN {pattern.format(x=first)} WITHIN {window} seconds;"
        for n, first in enumerate(firsts)
        for pattern, window in [
            (("SEQ({x} x, B b+)", "SEQ({x} x, B b+, NOT N)")[n % 2], (2_000, 700)[n % 3 == 0])
        ]
    )
    draw = random.Random(4)
    types = "".join(
        draw.choice(firsts + "N" * (draw.random() < 0.1)) + "B" * draw.choice((1, 3, 8, 30))
        for _ in range(120)
    )
    unit = given(text, types)
    expected, _ = run(unit, Sharing.NEVER)
    assert_alike(run(unit, sharing, pieces)[0], expected)


def test_queries_whose_events_mostly_differ_share_as_well() -> None:
    """A snapshot at an event costs nothing beside the coefficients of those that take it."""
    many = "".join(
        f"QUERY q{n} RETURN COUNT(*), SUM(b.w) PATTERN SEQ({t} x, B b+);"
        for n, t in enumerate("ACDEFGHIJKLMNOPQRS")
    )
    few = "".join(
        f"QUERY p{n} RETURN COUNT(*), SUM(b.w) PATTERN SEQ(A x, B b+) WHERE b.v < {n};"
        for n in range(20)
    )
    draw = random.Random(3)
    types = ("A" + "B" * 30 + "C") * 15
    unit = given(many + few, types, [float(draw.randint(0, 20)) for _ in types])
    found, operator = run(unit, Sharing.DYNAMIC)
    (shared,) = repeated(operator)
    assert {record.shared for record in shared.records[5:]} == {38}
    assert shared.event_snapshots > 0
    assert_alike(found, run(unit, Sharing.NEVER)[0])


SUFFIXES = {  # queries that have other first types, and the sub-patterns that they share
    "SEQ({x} x, (SEQ(G a, B b+))+)": ("B+", "G"),
    "SEQ({x} x, G a, H c, B b)": ("B", "G", "H"),
    "SEQ({x} x, B b+, G a, H c)": ("B+", "G", "H"),
}


@pytest.mark.parametrize("pattern", SUFFIXES)
@pytest.mark.parametrize("window", ["", "WITHIN 90 seconds SLIDE 20 seconds"])
@pytest.mark.parametrize("sharing", [Sharing.ALWAYS, Sharing.DYNAMIC])
def test_suffixes_and_what_is_nested_are_shared(
    pattern: str, window: str, sharing: Sharing
) -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN {RETURNS} PATTERN {pattern.format(x=first)} "
        f"{'WHERE a.v < 2' * (n % 3 == 0)} {window};"
        for n, first in enumerate("ACDEFIJKLM")
    )
    draw = random.Random(9)
    types = "".join(
        draw.choice("ACDEFIJKLM") + draw.choice("GHB") * draw.choice((1, 4, 9)) for _ in range(90)
    )
    unit = given(text, types)
    expected, _ = run(unit, Sharing.NEVER)
    for pieces in (1, 4):
        found, operator = run(unit, sharing, pieces)
        assert_alike(found, expected)
        sets = {one.name: one for one in operator.statistics.sharing}
        assert tuple(sorted(sets)) == SUFFIXES[pattern]
        assert all(len(one.queries) == 10 for one in sets.values())
        if sharing is Sharing.ALWAYS:
            assert all(one.shared_graphlets == one.bursts > 5 for one in sets.values())
