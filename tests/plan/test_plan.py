"""Plans: which queries go together, and every error at once."""

from __future__ import annotations

import pytest

from elsinore.errors import InvalidWorkloadError, QuerySemanticError, UnsupportedError
from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Path, Plan
from elsinore.trends.kind import spec_of


def of(text: str) -> Plan:
    """Plan a workload of text."""
    return plan(parse_workload(text))


def test_queries_of_one_partition_are_one_unit() -> None:
    planned = of("""
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [driver] GROUP BY district;
        QUERY two RETURN SUM(B.v) PATTERN SEQ(C, B+) WHERE [driver] GROUP BY district WITHIN 5 min;
        QUERY three RETURN COUNT(*) PATTERN A+ WHERE [driver];
        QUERY four RETURN COUNT(*) PATTERN A+ GROUP BY district, driver;
        QUERY five RETURN COUNT(*) PATTERN B+ GROUP BY driver, district;
        QUERY six RETURN COUNT(*) PATTERN B+;
    """)
    assert [unit.queries for unit in planned.units] == [(0, 1), (2,), (3, 4), (5,)]
    assert [unit.group_by for unit in planned.units] == [
        ("district",), (), ("district", "driver"), (),
    ]  # fmt: skip
    assert [unit.equivalence for unit in planned.units] == [("driver",), ("driver",), (), ()]
    assert planned.types == ("A", "B", "C")


def test_an_attribute_in_both_clauses_is_keyed_once_and_still_required() -> None:
    (unit,) = of("QUERY q RETURN COUNT(*) PATTERN A+ WHERE [g, k] GROUP BY g").units
    assert (unit.group_by, unit.equivalence, unit.required) == (("g",), ("k",), ("g", "k"))
    assert unit.key == ("g", "k")


def test_a_null_group_is_not_shared_with_a_query_that_requires_the_attribute() -> None:
    planned = of("""
        QUERY one RETURN COUNT(*) PATTERN A+ GROUP BY g;
        QUERY two RETURN COUNT(*) PATTERN A+ WHERE [g] GROUP BY g;
    """)
    assert [unit.required for unit in planned.units] == [(), ("g",)]


def test_a_unit_reads_each_attribute_once() -> None:
    (unit,) = of("""
        QUERY one RETURN SUM(A.v), MIN(A.w) PATTERN A+ WHERE [k] AND A.v < 3 GROUP BY g;
        QUERY two RETURN AVG(A.v), MAX(A.v) PATTERN A+ WHERE [k] AND A.s = 'x' GROUP BY g;
    """).units
    assert spec_of(unit).summed == ("v",)
    assert spec_of(unit).ranked == ("w", "v")
    assert unit.attributes == ("g", "k", "s", "v", "w")


def test_a_fingerprint_tells_units_apart_by_what_their_states_mean() -> None:
    base = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.v < 3 GROUP BY g WITHIN 5 min"
    others = [
        base.replace("B+", "B*"),
        base.replace("< 3", "< 4"),
        base.replace("BY g", "BY h"),
        base.replace("5 min", "6 min"),
        base.replace("COUNT(*)", "SUM(B.v)"),
    ]
    prints = [spec_of(of(text).units[0]).fingerprint for text in (base, *others)]
    assert len(set(prints)) == len(prints)
    assert spec_of(of(base.replace("WHERE", "  WHERE")).units[0]).fingerprint == prints[0]


def test_the_errors_of_several_queries_are_told_at_once_in_text_order() -> None:
    text = """
        QUERY one RETURN COUNT(*) PATTERN A AND B AND C;
        QUERY fine RETURN COUNT(*) PATTERN A+;
        QUERY two RETURN SUM(a.v) PATTERN SEQ(A a+, A b+);
        QUERY three RETURN a.v PATTERN SEQ(A a, B b) WHERE a.v LIKE 'x%' OR a.v > b.v;
    """
    with pytest.raises(InvalidWorkloadError) as caught:
        of(text)
    errors = caught.value.errors
    assert [error.query for error in errors] == ["one", "two", "three"]
    assert [type(error) for error in errors] == [
        QuerySemanticError, QuerySemanticError, UnsupportedError,
    ]  # fmt: skip


def test_queries_that_return_matches_are_planned_apart_from_those_that_count_trends() -> None:
    planned = of("""
        QUERY counts RETURN COUNT(*) PATTERN SEQ(A a, B b);
        QUERY lists RETURN a.v PATTERN SEQ(A a, B b);
    """)
    assert [(unit.kind, unit.queries) for unit in planned.units] == [
        ("elsinore.trends.kind", (0,)), ("elsinore.matches.kind", (1,)),
    ]  # fmt: skip


def test_queries_of_one_partition_are_told_apart_by_their_paths() -> None:
    planned = of("""
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+);
        QUERY two RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B+);
        QUERY three RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B[i].v > B[i-1].v;
        QUERY four RETURN COUNT(*) PATTERN A+ AND B+;
        QUERY five RETURN COUNT(*) PATTERN SEQ(B b+, B c+) WHERE b[i].v > b[i-1].v;
    """)
    assert [(spec_of(unit).path, unit.queries) for unit in planned.units] == [
        (Path.COARSE, (0, 3)), (Path.GRAPH, (1, 2)), (Path.SETS, (4,)),
    ]  # fmt: skip
    coarse, graph, sets = (spec_of(unit) for unit in planned.units)
    assert [len(unit.templates) for unit in (coarse, graph, sets)] == [2, 2, 0]
    assert [unit.compared for unit in (coarse, graph, sets)] == [(), ("v",), ("v",)]
    assert planned.units[1].types == ("A", "B", "C", "D")  # what stands under NOT is looked at too


def test_two_result_columns_of_one_name_are_refused() -> None:
    with pytest.raises(QuerySemanticError, match="named"):
        of("QUERY q RETURN COUNT(*) AS n, SUM(A.v) AS n PATTERN A+")


def test_only_contiguous_queries_keep_events_that_no_state_takes() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) STRATEGY"
    for strategy, kept in (("SKIP TILL NEXT MATCH", False), ("CONTIGUOUS", True)):
        (unit,) = of(f"{text} {strategy}").units
        assert (spec_of(unit).path, unit.keeps_all) == (Path.GRAPH, kept)


def test_a_thousand_queries_are_planned_into_few_nodes() -> None:
    several = [
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.v < {n % 10}" for n in range(1000)
    ]
    planned = of(";\n".join(several))
    (unit,) = planned.units
    assert isinstance(planned.workload, Workload)
    assert len(spec_of(unit).merged.nodes) == 20
    assert unit.classes.size == 22 + 1
