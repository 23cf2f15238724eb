"""What is kept at atoms and what functions get: not more than a query needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import elsinore.quantitative as qre
from elsinore.quantitative.machine.control import Program, transitions_of
from elsinore.quantitative.machine.layout import (
    Layout,
    attributes_read_of,
    is_unit,
    maker_of,
    reads,
)
from elsinore.quantitative.runnable import Query
from support.quantitative import called_by_python

A, B, C = (qre.event(name) for name in "abc")


def one(item: Any) -> int:
    return 1


def atom(predicate: Any) -> Query:
    return qre.atom(predicate, one)


def kept(query: Query) -> list[int]:
    """Return how many values are kept at each atom."""
    return [place.depth for place in Layout(query.node).atoms]


def test_a_node_that_is_used_twice_has_two_places() -> None:
    part = qre.atom(A)
    layout = Layout(qre.split(part, part, qre.left).node)
    assert len(layout.places) == 3
    assert layout.places[1].node is layout.places[2].node


@pytest.mark.parametrize(
    ("op", "depths"),
    [
        (qre.left, [0, 1, 1]),
        (qre.right, [0, 0, 0]),
        (qre.unit, [0, 0, 0]),
        (lambda a, b, c: (a, b, c), [0, 1, 2]),
        (lambda a, b, c: (b, c), [0, 0, 1]),
        (lambda a, b, c: (a, c), [0, 1, 1]),
        (lambda *values: values, [0, 1, 2]),
    ],
)
def test_values_of_parts_are_kept_where_the_operation_reads_them(
    op: Any, depths: list[int]
) -> None:
    assert kept(qre.split(atom(A), atom(B), atom(C), op)) == depths


def test_values_of_matches_and_accumulators_of_nothing_are_not_kept() -> None:
    assert kept(qre.split(qre.match(A), atom(B), lambda a, b: (a, b))) == [0, 0]
    assert kept(qre.iterate(atom(A), 0, lambda n, value: n + value)) == [1]
    assert kept(qre.match(A.star())) == [0]
    assert kept(qre.sliding(atom(A), 3, qre.sum())) == [1]
    assert kept(qre.map_collect(C, "k", qre.match(qre.seq((~C).star(), C)))) == [1, 1, 1, 1]


def calls(query: Query) -> list[tuple[Any, list[Any]]]:
    """Return the functions that Python calls for items of all classes in all control states.

    With each the constants that it gets, ... for what is no constant.
    """
    with called_by_python():
        program = Program(query.node)
        assert program.idle_classes() is not None  # all have been derived
    found = []
    for control in program._controls.values():
        for transition in [t for e in control.transitions if e for t in transitions_of(e)]:
            for place, line in enumerate(np.asarray(transition.code)[:-1].tolist()):
                _, _, begin, count, _ = line
                slots = list(transition.constant_slots)[: transition.constant_count]
                known = dict(zip(slots, transition.constants.objects, strict=False))
                given = transition.arguments[begin : begin + count]
                constants = [known.get(slot, ...) for slot in given]
                found.append((transition.functions[place], constants))
    return found


def test_an_iteration_without_a_value_calls_and_keeps_nothing() -> None:
    query = qre.match(qre.seq(A, B).star())
    assert calls(query) == []
    assert kept(query) == [0, 0]


def test_only_functions_of_users_are_called_and_get_what_they_read() -> None:
    for op, is_called in ((qre.left, False), (qre.right, False), (lambda a, b: a, True)):
        called = [given for f, given in calls(qre.split(atom(A), atom(B), op)) if f is op]
        assert bool(called) == is_called
        assert all(given[1] is None for given in called)


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
    assert attributes_read_of(query.node) == attributes


def test_a_function_reads_what_its_code_names() -> None:
    def inner(value: Any) -> Any:
        return lambda: value

    def deletes(value: Any) -> None:
        del value

    assert [reads(lambda x, y: y, place, 3) for place in (0, 1, 2)] == [False, True, True]
    assert reads(inner, 0, 1)
    assert reads(deletes, 0, 1)
    assert reads(max, 0, 1)
    assert reads(lambda *values: 1, 0, 1)
    assert reads(lambda x, y: (y, x), 0, 2)  # with one instruction from Python 3.13 on


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
    assert len(Layout(qre.split(unit, unit, qre.unit).node).atoms) == 2


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
