"""What a machine's code keeps, joins and leaves out: not more than its query needs."""

from __future__ import annotations

from typing import Any

import pytest

import elsinore.quantitative as qre
from elsinore.quantitative.machine.emit import Emitter, atoms, fresh, is_unit, maker_of, reads
from elsinore.quantitative.machine.program import bits_of, compile_query, emitted
from elsinore.quantitative.machine.reads import attributes_read_of
from elsinore.quantitative.runnable import Query

A, B, C = (qre.event(name) for name in "abc")


def one(item: Any) -> int:
    return 1


def atom(predicate: Any) -> Query:
    return qre.atom(predicate, one)


def code(query: Query) -> list[str]:
    """Return what is written for the start of a machine, and for an item."""
    emitter, source = emitted(fresh(query.node), bits_of(query.node))
    emitter.begin(0)
    emitter.item(0)
    return [line.strip() for line in source.lines]


def kept(query: Query) -> list[str]:
    """Return the variables of a machine's state that hold values."""
    return [name for name in compile_query(query.node).variables if "_" in name]


def test_a_node_stands_in_one_place() -> None:
    part = qre.atom(A)
    with pytest.raises(TypeError, match="a node stands in one place"):
        Emitter(qre.split(part, part, qre.left).node, {}, {}, {})
    whole = fresh(qre.split(part, part, qre.left).node)
    assert len(Emitter(whole, dict.fromkeys([A.condition], "b & 1"), {}, {}).nodes) == 3


@pytest.mark.parametrize(
    ("op", "variables"),
    [
        (qre.left, ["a2_0", "a3_0"]),
        (qre.right, []),
        (qre.unit, []),
        (lambda a, b, c: (a, b, c), ["a2_0", "a3_0", "a3_1"]),
        (lambda a, b, c: (b, c), ["a3_0"]),
        (lambda a, b, c: (a, c), ["a2_0", "a3_0"]),
        (lambda *values: values, ["a2_0", "a3_0", "a3_1"]),
    ],
)
def test_values_of_parts_are_kept_where_the_operation_reads_them(
    op: Any, variables: list[str]
) -> None:
    assert kept(qre.split(atom(A), atom(B), atom(C), op)) == variables


def test_values_of_matches_and_accumulators_of_nothing_are_not_kept() -> None:
    assert kept(qre.split(qre.match(A), atom(B), lambda a, b: (a, b))) == []
    assert kept(qre.iterate(atom(A), 0, lambda n, value: n + value)) == ["a1_0"]
    assert kept(qre.match(A.star())) == []
    assert kept(qre.sliding(atom(A), 3, qre.sum())) == ["a1_0"]
    assert kept(qre.map_collect(C, "k", qre.match(qre.seq((~C).star(), C)))) == [
        "a5_0",
        "a6_0",
        "a9_0",
        "a10_0",
    ]


def test_an_iteration_without_a_value_calls_and_keeps_nothing() -> None:
    lines = code(qre.match(qre.seq(A, B).star()))
    assert not any("f" in line.split(" = ")[-1] for line in lines if "(" in line)
    assert not any("_v = " in line for line in lines)


@pytest.mark.parametrize(
    ("query", "joins"),
    [
        (qre.split(atom(A), atom(B), lambda a, b: a), 0),
        (qre.split(qre.split(atom(A), atom(B), qre.left), atom(C), qre.right), 0),
        (qre.split(qre.either(atom(A), atom(B)), atom(C), qre.right), 1),
        (qre.either(atom(A), atom(B)), 1),
        (qre.iterate(atom(A), 0, max), 0),
        (qre.iterate(qre.split(atom(A), atom(B), qre.left), 0, max), 1),
        (qre.sliding(qre.split(atom(A), atom(B), qre.left), 2, qre.sum()), 1),
        (qre.map_collect(C, "k", qre.match(qre.seq((~C).star(), C)), C), 0),
    ],
)
def test_threads_join_where_several_end_or_where_they_start_again(query: Query, joins: int) -> None:
    assert sum(line.startswith("if j") for line in code(query)) == joins


def test_no_variable_is_assigned_to_itself() -> None:
    pairs = qre.iterate(qre.split(atom(A), atom(B), lambda a, b: a + b), 0, lambda n, v: n + v)
    counted = qre.iterate(atom(B), 0, lambda n, value: n + value)
    after_a = qre.split(atom(A), counted, lambda a, n: (a, n))  # B goes on beside the value of A
    for query in (pairs, after_a):
        assigned = [line.split(" = ") for line in code(query) if line.count(" = ") == 1]
        assert assigned
        assert all(left != right for left, right in assigned)


def test_parts_that_end_together_note_it_once() -> None:
    lines = code(qre.combine(atom(A), atom(A), lambda x, y: x + y))
    assert [line for line in lines if line.startswith("g") and "True" in line] == ["g0 = True"]


def test_an_accumulator_may_be_a_variable_that_the_next_start_of_the_body_assigns() -> None:
    first = qre.iterate(atom(A), "init", qre.left)
    assert first.start().extend([{"type": "a"}] * 3)[1] == ["init"] * 3
    last = qre.iterate(qre.split(qre.atom(A), qre.atom(B), qre.left), "init", qre.right)
    items = [{"type": kind, "n": n} for n, kind in enumerate("abab")]
    assert [value.n for value in last.start().extend(items)[1]] == [0, 2]


def test_an_iteration_of_nothing_begins_with_its_first_value() -> None:
    query = qre.iterate(atom(A), 5, qre.unit)
    stream = query.start()
    assert stream.value == 5
    assert stream.push({"type": "a"}) is None
    then = qre.split(query, atom(B), lambda first, b: first).start()
    assert then.push({"type": "b"}) == 5
    assert not is_unit(query.node)


def test_constants_of_python_are_written_and_others_are_named() -> None:
    for value in (None, True, False):
        assert f"has = True; out = {value}" in code(qre.constant(value))
    assert "has = True; out = k0" in code(qre.constant(1))


@pytest.mark.parametrize(
    ("query", "attributes"),
    [
        (qre.split(qre.atom(A), qre.atom(B, lambda b: b.v), qre.right), {"v"}),
        (qre.split(qre.atom(A), qre.atom(B, lambda b: b.v), qre.left), None),
        (qre.split(qre.atom(A, lambda a: a.w), qre.atom(B), qre.left), {"w"}),
        (qre.split(qre.atom(A, lambda a: a.w), qre.atom(B), qre.right), None),
        (qre.split(qre.atom(A), qre.atom(B), qre.unit), set()),
        (qre.split(qre.atom(A), qre.atom(B), lambda a, b: b), None),
        (qre.split(qre.atom(A, lambda a: a.w), qre.atom(B), lambda a, b: a), {"w"}),
        (qre.combine(qre.atom(A), qre.atom(A, lambda a: a.v), lambda x, y: y), {"v"}),
        (qre.combine(qre.atom(A), qre.atom(A, lambda a: a.v), lambda x, y: x), None),
        (qre.iterate(qre.atom(A), 0, lambda n, item: n + 1), set()),
        (qre.iterate(qre.atom(A), 0, lambda n, item: item), None),
        (qre.iterate(qre.atom(A), None, qre.unit), set()),
        (qre.atom(A), None),
        (qre.either(qre.atom(A), qre.atom(B)), None),
    ],
)
def test_attributes_are_read_where_a_value_may_make_a_difference(
    query: Query, attributes: set[str] | None
) -> None:
    assert attributes_read_of(fresh(query.node)) == attributes


def test_a_function_reads_what_its_code_names() -> None:
    def inner(value: Any) -> Any:
        return lambda: value

    def deletes(value: Any) -> None:
        del value

    assert [reads(lambda x, y: y, place) for place in (0, 1, 2)] == [False, True, True]
    assert reads(inner, 0)
    assert reads(deletes, 0)
    assert reads(max, 0)
    assert reads(lambda *values: 1, 0)
    assert reads(lambda x, y: (y, x), 0)  # with one instruction from Python 3.13 on


def test_queries_without_values_are_told() -> None:
    unit = qre.match(A)
    assert is_unit(unit.node)
    assert is_unit(qre.constant(None).node)
    assert not is_unit(qre.constant(0).node)
    assert not is_unit(qre.atom(A).node)
    assert is_unit(qre.either(unit, qre.match(B)).node)
    assert not is_unit(qre.either(unit, atom(B)).node)
    assert is_unit(qre.match(A.star()).node)
    assert not is_unit(qre.iterate(atom(A), None, max).node)
    assert not is_unit(qre.sliding(atom(A), 2, qre.sum()).node)
    assert len(atoms(fresh(qre.split(unit, unit, qre.unit).node))) == 2


def test_what_fails_in_a_window_is_named_by_its_fold() -> None:
    window = qre.sliding(qre.atom(A, lambda a: a.v), 2, qre.sum())
    with pytest.raises(qre.OperationError) as caught:
        window.start().extend([{"type": "a", "v": 1}, {"type": "a", "v": "x"}])
    assert caught.value.expression.startswith("step of sliding(")
    finished = qre.sliding(qre.atom(A, lambda a: a.v), 2, "init", lambda n, v: n)
    value = qre.Fold(name="ends", init=0, step=lambda n, v: n, finish=lambda n: 1 // n)
    assert finished.start().push({"type": "a", "v": 1}) == "init"
    with pytest.raises(qre.OperationError) as caught:
        qre.sliding(qre.atom(A), 2, value).start().push({"type": "a"})
    assert caught.value.expression.startswith("ends of sliding(")


def test_only_functions_of_users_are_called_and_get_what_they_read() -> None:
    for op, called in ((qre.left, []), (qre.right, []), (lambda a, b: a, ["f0op(a2_0, None)"])):
        lines = code(qre.split(atom(A), atom(B), op))
        assert [line.split(" = ")[1] for line in lines if "f0op(" in line] == called


def fail(*_: Any) -> Any:
    raise ValueError


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        (qre.atom(A, fail), "fail of atom(a, fail)"),
        (qre.split(atom(A), atom(B), fail), "fail of split("),
        (qre.iterate(atom(A), 0, fail), "fail of iterate("),
        (qre.map_collect(C, fail, qre.match(qre.seq((~C).star(), C)), C), "fail of map_collect("),
    ],
)
def test_the_function_that_fails_is_named(query: Query, expression: str) -> None:
    with pytest.raises(qre.OperationError) as caught:
        query.start().extend([{"type": kind} for kind in "ab"])
    assert caught.value.expression.startswith(expression)


def test_what_makes_a_value_is_named() -> None:
    assert maker_of(atom(A).node) == "one of atom(a, one)"
    assert maker_of(qre.atom(A).node) == "the value of atom(a)"
    assert maker_of(qre.iterate(atom(A), 0, max).node).startswith("max of iterate(")
    assert maker_of(qre.sliding(atom(A), 2, qre.sum()).node).startswith("sum of sliding(")
