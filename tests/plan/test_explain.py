"""What `explain` tells of a plan, in its four forms."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree as ET

import pytest

from elsinore import Workload
from elsinore.errors import SetupError
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.operators.explain import explain_json, explain_mermaid, explain_svg, explain_text
from elsinore.plan import Plan

WORKLOAD = """
    QUERY one RETURN COUNT(*) PATTERN SEQ(Request, Travel+) WHERE [driver] AND Travel.speed < 10
        GROUP BY district WITHIN 30 min SLIDE 5 min;
    QUERY two RETURN COUNT(*) PATTERN SEQ(Pickup, Travel+) WHERE [driver]
        GROUP BY district WITHIN 10 min;
    QUERY three RETURN COUNT(*) PATTERN SEQ("A & <B>" a+, "A & <B>" b+) WITHIN 5 min SLIDE 10 min;
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def planned() -> Plan:
    return plan(parse_workload(WORKLOAD))


def test_the_text_tells_units_shared_kleene_and_windows(planned: Plan) -> None:
    text = explain_text(planned)
    assert "3 queries, run by 2 operators in 2 passes over the events." in text
    assert "partitioned by district, driver; results by district." in text
    assert "Events with a null in [driver] match nothing." in text
    assert "Travel+ occurs in one and two." in text
    assert "windows of 30 minutes, a new one every 5 minutes: 6 are open at once" in text
    assert "windows of 10 minutes, one after another" in text
    assert "panes of 5 minutes" in text
    assert "begins with Request, ends with Travel" in text
    assert "before Travel: Request and Travel" in text


def test_the_text_tells_whether_events_are_combined_before_a_shuffle(planned: Plan) -> None:
    text = explain_text(planned)
    told = (
        "On Spark, events of the same key and pane are combined before the shuffle, where that "
        "pays."
    )
    assert text.count(told) == 2
    exact = explain_text(plan(parse_workload("EXACT; QUERY q RETURN COUNT(*) PATTERN A+;")))
    assert "before the shuffle: it computes with integers of any size." in exact
    assert json.loads(explain_json(planned))["units"][0]["not_combined_because"] is None
    assert "On Spark, the data of a key is spread over partitions by windows." in text
    assert (
        "the data of a key goes to one partition: windows overlap, and a group has several keys."
        in text
    )
    assert "the data of a key goes to one partition: a query has no WITHIN." in exact
    together = (
        "QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 60 SLIDE 30;\n"
        "QUERY r RETURN COUNT(*) PATTERN A+ a WHERE a[i].v > a[i-1].v AND [k] WITHIN 9 SLIDE 3;"
    )
    alike = explain_text(plan(parse_workload(together.replace(" AND [k]", ""))))
    assert alike.count("are combined before the shuffle, where that pays.") == 1
    assert "before the shuffle: single events are kept" in alike


def test_the_text_warns_of_windows_that_leave_gaps(planned: Plan) -> None:
    warnings = [line for line in explain_text(planned).splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "windows hop and leave gaps of 5 minutes" in warnings[0]


def test_the_text_tells_that_an_ambiguous_pattern_is_determinized(planned: Plan) -> None:
    lines = [line for line in explain_text(planned).splitlines() if "determinized" in line]
    assert len(lines) == 1
    assert lines[0].startswith("  three: ")


def test_the_text_of_a_single_query_is_in_the_singular() -> None:
    text = explain_text(
        plan(
            parse_workload(
                "QUERY q RETURN COUNT(*) PATTERN A+",
            )
        )
    )
    assert text.startswith("1 query, run by 1 operator in 1 pass over the events.")
    assert "one window over the whole stream" in text
    assert "Operator 1: not partitioned; results for the whole stream." in text
    assert "one pane, the whole stream" in text


def test_long_lists_of_names_are_cut_short() -> None:
    queries = (f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(X{n}, B+);" for n in range(1200))
    text = explain_text(plan(parse_workload("\n".join(queries))))
    assert "(2,400 before merging)" in text
    assert "q18, q19 and 1,180 more." in text
    assert max(map(len, text.splitlines())) < 300


def test_the_json_is_the_same_facts_as_data(planned: Plan) -> None:
    told = json.loads(explain_json(planned))
    one, other = told["units"]
    assert one["partitioned_by"] == ["district", "driver"]
    assert one["shared_kleene"] == [{"type": "Travel", "queries": ["one", "two"]}]
    assert [query["name"] for query in one["queries"]] == ["one", "two"]
    assert one["queries"][0]["predecessor_types"] == {
        "Request": [],
        "Travel": ["Request", "Travel"],
    }
    assert one["predicates"] == 1
    assert other["queries"][0]["determinized"] is True
    assert len(other["queries"][0]["warnings"]) == 1


def test_the_mermaid_chart_has_a_node_for_each_type_and_thick_loops_for_shared_kleene(
    planned: Plan,
) -> None:
    chart = explain_mermaid(planned)
    assert chart.startswith("flowchart LR\n")
    assert chart.count("subgraph ") == chart.count("  end\n") == len(planned.units) == 2
    boxes = re.findall(r'^    (u\dt\d)(\[\[?)"(.*?)"', chart, re.MULTILINE)
    assert [(shape, name) for _, shape, name in boxes] == [
        ("[", "Request"),
        ("[[", "Travel"),
        ("[", "Pickup"),
        ("[[", "A #38; #lt;B#gt;"),
    ]
    place = {name: box for box, _, name in boxes}["Travel"]
    assert f'{place} ==>|"one, two"| {place}' in chart
    assert chart.count("==>") == 1


def test_many_names_on_an_arrow_are_cut_short() -> None:
    several = ";".join(f"QUERY q{n} RETURN COUNT(*) PATTERN A+" for n in range(9))
    assert '"q0, q1, q2, q3 and 5 more"' in explain_mermaid(plan(parse_workload(several)))


def test_the_svg_is_well_formed_and_names_every_type(planned: Plan) -> None:
    root = ET.fromstring(explain_svg(planned))
    assert root.tag == f"{SVG}svg"
    texts = {(text.text or "").strip("\u00a0") for text in root.iter(f"{SVG}text")}
    assert {"Request", "Travel", "Pickup", "A & <B>"} <= texts
    assert "partitioned by district, driver" in texts
    thick = [path for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "3"]
    assert len(thick) == 1


def test_types_in_the_same_place_are_one_box_where_there_are_many() -> None:
    text = ";".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(X{n}, T+, {'P' if n % 2 else 'D'}) WITHIN 1 day"
        for n in range(500)
    )
    many = plan(parse_workload(text))
    texts = {
        (text.text or "").strip("\u00a0")
        for text in ET.fromstring(explain_svg(many)).iter(f"{SVG}text")
    }
    assert texts == {"not partitioned", "X0, X1, X2 and 497 more", "T", "D, P"} | {"500 queries"}
    assert len(explain_mermaid(many).splitlines()) < 15


def test_what_a_picture_leaves_out_is_counted() -> None:
    text = ";".join(f"QUERY q{n} RETURN COUNT(*) PATTERN A+ WHERE [k{n}]" for n in range(30))
    passes = plan(parse_workload(text))
    assert "(10 more operators are not drawn)" in explain_svg(passes).replace("\u00a0", " ")
    chain = ", ".join(f"X{n}" for n in range(100))
    long = plan(parse_workload(f"QUERY q RETURN COUNT(*) PATTERN SEQ({chain})"))
    assert "(40 more boxes are not drawn)" in explain_svg(long).replace("\u00a0", " ")


def test_without_a_program_to_lay_it_out_the_remedy_is_told(
    planned: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["elsinore.operators.pictures"], "PACKAGE", "no-such-package")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupError, match=r"pip install 'elsinore\[report\]'"):
        explain_svg(planned)


def test_queries_that_cannot_run_live_are_listed_with_the_reason() -> None:
    workload = Workload.parse("""
        QUERY all_a RETURN COUNT(*) PATTERN SEQ(A, B+);
        QUERY all_b RETURN COUNT(*) PATTERN SEQ(B, A);
        QUERY few RETURN a.time PATTERN SEQ(A a, B b) WITHIN 5 LIMIT 3;
        QUERY live RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5;
    """)
    _, found, lines = workload.explain().partition("\nLive streams\n")
    assert found
    first, second = lines.splitlines()
    assert first.startswith("  all_a and all_b cannot run live: without WITHIN ")
    assert second.startswith("  few cannot run live: LIMIT ")
    assert list(json.loads(workload.explain("json"))["not_live_because"]) == [
        "all_a",
        "all_b",
        "few",
    ]
    assert "Live streams" not in Workload(workload["live"]).explain()
