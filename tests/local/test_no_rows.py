"""A query without rows that names a type which no event has: the run warns of it."""

import warnings
from typing import Any

import pytest

import elsinore as el

EVENTS = [{"time": n, "type": "ABC"[n % 3]} for n in range(6)]


def run(*queries: str) -> list[str]:
    """Return what a run warns of."""
    with warnings.catch_warnings(record=True) as actual:
        warnings.simplefilter("always")
        el.Workload.parse(" ".join(queries)).run(EVENTS)
    assert all(warning.filename == __file__ for warning in actual)
    return [str(warning.message) for warning in actual]


@pytest.mark.parametrize("returned", ["COUNT(*)", "a.time"])
def test_a_misspelt_type_is_told_where_there_are_no_rows(returned: str) -> None:
    (told,) = run(f"QUERY q RETURN {returned} PATTERN SEQ(Aa a, B);")
    assert told == (
        "No rows: query q: no event has type Aa. Did you mean 'A'? Types seen: A, B, C."
    )


def test_blanks_at_the_ends_of_types_are_shown_and_each_missing_type_has_its_hint() -> None:
    events = [{"time": n, "type": (" login", " error")[n % 2]} for n in range(4)]
    with pytest.warns(el.NoRowsWarning) as actual:
        el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(login, eror)").run(events)
    assert str(actual[0].message) == (
        "No rows: query q: no event has type eror or login. Did you mean ' error' for eror, "
        "' login' for login? Types seen: ' login', ' error'."
    )


def test_the_warning_can_be_filtered_by_its_class() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", el.NoRowsWarning)
        el.Workload.parse("RETURN COUNT(*) PATTERN SEQ(Aa, B)").run(EVENTS)


def test_conditions_that_nothing_satisfies_and_odd_times_are_told() -> None:
    (told,) = run("QUERY q RETURN COUNT(*) PATTERN A a+ WHERE a.time > a.time;")
    assert told.startswith("No rows: query q: no events can match, for no event can be a: a.time")
    events = [{"time": 1_704_067_200_000 + n * 1000, "type": "AB"[n]} for n in range(2)]
    with pytest.warns(el.NoRowsWarning, match='If they count milliseconds: time_unit="ms"'):
        el.Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 s").run(events)


def test_keys_that_are_always_null_are_told() -> None:
    events = [event | {"user": None, "card": 7} for event in EVENTS]
    for where, told in (("[user]", True), ("[card]", False), ("A.user = 1", False)):
        with warnings.catch_warnings(record=True) as actual:
            warnings.simplefilter("always")
            query = f"QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WHERE {where} AND B.time < 0;"
            el.Workload.parse(query).run(events)
        assert [str(warning.message) for warning in actual] == told * [
            "No rows: query q: 'user' is null in every event, and [user] matches no null."
        ]


def test_queries_with_rows_are_not_warned_of() -> None:
    assert run("QUERY q RETURN COUNT(*) PATTERN SEQ(A, NOT X, B);") == []
    assert run("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.time > 99;") == []


def test_what_is_odd_about_queries_alone_is_among_the_warnings_of_their_results() -> None:
    workload = el.Workload.parse("RETURN COUNT(*) PATTERN A WITHIN 1 second SLIDE 2 seconds")
    (told,) = workload.warnings
    assert "leave gaps of 1 second" in told
    assert workload.run(EVENTS).warnings == (told,)


def test_no_more_than_three_queries_are_told_of() -> None:
    queries = [f"QUERY q{n} RETURN COUNT(*) PATTERN Aa{n};" for n in range(9)]
    (told,) = run(*queries)
    assert told.count("no event has type") == 3
    assert told.endswith("And 6 reasons more: results.warnings has all.")


@pytest.mark.parametrize(
    ("scale", "unit", "told"),
    [
        (1, "s", ""),
        (10**3, "s", "in the year 55,969. If they count milliseconds: time_unit="),
        (10**6, "ms", 'microseconds: time_unit="us"'),
        (10**9, "us", 'nanoseconds: time_unit="ns"'),
        (10**3, "ms", ""),
        (10**9, "ns", ""),
    ],
)
def test_numeric_times_of_a_finer_unit_are_warned_of(scale: int, unit: Any, told: str) -> None:
    events = [{"time": 1_704_067_200 * scale, "type": "A"}]
    hour, bare, none = (
        el.Workload.parse(f"RETURN COUNT(*) PATTERN A {within}").run(events, time_unit=unit)
        for within in ("WITHIN 1 hour", "WITHIN 3600", "")
    )
    assert (bare.warnings, none.warnings) == ((), ())
    assert len(hour.warnings) == bool(told)
    assert told in "".join(hour.warnings)


def test_times_beyond_64_bits_are_refused_with_the_unit_they_may_count() -> None:
    events = [{"time": 1_704_067_200 * 10**6, "type": "A"}]
    with pytest.raises(el.InputError, match=r"count seconds unless time_unit= says ms, us or ns"):
        el.Workload.parse("RETURN COUNT(*) PATTERN A WITHIN 1 hour").run(events)


def test_no_events_at_all_give_empty_tables_without_a_warning() -> None:
    workload = el.Workload.parse("""
        QUERY trends RETURN u, COUNT(*) AS n, AVG(B.v) AS mean
            PATTERN SEQ(A, B+) WHERE A.x > 3 GROUP BY u WITHIN 10 minutes;
        QUERY found RETURN a.time AS t, b.v PATTERN SEQ(A a, B b) WITHIN 5;""")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = workload.run([], time="at", type="upper(kind)")
    assert {name: results[name].to_arrow().column_names for name in results} == {
        "trends": ["u", "window_start", "window_end", "n", "mean"],
        "found": ["t", "b.v"],
    }
    assert {results[name].num_rows for name in results} == {0}
