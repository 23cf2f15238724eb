"""A live run equals a batch run: any batches, buckets, saves, and disorder within the bound."""

from __future__ import annotations

import os

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings

import elsinore as el
import elsinore.quantitative as qre
from elsinore import Workload
from elsinore.errors import ElsinoreError
from oracles.reference import ReferenceEvent
from support.drawn import CASES, Drawn
from support.live import check_live_is_batch, match_table
from support.matches import USERS, queries
from support.trends import Feature, table_of, trend_cases

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "40"))
RELAXED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@RELAXED
@given(trend_cases(exact=None) | trend_cases(exact=None, features=tuple(Feature), most=12), CASES)
def test_of_drawn_trend_queries(case: tuple[object, list[ReferenceEvent]], drawn: Drawn) -> None:
    drawn_queries, events = case
    windowed = [query for query in drawn_queries if query.window is not None]
    assume(windowed)
    workload = Workload(*windowed, exact=drawn_queries.exact)
    try:
        workload.planned()
    except ElsinoreError:
        assume(False)
    check_live_is_batch(workload, table_of(events), drawn)


@RELAXED
@given(CASES)
def test_of_drawn_match_queries(drawn: Drawn) -> None:
    texts = [queries(drawn, f"q{number}") for number in range(drawn.number(1, 3))]
    texts = [text for text in texts if "WITHIN" in text]
    assume(texts)
    table = match_table(drawn)
    try:
        workload = Workload.parse("\n".join(texts), aggregates=USERS)
        workload.run(table)
    except ElsinoreError:
        assume(False)
    check_live_is_batch(workload, table, drawn)


SINGLE = """
QUERY plain RETURN a.n, a.v PATTERN A a WHERE a.v > 0;
QUERY either RETURN a.n, b.n AS b PATTERN A a OR B b;
QUERY next RETURN k, MATCH_NUMBER() AS m PATTERN A a STRATEGY SKIP TILL NEXT MATCH GROUP BY k;
QUERY calm RETURN a.time AS t PATTERN A a WHERE [k] STRATEGY CONTIGUOUS SUPPRESS 3;
"""


@RELAXED
@given(CASES)
def test_of_single_events_without_a_window(drawn: Drawn) -> None:
    check_live_is_batch(Workload.parse(SINGLE), match_table(drawn), drawn)


def test_single_events_without_a_window_are_forgotten() -> None:
    schema = pa.schema({"time": pa.int64(), "type": pa.string(), "v": pa.int64()})
    sizes = []
    for rounds in (1, 40):
        live = Workload.parse("QUERY q RETURN a.v PATTERN A a").live(schema)
        returned = 0
        for number in range(rounds * 50):
            event = {"time": number, "type": "A", "v": number}
            returned += sum(rows.num_rows for _, rows in live.push([event]))
        assert returned >= rounds * 50 - 1
        sizes.append(len(live.save()))
    assert sizes[1] < sizes[0] + 100


A, B = qre.event("A"), qre.event("B")
STREAMS = {
    "totals": qre.iterate1(qre.atom(qre.any, lambda item: item.n), qre.sum(0)).by("k"),
    "until_b": qre.iter_last(
        qre.split(qre.iterate(qre.atom(~B, lambda item: item.n), qre.sum(0)), qre.atom(B), qre.left)
    ),
    "filtered": qre.filter(A | B) >> qre.iterate1(qre.atom(), qre.count()),
    "by_two": qre.iterate1(qre.atom(qre.any, lambda item: item.n), qre.max()).by("k", "s"),
}


@RELAXED
@given(CASES)
def test_of_quantitative_queries_beside_others(drawn: Drawn) -> None:
    chosen = drawn.some(STREAMS, least=1)
    numbers = pa.array([drawn.number(0, 5) for _ in range(40)])
    table = pa.table(
        {
            "time": pa.array(sorted(drawn.number(0, 30) for _ in range(40)), pa.int64()),
            "type": pa.array([drawn.one("ABC") for _ in range(40)]),
            "n": numbers,
            "v": numbers.cast(pa.float64()),
            "k": pa.array([drawn.one([1, 2, 3, None]) for _ in range(40)], pa.int64()),
            "s": pa.array([drawn.one("xy") for _ in range(40)]),
        }
    )
    built = [el.query(name).from_python(lambda name=name: STREAMS[name]) for name in chosen]
    trends = Workload.parse(
        "QUERY t RETURN k, COUNT(*) PATTERN SEQ(A, B+) GROUP BY k WITHIN 6 SLIDE 3;"
    )
    check_live_is_batch(Workload(*built, *trends), table, drawn)


UNCERTAIN = """
QUERY probable RETURN a.n, b[].n, CONFIDENCE() AS p PATTERN SEQ(A a, B+ b[], C c) WHERE [k]
    WITHIN 6 CONFIDENCE >= 0.2;
QUERY without RETURN k, a.n, CONFIDENCE() AS p PATTERN SEQ(A a, B b, NOT C x)
    GROUP BY k WITHIN 4;
"""


@RELAXED
@given(CASES)
def test_of_uncertain_times(drawn: Drawn) -> None:
    rows = []
    for number in range(drawn.number(4, 14)):
        time = drawn.number(0, 20)
        kind = drawn.one("ABBC")
        rows.append((time, time + drawn.number(0, 3), kind, number, drawn.number(0, 1)))
    columns = zip(*sorted(rows), strict=True)
    table = pa.table([pa.array(c) for c in columns], names=["time", "hi", "type", "n", "k"])
    options = {"time_interval": ("time", "hi")}
    if drawn.whether():
        table = table.append_column("law", pa.array([None] * len(rows), pa.list_(pa.float64())))
        options |= {"time_distribution": "law"}
    check_live_is_batch(Workload.parse(UNCERTAIN), table, drawn, **options)
