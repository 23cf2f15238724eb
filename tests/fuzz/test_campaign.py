"""A short campaign makes the comparisons it reports, and detects a wrong result."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random

import pytest

pytest.importorskip("pyspark")  # a campaign does what its tasks do, too

from elsinore.plan import Sharing
from fuzz.cases import Case, cases
from fuzz.in_process import compared


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return [case for case in islice(cases(seed=3), 18) if isinstance(case, Case)]


def test_each_workload_runs_in_every_mode_and_both_granularities(drawn: list[Case]) -> None:
    assert len(drawn) > 9
    for case in drawn[:5]:
        done = compared(case, Random(case.name))
        assert {sharing for sharing, _, _ in done} == set(Sharing)
        assert len({granularity for _, granularity, _ in done}) == 2


def test_a_case_is_drawn_again_by_its_number(drawn: list[Case]) -> None:
    last = drawn[-1]
    seed, number = map(int, last.name.split(":"))
    (again,) = islice(cases(seed, number), 1)
    assert str(again) == str(last)


def test_a_wrong_result_is_reported_with_mode_granularity_and_way(drawn: list[Case]) -> None:
    case = next(case for case in drawn if any(case.expected))
    fewer = [rows[1:] for rows in case.expected]
    with pytest.raises(AssertionError, match=r"^(dynamic|always|never), (auto|fine), "):
        compared(replace(case, expected=fewer), Random(0))
