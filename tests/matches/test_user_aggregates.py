"""Aggregates of the user's own: what is compiled, what is refused, and how failures are told."""

import math
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.matches.aggregates import BUILT_IN, FORMULAS, UserAggregate
from elsinore.matches.stepping import ASK_PYTHON, FOREIGN, STEPPED, Stepper, _cause
from support.matches import Middle, Spellings, Spread, Weighted

EVENTS = [
    {"time": n, "type": kind, "v": v}
    for n, (kind, v) in enumerate([("A", 9), ("B", 3), ("B", 0), ("B", 5), ("C", 1)])
]
QUERY = "QUERY q RETURN {} PATTERN SEQ(A a, B+ b, C c) WHERE {};"


class Logarithms:
    """Fails for 0, of which the logarithm is minus infinity where it is compiled."""

    def init(self):
        return 0.0

    def step(self, state, value):
        return state + math.log(value)

    def value(self, state):
        return state


class Power:
    """Has a parameter, which compiled code cannot read: it runs in Python."""

    def __init__(self, exponent):
        self.exponent = exponent

    def init(self):
        return 0.0

    def step(self, state, value):
        return state + value**self.exponent

    def value(self, state):
        return state


@pytest.mark.skipif(os.environ.get("ELSINORE_COMPILE") == "0", reason="nothing is compiled")
def test_states_of_numbers_are_compiled_and_others_run_in_python() -> None:
    assert Stepper(UserAggregate("spread", Spread), 1).is_compiled
    assert Stepper(UserAggregate("weighted", Weighted), 2).is_compiled
    assert not Stepper(UserAggregate("middle", Middle), 1).is_compiled
    assert not Stepper(UserAggregate("power", Power(2)), 1).is_compiled


def test_without_numba_aggregates_run_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it fails
    made = Stepper(UserAggregate("spread", Spread), 1)
    assert not made.is_compiled
    assert made.why_not == "Numba is not installed"


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_variances_are_compiled_without_numba(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it fails
    assert Stepper(UserAggregate(name, BUILT_IN[name]), 1).why_not is None
    values = [3.5, 1e9, -0.1, 1e9 + 1, 7.0, 7.0, -2e-3]
    events = [{"time": n, "type": "B", "v": v} for n, v in enumerate(values)]
    text = f"RETURN b[].v AS v, {name}(b[].v) AS r PATTERN B+ b STRATEGY CONTIGUOUS"
    (table,) = el.Workload.parse(text).run(events).values()
    assert table.num_rows == 28
    plain = UserAggregate(name, BUILT_IN[name]).methods
    for row in table.to_pylist():
        state = plain.init()
        for value in row["v"]:
            state = plain.step(state, value)
        assert row["r"] == plain.value(state)


@pytest.mark.parametrize("given", [Spread, Middle, Logarithms, Power(3)])
def test_stepping_gives_what_python_gives(given: object) -> None:
    made = Stepper(UserAggregate("own", given), 1)
    register = np.array([np.nan, *made.initial, 0.0])
    plain = given() if isinstance(given, type) else given
    state = plain.init()
    for value in (3.0, 1.0, 0.25, 7.0):
        register[-1] = value
        status = FOREIGN(made.address)(register.ctypes.data)
        if status == ASK_PYTHON:
            status = FOREIGN(made.python_address)(register.ctypes.data)
        assert status == STEPPED
        state = plain.step(state, value)
        assert register[0] == pytest.approx(plain.value(state), abs=1e-12)


def test_a_failure_names_query_variable_and_event() -> None:
    workload = el.Workload.parse(
        QUERY.format("LOGS(b[].v)", "1 < 2"), aggregates={"logs": Logarithms}
    )
    with pytest.raises(el.InputError) as caught:
        workload.run(EVENTS)
    assert str(caught.value) == (
        "query q: LOGS over b: step(0.0) raised ValueError: math domain error, at the event v=0."
    )
    workload = el.Workload.parse(
        QUERY.format("LOGS(b[].v)", "b.v > 0"), aggregates={"logs": Logarithms}
    )
    assert workload.run(EVENTS)["q"].num_rows == 3


def test_a_value_that_is_no_number_is_told() -> None:
    class Text(Middle):
        def value(self, state):
            return "text"

    workload = el.Workload.parse(QUERY.format("OWN(b[].v)", "1 < 2"), aggregates={"own": Text})
    with pytest.raises(el.InputError, match="value gave str, not a number"):
        workload.run(EVENTS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (int, "has no init and no step and no value"),
        (Power, "cannot be made: TypeError"),
        (type("Odd", (Spread,), {"monotone": "up"}), "monotone of the aggregate 'own' is 'up'"),
        (
            type("Bad", (Spread,), {"init": lambda _: 1 / 0}),
            "init of the aggregate 'own' failed",
        ),
    ],
)
def test_what_is_no_aggregate_is_refused(given: type, message: str) -> None:
    workload = el.Workload.parse(QUERY.format("OWN(b[].v)", "1 < 2"), aggregates={"own": given})
    with pytest.raises(el.QuerySemanticError, match=message):
        assert workload.plan


def test_a_name_of_the_language_is_refused() -> None:
    workload = el.Workload.parse(QUERY.format("SUM(b[].v)", "1 < 2"), aggregates={"sum": Spread})
    with pytest.raises(el.QuerySemanticError, match="'sum' is a function already"):
        assert workload.plan


def test_the_class_of_a_condition_is_neither_unless_it_is_declared() -> None:
    text = QUERY.format("a.v", "b[i].v > OWN(b[1..i-1].v)")
    plain = type("Plain", (Spread,), {"monotone": None})
    assert "neither" in el.Workload.parse(text, aggregates={"own": plain}).explain()
    assert "OWN(b[1..i-1].v): true value consistent" in (
        el.Workload.parse(text, aggregates={"own": Spread}).explain()
    )


def test_explain_says_what_is_compiled_and_why_not() -> None:
    class Told(Spread):
        def step(self, state, value):
            return (min(state[0], len(str(open))), state[1])

    items = "SPREAD(b[].v), MIDDLE(b[].v), TOLD(b[].v)"
    given = {"spread": Spread, "middle": Middle, "told": Told}
    text = el.Workload.parse(QUERY.format(items, "1 < 2"), aggregates=given).explain()
    assert "SPREAD runs compiled" in text
    assert "MIDDLE runs in Python: its state is not a number or a tuple of numbers" in text
    assert "TOLD runs in Python: it does not compile: Untyped global name 'open'" in text


def test_the_builder_names_aggregates() -> None:
    a, b = el.event("A", "a"), el.event("B", "b")
    query = (
        el.query("q").match(el.seq(a, b.plus())).select(el.function("spread", b.all.v).alias("s"))
    )
    workload = el.Workload(query, aggregates={"spread": Spread})
    assert workload.run(EVENTS)["q"]["s"].to_pylist() == [0, 3, 5, 2, 0, 5, 0]
    again = el.Workload.parse(str(workload), aggregates={"spread": Spread})
    assert again == workload


def test_the_command_line_takes_a_module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Longest:\n    def init(self): return 0\n    def step(self, s, v): return max(s, v)\n"
        "    def value(self, s): return s\n"
    )
    events = tmp_path / "events.csv"
    events.write_text("time,type,v\n1,A,1\n2,B,5\n3,B,3\n")
    query = "RETURN LONGEST(b[].v) AS m PATTERN SEQ(A a, B+ b) STRATEGY CONTIGUOUS"
    given = ["run", "-q", query, "--events", str(events), "--engine", "local", "--format", "csv"]
    refused = CliRunner().invoke(app, given)
    assert refused.exit_code == 2
    assert "--python" in refused.stderr
    done = CliRunner().invoke(app, [*given, "--python", str(tmp_path / "mine.py")])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split() == ['"m"', "5", "5"]
    missing = CliRunner().invoke(app, [*given, "--python", "nowhere"])
    assert missing.exit_code == 2
    assert "no module 'nowhere'" in missing.stderr


def test_why_something_does_not_compile_is_told_without_colours() -> None:
    told = (
        "Failed in nopython mode\n\x1b[1m\x1b[1mUntyped global name 'open':\x1b[0m \x1b[1mno\x1b[0m"
    )
    assert _cause(ValueError(told)) == "Untyped global name 'open': no"


TEXTS = [
    {"time": n, "type": "B", "s": text} for n, text in enumerate(["b", "Z", None, "ä", "b", "a"])
]


def test_the_median_of_texts_is_the_lower_one_in_the_middle() -> None:
    (rows,) = (
        el.Workload.parse(
            "RETURN b[].s AS s, MEDIAN(b[].s) AS m, MEDIAN(upper(b[].s)) AS u PATTERN B+ b "
            "WHERE MEDIAN(b[].s) >= 'a' OR MEDIAN(b[].s) IS NULL STRATEGY CONTIGUOUS"
        )
        .run(TEXTS)
        .values()
    )
    found = {tuple(row["s"]): (row["m"], row["u"]) for row in rows.to_pylist()}
    assert found[None,] == (None, None)
    assert found["b", "Z", None, "ä"] == ("b", "Z")
    assert found["ä", "b"] == ("b", "B")
    assert found["ä", "b", "a"] == ("b", "B")
    assert ("b", "Z") not in found  # its median is Z


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_the_median_of_texts_has_their_values_whatever_their_arrow_type(kind: pa.DataType) -> None:
    table = pa.Table.from_pylist(TEXTS)
    table = table.set_column(2, "s", table.column("s").cast(kind))
    query = "RETURN MEDIAN(b[].s) AS m PATTERN B{4} b STRATEGY CONTIGUOUS"
    (rows,) = el.Workload.parse(query).run(table).values()
    assert rows["m"].to_pylist() == ["b", "b", "b"]


def test_the_latest_texts_are_aggregated_with_states_that_are_objects() -> None:
    query = """RETURN b[].s AS s PATTERN B+ b STRATEGY CONTIGUOUS AFTER MATCH SKIP PAST LAST EVENT
        WHERE SPELLINGS(b[i-2..i-1].s) < 2"""
    (rows,) = el.Workload.parse(query, aggregates={"spellings": Spellings}).run(TEXTS).values()
    assert rows["s"].to_pylist() == [["b", "Z"], [None], ["ä", "b"], ["a"]]


def test_the_median_of_texts_is_of_the_events_that_are_bound_before() -> None:
    texts = ["m", "x", "c", "n", "z", "a"]
    events = [{"time": n, "type": "B", "s": text} for n, text in enumerate(texts)]
    query = """RETURN b[].s AS s PATTERN B+ b STRATEGY CONTIGUOUS AFTER MATCH SKIP PAST LAST EVENT
        WHERE b[i].s >= MEDIAN(b[i-2..i-1].s)"""
    (rows,) = el.Workload.parse(query).run(events).values()
    assert rows["s"].to_pylist() == [["m", "x"], ["c", "n", "z"], ["a"]]


def test_a_median_of_truth_values_is_rejected() -> None:
    workload = el.Workload.parse("RETURN MEDIAN(b[].v) AS m PATTERN B{2,} b STRATEGY CONTIGUOUS")
    with pytest.raises(el.QueryError, match="MEDIAN is for numbers and text; 'v' is a truth value"):
        workload.run([{"time": n, "type": "B", "v": True} for n in range(3)])
