"""Queries over monitored patients: the running example of StreamQRE (Sections 2 and 5).

Events are those of `elsinore generate patients`: B, M and E begin, measure and end an episode of a
patient, D ends a day for all.
"""

from __future__ import annotations

from typing import Any

import elsinore.quantitative as qre

B, M, E, D = (qre.event(name) for name in "BMED")


def value(measurement: Any) -> float:
    """Return what was measured."""
    return float(measurement.value)


def greater(most: float, mean: float | None) -> float:
    """Return the greater of two means; an episode without measurements has none."""
    return most if mean is None else max(most, mean)


def episode() -> qre.Query:
    """Return the mean of the measurements of one episode."""
    measurements = qre.iterate(qre.atom(M, value), qre.mean())
    return qre.split(qre.atom(B), measurements, qre.atom(E), lambda begin, mean, end: mean)


def daily_maximum() -> qre.Query:
    """Return, each day, the greatest mean of a patient's episodes, 0 on a day without one."""
    return qre.split(qre.iterate(episode(), 0.0, greater), qre.atom(D), lambda most, end: most)


def policy() -> qre.Query:
    """Return, each day, each patient's greatest mean of an episode of that day (Section 2)."""
    return qre.map_collect(D, "patient", qre.iter_last(daily_maximum()))


def critical_patients(limit: float) -> qre.Query:
    """Return, each day, who had a mean above the limit on each of the two last days (Section 2)."""

    def is_critical(most: float) -> bool:
        return most > limit

    def both(state: tuple[int, bool], critical: bool) -> tuple[int, bool]:
        return state[0] + 1, state[1] and critical

    two_days = qre.sliding(qre.apply(daily_maximum(), is_critical), 2, (0, True), both)
    critical = qre.apply(two_days, lambda state: state[0] == 2 and state[1])
    return qre.apply(
        qre.map_collect(D, "patient", critical),
        lambda patients: sorted(name for name, is_so in patients.items() if is_so),
    )


def after_extreme(limit: float) -> qre.Query:
    """Return, of each episode with a measurement above the limit, the mean of those after the last.

    For one patient's events. (Section 5, "Why regular parsing?")
    """
    extreme = qre.predicate(M.value > limit, "extreme")
    other = qre.predicate(M & ~extreme, "other")
    with_extreme = qre.split(
        qre.match(qre.seq(B, M.star(), extreme)),
        qre.iterate(qre.atom(other, value), qre.mean()),
        qre.atom(E),
        lambda before, mean, end: mean,
    )
    without = qre.match(qre.seq(B, other.star(), E))
    before = qre.match(qre.union(qre.seq(B, M.star(), E), D).star())
    return qre.split(before, qre.either(with_extreme, without), qre.right)


def median_measurements(fold: qre.Fold) -> qre.Query:
    """P6: return, each day, the median over all days of the number of measurements of a day.

    `fold` is `qre.median()`, or `qre.approx_median(eps)` for less space.
    """
    measurements = qre.iterate(
        qre.either(qre.atom(M, lambda m: 1), qre.atom(~(M | D), lambda other: 0)), qre.sum()
    )
    day = qre.split(measurements, qre.atom(D), lambda number, end: number)
    return qre.iterate1(day, fold)


def atypical(limit: float, size: int, eps: float | None = None) -> qre.Query:
    """P7: return, at each event, how many of the last `size` were measurements above the limit."""

    def is_atypical(event: Any) -> bool:
        return event.value is not None and event.value > limit

    if eps is None:
        return qre.count_in_window(qre.atom(), size, is_atypical)
    return qre.approx_count_in_window(qre.atom(), size, is_atypical, eps)
