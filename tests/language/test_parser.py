"""What the fixtures do not show: places of nodes, and details of single rules."""

from __future__ import annotations

import pytest

from elsinore.errors import QuerySyntaxError, Source, Span
from elsinore.language import (
    column_name,
    parse_expression,
    parse_pattern,
    parse_query,
    parse_workload,
)
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Column,
    Duration,
    Event,
    Kleene,
    Literal,
    Operator,
    Reference,
    ReturnItem,
    Strategy,
)
from elsinore.model import expression as ex
from elsinore.model import pattern as pt

TEXT = """QUERY q RETURN district, SUM(T.duration)
PATTERN SEQ(Request R, Travel+ T, NOT Pickup P)
WHERE [driver] AND (T.speed + 1) * 2 < -10 GROUP BY district WITHIN 30 minutes"""


def underlined(span: Span | None) -> str:
    assert span is not None
    return TEXT[span.start : span.stop]


def test_every_node_knows_its_place() -> None:
    query = parse_query(TEXT)
    assert [underlined(node.span) for node in pt.walk(query.pattern)] == [
        "SEQ(Request R, Travel+ T, NOT Pickup P)",
        "Request R",
        "Travel+ T",
        "Travel+ T",
        "NOT Pickup P",
        "Pickup P",
    ]
    assert [underlined(node.span) for node in ex.walk(query.where[0])] == [
        "(T.speed + 1) * 2 < -10",
        "(T.speed + 1) * 2",
        "(T.speed + 1)",
        "T.speed",
        "1",
        "2",
        "-10",
    ]
    assert [underlined(item.expression.span) for item in query.returns] == [
        "district",
        "SUM(T.duration)",
    ]
    assert query.window is not None
    assert underlined(query.window.span) == "30 minutes"
    assert underlined(query.span) == "QUERY q"


def test_a_column_is_counted_from_the_line_it_is_on() -> None:
    query = parse_query(TEXT)
    span = query.where[0].span
    assert span is not None
    assert Source(TEXT).position(span.start) == (3, 20)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("b.x", Reference.PLAIN),
        ("b[i].x", Reference.CURRENT),
        ("b[I].x", Reference.CURRENT),
        ("b[i - 1].x", Reference.PREVIOUS),
        ("b[1].x", Reference.FIRST),
        ("b[b.LEN].x", Reference.LAST),
        ("b[b.len].x", Reference.LAST),
        ("b[LEN].x", Reference.LAST),
        ("b[].x", Reference.ALL),
        ("b[1..i-1].x", Reference.EARLIER),
        ("b[..i-1].x", Reference.EARLIER),
    ],
)
def test_each_spelling_of_a_reference(text: str, reference: Reference) -> None:
    assert parse_expression(text) == Attribute("b", "x", reference)


@pytest.mark.parametrize(
    "text",
    ["Travel T+", "Travel+ T", "Travel+ T[]", "Travel T[]", "(Travel T)+", "Travel T{1,}"],
)
def test_each_spelling_of_a_kleene_plus(text: str) -> None:
    assert parse_pattern(text) == Kleene(Event("Travel", "T"), 1, None)


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("SKIP TILL ANY MATCH", Strategy.ANY),
        ("skip-till-any-match", Strategy.ANY),
        ("skip_till_next_match", Strategy.NEXT),
        ("Skip Till Next Match", Strategy.NEXT),
        ("CONTIGUOUS", Strategy.CONTIGUOUS),
        ("STRICT CONTIGUITY", Strategy.CONTIGUOUS),
        ("partition-contiguity", Strategy.CONTIGUOUS),
    ],
)
def test_each_spelling_of_a_strategy(text: str, strategy: Strategy) -> None:
    assert parse_query(f"RETURN a.x PATTERN A a STRATEGY {text}").strategy is strategy


@pytest.mark.parametrize("group_by", ["GROUP BY", "GROUPBY", "GROUP-BY", "group_by", "Group\nBy"])
def test_each_spelling_of_group_by(group_by: str) -> None:
    assert parse_query(f"RETURN COUNT(*) PATTERN A {group_by} g, h").group_by == ("g", "h")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("1.0", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("'it''s'", "it's"),
        ("true", True),
        ("NULL", None),
    ],
)
def test_literals(text: str, value: bool | float | str | None) -> None:
    assert parse_expression(text) == Literal(value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30 minutes", 1800), ("1 h 30 min", 5400), ("-1500 ms", -1.5)]
)
def test_numbers_with_units_are_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_expression(text) == Duration(int(seconds * 1_000_000_000))


@pytest.mark.parametrize(
    ("text", "message"),
    [("0.1 ns", "a fraction of one"), ("300000000 weeks", "longer than 290,000 years")],
)
def test_lengths_of_time_are_whole_nanoseconds_of_64_bits(text: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError, match=message):
        parse_expression(text)


def test_a_bare_name_is_an_event_in_an_aggregate_and_a_column_elsewhere() -> None:
    assert parse_expression("COUNT(T)") == Call("COUNT", (Attribute("T", None),))
    assert parse_expression("ABS(T)") == Call("ABS", (Column("T"),))
    assert parse_expression("T") == Column("T")
    assert parse_expression("count()") == parse_expression("COUNT(*)")


def test_a_keyword_is_a_name_after_a_dot_and_in_brackets() -> None:
    query = parse_query("RETURN COUNT(*) PATTERN A WHERE [limit, Group] AND A.where = A.by")
    assert query.equivalence == ("limit", "Group")
    left, right = Attribute("A", "where"), Attribute("A", "by")
    assert query.where == (Binary(Operator.EQ, left, right),)


def test_a_query_may_be_a_type() -> None:
    text = 'RETURN COUNT(*) PATTERN SEQ("Query" q, Click c)'
    assert pt.events(parse_query(text).pattern)[0].type == "Query"


def test_a_text_may_begin_with_a_byte_order_mark_and_have_windows_line_ends() -> None:
    workload = parse_workload("\ufeffQUERY q\r\nRETURN COUNT(*)\r\nPATTERN A;\r\n")
    assert workload["q"].name == "q"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("COUNT(*)", "count(*)"),
        ("SUM(T.duration)", "sum(T.duration)"),
        ("LOG2(COUNT(*))", "log2(count(*))"),
        ("b[1].time", "b[1].time"),
        ("MAX(b[].val) - 1", "max(b[].val) - 1"),
        ('"odd name"', "odd name"),
    ],
)
def test_a_column_is_named_by_its_text_in_lower_case(text: str, name: str) -> None:
    assert column_name(ReturnItem(parse_expression(text))) == name
    assert column_name(ReturnItem(parse_expression(text), "other")) == "other"
