"""What Python values and columns go wrong in a run, and what is said of each."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import elsinore as el
from elsinore.errors import ElsinoreError, on_the_command_line

EVENTS = [
    {"time": 1, "type": "V", "x": 1, "s": "a", "b": True, "t": dt.datetime(2024, 1, 1)},
    {"time": 2, "type": "V", "x": 2**62, "s": "b", "b": False, "t": dt.datetime(2024, 1, 2)},
]


def run(data: Any = EVENTS, where: str = "", **options: Any) -> el.Results[Any]:
    text = f"QUERY q RETURN COUNT(*) PATTERN V+ {where} WITHIN 10 seconds;"
    return el.Workload.parse(text).run(data, **options)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("WHERE V.t > 'soon'", "'soon' is not a time"),
        ("WHERE V.s", "this is text"),
        ("WHERE V.t - V.t > 3", "a length of time beside a number"),
    ],
)
def test_a_condition_that_cannot_be_computed_says_why(where: str, message: str) -> None:
    with pytest.raises(ElsinoreError, match=message) as caught:
        run(where=where)
    assert "pyarrow" not in str(caught.value)
    assert "kernel" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            [{"time": 1, "type": "V", "x": 1}, {"time": 2, "type": "V", "x": "a"}],
            r"Column 'x' .*several kinds: 'a' \(str\) in row 2, and 1 \(int\) before it",
        ),
        (
            [{"time": n, "type": "V", "x": None if n < 3 else "a"} for n in range(99)] + [{"x": 5}],
            r"Column 'x' .* 5 \(int\) in row 100, and 'a' \(str\) before it",
        ),
        ([{"time": 1, "type": "V", "x": [1]}, {"x": {"a": 1}}], r"\{'a': 1\} \(dict\) in row 2"),
        ([{"time": 1, "type": "V", "x": object()}], "Column 'x', row 1: .* not a value that a"),
        ([{"time": 2**70, "type": "V"}], "Column 'time', row 1: 1180591620717411303424"),
        ([{"time": 1, "type": "V", 3: 1}], r"named by text, and one is named 3 \(int\)"),
        ({"time": [1], "type": ["V", "V"]}, "'time' and column 'type' are not of one length"),
        ({"time": [1], "type": "V"}, "Column 'type' is 'V'"),
        ({"time": [1], "type": 3}, r"Column 'type' is 3 \(int\)"),
        ({"time": [1], "type": [["V"]]}, "The type of an event is text: a list cannot be made"),
        ("e.csv", "holds no 'e.csv'"),
        (None, "cannot be read from NoneType"),
    ],
)
def test_events_that_make_no_table_name_the_column_and_the_row(data: Any, message: str) -> None:
    with pytest.raises(el.InputError, match=message):
        run(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": 3}, r"time takes a column's name or an SQL expression, not 3 \(int\)"),
        ({"type": None}, "type takes a column's name or an SQL expression, not None"),
        ({"order_by": 3}, "order_by takes names of columns"),
        ({"order_by": ["x", None]}, "order_by takes names of columns"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        run(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sharing": "alwys"}, "Did you mean 'always'"),
        ({"granularity": 3}, "Unknown granularity 3"),
        ({"time": "t > "}, r"is not SQL \(near '>', column 3\)"),
        ({"time": "b + 1"}, "a truth value and a whole number cannot be compared or computed"),
    ],
)
def test_arguments_of_a_wrong_value_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ElsinoreError, match=message) as caught:
        run(**options)
    assert "sqlglot" not in str(caught.value)
    assert "<class" not in str(caught.value)


def test_errors_speak_of_arguments_in_python_and_of_options_on_the_command_line() -> None:
    rows = [{"when": 1, "kind": "V"}]
    with pytest.raises(el.InputError) as caught:
        run(rows)
    assert "with time=." in str(caught.value)
    assert "--" not in str(caught.value)
    with on_the_command_line(), pytest.raises(el.InputError, match=r"with --time\."):
        run(rows)
    with pytest.raises(el.InputError, match="rejects=True") as caught:
        run([{"time": None, "type": "V"}])
    assert "--" not in str(caught.value)
    with pytest.raises(el.InputError, match="Hand over a Spark DataFrame") as caught:
        run(time="xpath_int(s, 'a')")
    assert "--" not in str(caught.value)
