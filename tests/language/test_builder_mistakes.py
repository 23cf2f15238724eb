"""What Python values a builder is given by mistake, and what it says to each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import elsinore as el
import elsinore.quantitative as qre

A = el.event("A")
QUERY = el.query("q").match(A)


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (lambda: el.Workload("text"), TypeError, r"'text' \(str\).*Workload.parse\(text\)"),
        (lambda: el.Workload(QUERY), TypeError, r"select\(...\) is called"),
        (lambda: el.Workload([QUERY.select(el.count())]), TypeError, r"Workload\(\*queries\)"),
        (lambda: el.Workload(qre.filter(qre.any)), TypeError, r"from_python\(query\)"),
        (el.Workload, el.QuerySemanticError, "at least one query"),
        (lambda: el.Workload.parse(3), TypeError, r"this is 3 \(int\)"),
        (lambda: el.Workload.parse(None), TypeError, "this is None"),
        (lambda: el.Workload.parse(Path("a.cep")), TypeError, r"path.read_text\(\)"),
        (lambda: el.Workload.parse(b"QUERY"), TypeError, "decode"),
        (el.seq, el.QuerySemanticError, "at least one pattern"),
        (lambda: el.seq("A", "B"), TypeError, r"event\('A'\)"),
        (lambda: el.no("A"), TypeError, r"event\('A'\)"),
        (lambda: A | "B", TypeError, r"event\('B'\)"),
        (lambda: el.event(""), el.QuerySemanticError, "empty"),
        (lambda: el.event(3), TypeError, r"the name of a type, not 3 \(int\)"),
        (lambda: el.event("A", ""), el.QuerySemanticError, "empty"),
        (lambda: el.query(""), el.QuerySemanticError, "empty"),
        (lambda: el.query(None), TypeError, "a name, not None"),
        (lambda: el.same(3), TypeError, "names of attributes"),
        (lambda: el.column(3), TypeError, "name of an attribute"),
        (lambda: el.count(3), TypeError, "count takes an event"),
        (lambda: A.times("x"), TypeError, "whole number of times, not 'x'"),
        (lambda: A.times(1, 2.5), TypeError, "whole number of times, not 2.5"),
        (lambda: A.plus().optional(), el.QuerySemanticError, r"seq\(p.plus\(\)\).optional"),
        (lambda: A.times(1, 2).optional(), el.QuerySemanticError, "no greedy or reluctant"),
        (lambda: QUERY.group_by(3), TypeError, "group_by takes names"),
        (lambda: QUERY.where("A.x > 3"), TypeError, "Workload.parse"),
        (lambda: QUERY.where([A.x > 3]), TypeError, "A condition compares"),
        (lambda: QUERY.where(3).select(el.count()), el.QuerySemanticError, "true or false"),
        (lambda: QUERY.within(None), TypeError, "30 minutes"),
        (lambda: QUERY.within(float("nan")), TypeError, "30 minutes"),
        (lambda: QUERY.within("3 foo"), el.QuerySyntaxError, "Units: nanoseconds"),
        (lambda: QUERY.within("1 day", slide="1 us"), el.QuerySemanticError, "windows"),
        (lambda: A.name.like("a\\b"), el.QuerySemanticError, "backslash"),
        (lambda: A.name.like(3), TypeError, "LIKE"),
        (lambda: QUERY.select(el.count).name, TypeError, "count"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(
    mistake: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mistake()


@pytest.mark.parametrize("count", [401, 2000, 10**6, 10**9])
def test_more_repetitions_than_can_be_told_apart_are_refused_at_once(count: int) -> None:
    workload = el.Workload.parse(f"QUERY q RETURN COUNT(*) PATTERN V{{{count}}}")
    with pytest.raises(el.QuerySemanticError, match="more than 400 places"):
        _ = workload.plan


@pytest.mark.parametrize("join", [lambda a, b: a and b, lambda a, b: a or b, lambda a, _: not a])
def test_python_s_own_and_or_and_not_of_patterns_are_refused(join: object) -> None:
    assert callable(join)
    with pytest.raises(TypeError, match=r"Join patterns by \| and &"):
        join(el.event("A"), el.event("B"))
