"""Approximate folds stay within their bounds, in the space that they promise."""

import math
import pickle
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError
from elsinore.quantitative import cells
from elsinore.quantitative.approximate import ExponentialHistogram

SIZES = st.floats(1e-9, 1e9) | st.integers(1, 10**6) | st.just(0)
VALUES = SIZES | SIZES.map(lambda value: -value)
EPS = st.sampled_from([0.5, 0.1, 0.01])


def of(fold: qre.Fold, values: list[Any]) -> Any:
    total = fold.init
    for value in values:
        total = fold.step(total, value)
    return total if fold.finish is None else fold.finish(total)


@given(st.lists(SIZES, min_size=1), EPS)
def test_the_median_is_within_the_bounds_of_theorem_9(values: list[float], eps: float) -> None:
    estimate, exact = of(qre.approx_median(eps), values), of(qre.median(), values)
    assert estimate <= exact <= (1 + eps) * estimate * (1 + 1e-12)


@given(st.lists(VALUES, min_size=1), st.floats(0, 1), EPS)
def test_quantiles_of_any_sign_are_within_a_factor_of_one_plus_eps(
    values: list[float], fraction: float, eps: float
) -> None:
    estimate = of(qre.approx_quantile(fraction, eps), values)
    exact = of(qre.quantile(fraction), values)
    assert estimate <= exact
    low, high = sorted((abs(estimate), abs(exact)))
    assert high <= (1 + eps) * low * (1 + 1e-12)


def test_powers_of_the_base_are_in_cells_of_their_own() -> None:
    for place in range(-200, 200):
        value = math.exp(place * math.log1p(0.01))
        estimate = of(qre.approx_median(0.01), [value])
        assert estimate <= value <= 1.01 * estimate * (1 + 1e-12)


def test_the_space_of_an_approximate_median_grows_with_the_logarithm_of_the_range() -> None:
    query = qre.iterate(qre.atom(), qre.approx_median(0.01))
    stream = query.start()
    sizes = []
    for repeat in range(3):
        stream.extend([1 + (n * 7919 + repeat) % 1000 for n in range(1200)])
        sizes.append(len(stream.save()))
    assert sizes[2] - sizes[1] < 100
    cells = math.log(1000) / math.log1p(0.01)
    assert sizes[2] < 30 * cells


STREAMS = st.one_of(
    st.lists(st.booleans(), max_size=300),
    st.integers(1, 200).map(lambda n: [True] * n + [False] * n + [True]),  # all at once, then none
    st.integers(1, 60).map(lambda n: ([True] * n + [False]) * 5),
)


@given(STREAMS, st.integers(1, 80), EPS)
def test_the_count_in_a_window_is_within_eps_after_each_item(
    marks: list[bool], size: int, eps: float
) -> None:
    approximate = qre.approx_count_in_window(qre.atom(), size, bool, eps)
    exact = qre.count_in_window(qre.atom(), size, bool)
    given_marks = [int(mark) for mark in marks]
    for estimate, true in zip(
        approximate.start().extend(given_marks)[1],
        exact.start().extend(given_marks)[1],
        strict=True,
    ):
        assert abs(estimate - true) <= eps * true


def patterns(size: int, count: int) -> dict[str, list[int]]:
    """Return streams of marks that are hard for a window of `size` values, and random ones."""
    random = np.random.default_rng(8)
    place = np.arange(count)
    orders = {
        "rare": random.random(count) < 0.02,
        "dense": random.random(count) < 0.9,
        "a burst as long as the window, then silence": place % (3 * size) < size,
        "a burst at the window's edge": place % size < max(1, size // 50),
        "bursts twice as long each time": np.log2(place + 1).astype(int) % 2 == 0,
        "one more than a bucket holds": place % 17 < 16,
    }
    return {name: marks.astype(int).tolist() for name, marks in orders.items()}


@pytest.mark.parametrize("eps", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("size", [1, 7, 640])
def test_counts_of_adversarial_streams_keep_the_bounds_of_error_and_space(
    size: int, eps: float
) -> None:
    histogram = ExponentialHistogram(size, eps)
    buckets = (1 / (2 * eps) + 2) * (math.log2(2 * eps * size + 2) + 2) + histogram.most(1)
    for name, marks in patterns(size, 3000).items():
        state, window, total = histogram.empty, deque[int](), 0
        for mark in marks:
            state = histogram.push(state, mark)
            window.append(mark)
            total += mark - (window.popleft() if len(window) > size else 0)
            assert abs(histogram.value(state) - total) <= eps * total, name
            assert len(state.to_tuple()[2]) <= buckets, name


def pushed(window: ExponentialHistogram, state: Any, mark: int) -> Any:
    """Return the tuple of a state after a mark, as the paper has it."""
    number, total, buckets = state
    number += 1
    if buckets and buckets[-1][0] <= number - window.size:
        total -= buckets[-1][1]
        buckets = buckets[:-1]
    if mark:
        total, buckets, start, width = total + 1, ((number, 1), *buckets), 0, 1
        while sum(each == width for _, each in buckets) > window.most(width):
            stop = start + sum(each == width for _, each in buckets)
            merged = (buckets[stop - 2][0], 2 * width)
            buckets = (*buckets[: stop - 2], merged, *buckets[stop:])
            start, width = stop - 2, 2 * width
    return number, total, buckets


@given(
    st.integers(1, 300),
    EPS,
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 400), st.booleans()), max_size=12),
)
def test_each_state_of_a_histogram_is_a_value(
    size: int, eps: float, runs: list[tuple[int, int, bool]]
) -> None:
    """Runs of events or others are pushed to any state that there was, also to older ones."""
    window = ExponentialHistogram(size, eps)
    states: list[tuple[Any, Any]] = [(window.empty, (0, 0, ()))]
    for place, count, mark in runs:
        state, expected = states[min(place, len(states) - 1)]
        for number in range(count):
            state = window.push(state, mark)
            expected = pushed(window, expected, mark)
            if number in {count // 2, count - 1}:
                states.append((state, expected))
    for state, expected in states:
        _, total, buckets = expected
        assert window.value(state) == total - (buckets[-1][1] // 2 if buckets else 0)
        assert state.to_tuple() == expected
        assert window.empty.restored(expected).to_tuple() == expected
        again = pickle.loads(pickle.dumps(state))
        assert window.push(again, 1).to_tuple() == pushed(window, expected, 1)


@pytest.mark.parametrize(
    "saved",
    [
        (2, 3, ((2, 1), (1, 1))),  # another total
        (3, 2, ((3, 2),) * 2),  # one place twice
        (3, 3, ((3, 2), (2, 1))),  # a wider bucket is newer
        (3, 3, ((3, 3),)),  # no power of two
        (9, 1, ((4, 1),)),  # an event that has left the window
        (1, 1, ((2, 1),)),  # one that has not come
        (1, 2**70, ((1, 2**70),)),
        (2**70, 0, ()),
    ],
)
def test_no_state_of_the_window_is_refused(saved: Any) -> None:
    with pytest.raises(ValueError, match="the buckets"):
        ExponentialHistogram(5, 0.1).empty.restored(saved)


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**400), 10**400)
    | st.booleans()
    | st.fractions(),
    EPS,
)
def test_cells_are_those_of_pythons_operations(value: Any, eps: float) -> None:
    base = math.log1p(eps)
    try:
        expected = cells._any_cell(value, base, eps)
    except OverflowError:  # of the next power
        with pytest.raises(OverflowError):
            cells.cell_of(value, base, eps)
    else:
        assert cells.cell_of(value, base, eps) == expected


@pytest.mark.parametrize("eps", [0.5, 0.05, 0.01])
def test_medians_of_adversarial_streams_keep_theorem_9_at_every_prefix(eps: float) -> None:
    """Cells number at most log(U / L) / log(1 + eps), and two for the ends."""
    random, count = np.random.default_rng(9), 600
    place = np.arange(count)
    streams_of = {
        "powers of the base, rising": (1 + eps) ** (place % 300),
        "just below these": np.nextafter((1 + eps) ** (place % 300), 0),
        "two values far apart, in turn": np.where(place % 2 == 0, 1e-6, 1e6),
        "falling": 1e5 / (place + 1),
        "many alike": np.where(place % 10 == 0, 1000.0 + place, 5.0),
        "heavy tail": random.pareto(0.5, count) + 1e-3,
        "random": random.random(count) + 1e-9,
    }
    for name, values in streams_of.items():
        exact, near = (
            qre.iterate1(qre.atom(), fold) for fold in (qre.median(), qre.approx_median(eps))
        )
        stream = near.start()
        medians = exact.start().extend(values.tolist())[1]
        for estimate, true in zip(stream.extend(values.tolist())[1], medians, strict=True):
            assert estimate <= true <= (1 + eps) * estimate * (1 + 1e-12), name
        fold, counted = qre.approx_median(eps), qre.approx_median(eps).init
        for value in values.tolist():
            counted = fold.step(counted, value)
        cells = math.log(values.max() / values.min()) / math.log1p(eps)
        assert len(counted) <= cells + 2, name


def test_the_space_of_an_approximate_count_is_that_of_its_buckets() -> None:
    size, eps = 20_000, 0.1
    stream = qre.approx_count_in_window(qre.atom(), size, bool, eps).start()
    stream.extend([1] * 2 * size)
    (((_, _, buckets),),) = stream.programs[0].stacks_of(stream.streams.memories[0], 0)
    assert len(buckets) <= (1 / (2 * eps) + 2) * (math.log2(2 * eps * size + 1) + 2)
    assert len(stream.save()) < 2000


@pytest.mark.parametrize("eps", [0, 1, -0.5])
def test_eps_lies_between_0_and_1(eps: float) -> None:
    with pytest.raises(QuerySemanticError, match="eps lies between 0 and 1"):
        qre.approx_median(eps)
    with pytest.raises(QuerySemanticError, match="eps lies between 0 and 1"):
        qre.approx_count_in_window(qre.atom(), 10, bool, eps)


def test_an_approximate_count_is_explained_and_saved() -> None:
    query = qre.approx_count_in_window(qre.atom(), 1000, lambda v: v > 2, 0.1)
    assert "exponential histogram" in query.explain()
    stream = query.start()
    stream.extend(list(range(50)))
    assert query.load(stream.save()).push(1) == stream.push(1)
