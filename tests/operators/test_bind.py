"""Checking queries against the attributes that events have."""

from __future__ import annotations

import pytest

from elsinore.errors import InvalidWorkloadError, QuerySemanticError
from elsinore.language import parse_workload
from elsinore.model import AttributeKind, Schema
from elsinore.operators import bind

SCHEMA = Schema(
    (
        ("district", AttributeKind.INTEGER),
        ("speed", AttributeKind.NUMBER),
        ("name", AttributeKind.STRING),
        ("pool", AttributeKind.BOOLEAN),
        ("at", AttributeKind.TIME),
        ("blob", AttributeKind.OTHER),
        ("period", AttributeKind.INTERVAL),
        ("label", AttributeKind.COLLATED),
        ("nothing", AttributeKind.NULL),
        ("digest", AttributeKind.BYTES),
        ("clock", AttributeKind.CLOCK),
        ("length", AttributeKind.DURATION),
        ("parts", AttributeKind.NESTED),
    )
)


def check(where: str = "", returns: str = "COUNT(*)", group_by: str = "") -> None:
    """Bind one query over `Travel T+`."""
    text = f"QUERY q RETURN {returns} PATTERN Travel T+"
    text += f" WHERE {where}" if where else ""
    text += f" GROUP BY {group_by}" if group_by else ""
    bind(parse_workload(text), SCHEMA)


@pytest.mark.parametrize(
    "where",
    [
        "T.speed < 10",
        "T.speed < T.district",
        "T.name = 'x' OR T.name IS NULL",
        "T.pool",
        "T.pool = TRUE",
        "T.at < '2024-01-01'",
        "'2024-01-01' < T.at",
        "T.at IN ('2024-01-01', '2024-01-02')",
        "T.blob IS NULL",
        "T.label IS NOT NULL",
        "T.nothing = 3",
        "T.nothing = T.nothing",
        "T.digest = 'abc'",
        "T.clock < T.clock",
        "T[i].length > T[i-1].length",
        "T.parts IS NOT NULL",
        "NOT T.pool",
        "T.name LIKE 'a%'",
        "T.speed = NULL",
        "ABS(T.speed - 1) > 2",
        "[district, name]",
    ],
)
def test_conditions_that_fit_the_attributes_pass(where: str) -> None:
    check(where)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("T.name < 10", "text beside a number"),
        ("10 > T.name", "a number beside text"),
        ("T.name = T.speed", r"text beside a number: they cannot be compared\.$"),
        ("T.name < 10", r"cannot be compared\. Write '10' in quotes\.$"),
        ("T.speed < ' -1.5'", r"cannot be compared\. Write -1\.5 without quotes\.$"),
        ("T.speed < '+5.'", r"cannot be compared\. Write 5 without quotes\.$"),
        ("T.pool = 'true'", r"A truth value stands alone, or after NOT, or is compared with TRUE"),
        ("T.at < 10", r"A time is written as in '2024-01-31T12:00:00'"),
        ("T.at = T.name", "a time beside text"),
        ("T.pool = 1", "a truth value beside a number"),
        ("T.name IN (1, 2)", "text beside a number"),
        ("T.name + 1 > 2", "A number is needed here, and this is text.*AS TIMESTAMP"),
        ("T.name + T.name > 2", "A number is needed here, and this is text"),
        ("-T.name > 2", "A number is needed here, and this is text"),
        ("ABS(T.pool) > 2", "ABS needs a number; 'pool' is a truth value"),
        ("T.at - T.at > 2", "a length of time beside a number.*with its unit, as in 5 minutes"),
        ("T.name", r"A condition is true or false, and this is text.*as in T.name = 'a text'"),
        ("T.speed", r"A condition is true or false, and this is a number.*as in T.speed > 0"),
        ("T.at OR T.pool", r"this is a time.*as in T.at > '2024-01-01'"),
        ("NOT T.speed", "A condition is true or false, and this is a number"),
        ("T.speed LIKE '1%'", "LIKE is for text, and this is a number"),
        ("T.at LIKE '2024%'", "LIKE is for text, and this is a time"),
        ("T.speed > (T.pool AND TRUE)", "a number beside a truth value"),
        ("ABS(T.speed) = 'x'", "beside text"),
        ("T.length > 5", "a length of time beside a number"),
        ("T[i].length > T[i-1].at", "a length of time beside a time"),
        ("T.length - T.length > 5", "a length of time beside a number"),
        ("T.parts = 'x'", "A struct, an array or a map cannot be compared. Give the events"),
        ("T.parts IN ('x')", "A struct, an array or a map cannot be compared"),
        ("T.blob = 3", "Values of this column's type cannot be compared"),
        ("T[i].period > T[i-1].period", "An interval with months has no fixed length"),
        ("T.period = T.period", "An interval with months has no fixed length"),
        ("T.label = 'x'", "Texts are compared byte by byte, .* the collation UTF8_BINARY, or"),
        ("T[i].label = T[i-1].label", "different texts can be equal"),
        ("T.label IN ('x')", "different texts can be"),
        ("T.label LIKE 'x%'", "LIKE is for text, and this is text with a collation other than"),
        ("T.digest = T.clock", "bytes beside a time of day"),
        ("[label]", r"\[ \] 'label': keys are compared byte by byte"),
        ("[period]", r"\[ \] 'period': an interval with months cannot be a key"),
        ("[blob]", r"\[ \] 'blob': values of this column's type cannot be a key"),
        ("T[i].clock > T[i-1].clock", "A time of day cannot be compared with that of another"),
        ("T[i].digest <> T[i-1].digest", "Bytes of one event cannot be compared"),
    ],
)
def test_what_cannot_be_compared_is_refused(where: str, message: str) -> None:
    with pytest.raises(QuerySemanticError, match=message):
        check(where)


def test_an_unknown_attribute_is_refused_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(QuerySemanticError) as caught:
        check("T.sped < 10")
    error = caught.value
    assert "T has no attribute 'sped'. Did you mean 'speed'?" in str(error)
    assert (
        "Attributes: district, speed, name, pool, at, blob, period, label, nothing, digest, clock, "
        "length, parts." in str(error)
    )
    assert error.choices == SCHEMA.names
    assert error.span is not None
    text = "QUERY q RETURN COUNT(*) PATTERN Travel T+ WHERE T.sped < 10"
    assert text[error.span.start : error.span.stop] == "T.sped"


def test_a_time_that_has_another_name_is_pointed_at() -> None:
    with pytest.raises(QuerySemanticError, match=r"no attribute 'time'\. Times are in 'at'\."):
        check("T.time > '2024-01-01'")


def test_an_unknown_attribute_of_group_by_and_of_an_equivalence_is_refused() -> None:
    with pytest.raises(
        QuerySemanticError, match=r"The events have no attribute 'distrikt'.*'dist"
    ) as e:
        check(group_by="distrikt")
    assert e.value.span is not None
    with pytest.raises(QuerySemanticError, match="The events have no attribute 'driver'") as caught:
        check("[driver]")
    assert caught.value.span is not None
    text = "QUERY q RETURN COUNT(*) PATTERN Travel T+ WHERE [driver]"
    assert text[caught.value.span.start : caught.value.span.stop] == "[driver]"


def test_an_unknown_attribute_of_an_aggregate_is_refused() -> None:
    with pytest.raises(QuerySemanticError, match="T has no attribute 'fare'"):
        check(returns="SUM(T.fare)")


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ("SUM(T.name)", "SUM needs a number; 'name' is text"),
        ("AVG(T.at)", "AVG needs a number or a length of time; 'at' is a time"),
        ("SUM(T.pool)", "SUM needs a number; 'pool' is a truth value"),
        ("MIN(T.name)", "MIN is for numbers, times and truth values; 'name' is text"),
        ("MAX(T.blob)", "MAX is for numbers"),
    ],
)
def test_aggregates_of_what_they_are_not_for_are_refused(returns: str, message: str) -> None:
    with pytest.raises(QuerySemanticError, match=message):
        check(returns=returns)


@pytest.mark.parametrize(
    "returns", ["SUM(T.district), AVG(T.speed)", "MIN(T.at), MAX(T.pool)", "COUNT(T)"]
)
def test_aggregates_of_what_they_are_for_pass(returns: str) -> None:
    check(returns=returns)


def test_all_errors_of_all_queries_are_told_at_once() -> None:
    text = """
        QUERY one RETURN SUM(T.fare) PATTERN Travel T+ WHERE T.sped < 10;
        QUERY two RETURN COUNT(*) PATTERN Travel T+ WHERE T.name < 10;
        QUERY fine RETURN COUNT(*) PATTERN Travel T+;
    """
    with pytest.raises(InvalidWorkloadError) as caught:
        bind(parse_workload(text), SCHEMA)
    assert [error.query for error in caught.value.errors] == ["one", "one", "two"]


def test_one_mistake_is_told_once() -> None:
    with pytest.raises(QuerySemanticError, match="no attribute 'sped'"):
        check("T.sped < 'x'")


def test_a_workload_that_fits_one_stream_is_checked_against_another() -> None:
    workload = parse_workload("QUERY q RETURN SUM(T.speed) PATTERN Travel T+")
    texts = Schema((("speed", AttributeKind.STRING),))
    for _ in range(2):
        bind(workload, SCHEMA)
        with pytest.raises((QuerySemanticError, InvalidWorkloadError), match="needs a number"):
            bind(workload, texts)
    assert workload.fitting == {SCHEMA}
