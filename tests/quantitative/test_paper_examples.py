"""The examples of the StreamQRE paper, Sections 2 and 3."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import elsinore.quantitative as qre

B, M, E, D = (qre.event(name) for name in "BMED")


def stream(text: str) -> list[dict[str, Any]]:
    """Return events written like "B M2 M4 E D"."""
    return [{"type": word[0], "val": float(word[1:] or 0)} for word in text.split()]


def outputs(query: Any, events: Any) -> list[Any]:
    return query.start().extend(events)[1]


def policy() -> qre.Query:
    """Section 2: each day the maximum over its episodes of the mean of their measurements."""
    episode = qre.split(
        qre.atom(B),
        qre.iterate1(qre.atom(M, lambda m: m.val), qre.mean()),
        qre.atom(E),
        lambda begin, mean, end: mean,
    )
    day = qre.split(qre.iterate(episode, qre.max()), qre.atom(D), qre.left)
    return qre.iter_last(day)


def test_the_policy_of_section_2_reports_the_greatest_mean_of_a_day() -> None:
    events = stream("B M2 M4 E B M10 E D D B M1 E D")
    assert outputs(policy(), events) == [10.0, None, 1.0]


def test_the_rate_of_example_4_prints_as_the_paper_writes_it() -> None:
    episode = qre.match(qre.seq(B, M.star(), E))
    days = qre.iterate(qre.split(qre.iterate(episode, 0, max), qre.atom(D), qre.left), 0, max)
    assert str(days.rate) == "((B M* E)* D)*"


def test_two_consecutive_critical_days_of_a_patient_are_detected() -> None:
    """Section 2: the patients for whom the two past consecutive days have been critical."""
    keyed = {"B": "p", "M": "p", "E": "p"}
    episode = qre.split(
        qre.atom(B),
        qre.iterate1(qre.atom(M, lambda m: m.val), qre.mean()),
        qre.atom(E),
        lambda begin, mean, end: mean,
    )
    day = qre.split(qre.iterate(episode, 0.0, max), qre.atom(D), lambda top, end: top > 5)
    two_running = qre.sliding(
        day, 2, (0, True), lambda state, critical: (state[0] + 1, state[1] and critical)
    )
    both = qre.apply(two_running, lambda state: state[0] == 2 and state[1])
    query = qre.apply(
        qre.map_collect(D, "patient", both),
        lambda patients: sorted(name for name, critical in patients.items() if critical),
    )
    events = [
        event | {"patient": patient if event["type"] in keyed else None}
        for patient, text in (
            ("x", "B M9 E"), ("y", "B M1 E"), ("x", "D"),
            ("x", "B M8 E"), ("y", "B M7 E"), ("x", "D"),
            ("y", "B M6 E"), ("x", "D"),
        )
        for event in stream(text)
    ]  # fmt: skip
    assert outputs(query, events) == [[], ["x"], ["y"]]


def test_the_mean_after_the_last_extreme_measurement_of_an_episode() -> None:
    """Section 5, "Why regular parsing?"."""
    extreme = qre.predicate(M.val > 100, "X")
    normal = qre.predicate(M.val <= 100, "N")
    query = qre.iter_last(
        qre.either(
            qre.split(
                qre.match(qre.seq(B, M.star(), extreme)),
                qre.iterate(qre.atom(normal, lambda m: m.val), qre.mean()),
                qre.atom(E),
                lambda _, mean, end: mean,
            ),
            qre.match(qre.seq(B, normal.star(), E)),
        )
    )
    events = stream("B M1 M200 M3 M300 M4 M8 E B M1 E")
    assert outputs(query, events) == [6.0, None]


def test_filter_and_map_stream_the_items() -> None:
    """Section 3.1."""
    assert str(qre.filter(qre.item >= 0).rate) == "any* (item.value >= 0)"
    assert outputs(qre.filter(qre.item >= 0), [3, -1, 4]) == [3, 4]
    assert outputs(qre.map(lambda v: v * 2), [3, -1]) == [6, -2]


def test_a_pipeline_finds_increasing_numbers() -> None:
    """Section 3: streaming composition expresses what is not regular."""
    pairs = qre.apply(
        qre.sliding(qre.atom(), 2, (), lambda pair, v: (*pair, v)),
        lambda pair: len(pair) == 2 and pair[1] > pair[0],
    )
    rises = pairs >> qre.filter(qre.item == True)  # noqa: E712 - a condition on items
    assert rises.start().extend([1, 2, 2, 5, 3])[0] == [1, 3]


def test_the_fold_runs_from_left_to_right() -> None:
    """Section 3: fold(b, op, a1 a2 a3) = op(op(op(b, a1), a2), a3)."""
    query = qre.iterate(qre.atom(), "b", lambda total, v: f"op({total}, {v})")
    assert query.start().value == "b"
    assert outputs(query, [1, 2, 3])[-1] == "op(op(op(b, 1), 2), 3)"


def test_iterate_n_and_iterate1() -> None:
    assert str(qre.iterate_n(qre.atom(M), 2, 0, max).rate) == "M M"
    assert str(qre.iterate1(qre.atom(M), 0, max).rate) == "M+"
    three = qre.iter_last(qre.iterate_n(qre.atom(), 3, qre.sum()))
    assert outputs(three, [1, 2, 3, 4, 5, 6, 7]) == [6, 15]
    assert outputs(qre.tumbling(qre.atom(), 3, qre.sum()), [1, 2, 3, 4, 5, 6, 7]) == [6, 15]


def test_a_sliding_window_contains_all_values_while_there_are_fewer_than_its_size() -> None:
    window = qre.sliding(qre.atom(), 3, qre.sum())
    assert outputs(window, [1, 2, 3, 4, 5]) == [1, 3, 6, 9, 12]
    events = qre.count_in_window(qre.atom(), 2, lambda v: v > 2)
    assert outputs(events, [1, 3, 4, 1, 1]) == [0, 1, 2, 1, 0]


@pytest.mark.parametrize("init", [5, 0.5, Fraction(1, 2), np.array([1, 2])])
def test_a_sliding_sum_adds_its_initial_value_once(init: Any) -> None:
    values = range(1, 6)
    expected = [init + sum(values[max(0, end - 3) : end]) for end in values]
    assert np.array_equal(outputs(qre.sliding(qre.atom(), 3, qre.sum(init)), values), expected)


def test_output_every_other_day_for_each_key_as_in_figure_2() -> None:
    views = qre.split(
        qre.iterate(qre.atom(~D), qre.count()), qre.atom(D), lambda number, end: number
    )
    two_days = qre.split(views, views, lambda first, second: (first, second))
    query = qre.map_collect(D, "k", qre.iter_last(two_days), D.times(2).plus())
    events = [{"type": kind, "k": key} for kind, key in ["Mx", "My", "D-", "Mx", "D-", "Mz", "D-"]]
    assert outputs(query, events) == [{"x": (1, 1), "y": (1, 0)}]


@pytest.mark.parametrize(
    ("fold", "values", "expected"),
    [
        (qre.count(), [5, 5], 2),
        (qre.sum(), [1, 2, 3], 6),
        (qre.min(), [3, 1, 2], 1),
        (qre.max(), [3, 1, 2], 3),
        (qre.min(), [], None),
        (qre.mean(), [1, 2], 1.5),
        (qre.mean(), [], None),
        (qre.variance(), [1.0, 2.0, 3.0, 4.0], 5 / 3),
        (qre.variance(population=True), [1.0, 3.0], 1.0),
        (qre.variance(), [1.0], None),
        (qre.standard_deviation(population=True), [1.0, 3.0], 1.0),
        (qre.linear_regression(), [(0, 1), (1, 3), (2, 5)], (2.0, 1.0)),
        (qre.linear_regression(), [(1, 1), (1, 3)], None),
        (qre.interpolated_mean(), [(0, 0.0), (2, 4.0), (4, 4.0)], 3.0),
        (qre.interpolated_mean(), [(3, 7.0)], 7.0),
        (qre.discounted_sum(0.5), [4.0, 2.0, 1.0], 3.0),
        (qre.first(), [7, 8], 7),
        (qre.last(), [7, 8], 8),
        (qre.last(), [], None),
        (qre.top(2), [3, 9, 5, 9], [9, 9]),
        (qre.counts(), ["a", "b", "a"], {"a": 2, "b": 1}),
        (qre.median(), [5, 1, 4, 2], 2),
        (qre.quantile(1.0), [5, 1, 4], 5),
    ],
)
def test_a_fold_computes_the_statistic_of_its_name(
    fold: qre.Fold, values: list[Any], expected: Any
) -> None:
    total = fold.init
    for value in values:
        total = fold.step(total, value)
    statistic = total if fold.finish is None else fold.finish(total)
    assert statistic == (pytest.approx(expected) if isinstance(expected, float) else expected)
