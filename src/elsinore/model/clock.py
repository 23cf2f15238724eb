"""The clock of a run: the unit of its times, and the unit of bare numbers after WITHIN.

Internally a time is a 64-bit count of *ticks* since the epoch: microseconds, or nanoseconds if the
input or a window is finer than a microsecond. So no precision of the input is lost, and times of
coarser input have a range of some 292,000 years around 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from elsinore.errors import QuerySemanticError, option, raise_errors
from elsinore.model.durations import durations_as_numbers, has_durations
from elsinore.model.query import Query, Workload
from elsinore.model.window import UNITS, Window

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
ROWS = "ROWS"  # as the time: events are ordered by their rows; also the column of positions
LARGEST = 2**63 - 1
YEAR = 366 * UNITS["day"]
CALENDAR_YEARS = 1_950  # before and after 1970: calendars begin with the year 1


@dataclass(frozen=True, slots=True)
class Clock:
    """Ticks per microsecond (1 or 1000), and the nanoseconds of a bare number's unit.

    `number` is None if times are timestamps, dates or text: a unit must then be written.
    `numeric_times` are the numeric time attributes, with the nanoseconds of their unit. `rows`:
    times are positions of rows, so that windows count events. `time_column`: the attribute that is
    the time of each event, if times are read from a column.

    >>> Clock().ticks_per("ms"), Clock(1000).ticks_per("ms")
    (1000, 1000000)
    """

    per_microsecond: int = 1
    number: int | None = NANOSECONDS["s"]
    numeric_times: tuple[tuple[str, int], ...] = ()
    rows: bool = False
    time_column: str | None = None

    def ticks_per(self, unit: str) -> int:
        """Return the number of ticks of a unit of time (s, ms, us; ns if ticks are nanoseconds)."""
        return NANOSECONDS[unit] * self.per_microsecond // 1_000


def clock_for(queries: Workload, *, fine: bool, number: int | None) -> Clock:
    """Return the clock for queries and their input; `fine`: the input has nanoseconds."""
    for window in _windows(queries):
        fine = fine or any(
            length.denominator != 1 for length in _lengths(window, Clock(1, number or 10**9))
        )
    return Clock(1_000 if fine else 1, number)


def units_change_queries(queries: Workload, clock: Clock) -> bool:
    """Return whether the units of numeric times change the result of `in_ticks`."""
    return bool(clock.numeric_times) and any(has_durations(query) for query in queries)


def windows_in_ticks(queries: Workload, clock: Clock) -> dict[Window, Window]:
    """Return a mapping from each window of the queries to the same window in a clock's ticks.

    Raises the errors of all queries together: QuerySemanticError for a number without a unit if
    times are not numbers, for a duration if times are row numbers, and for windows beyond 64 bits.
    """
    by_window: dict[Window, Window] = {}
    errors: dict[Window, QuerySemanticError] = {}
    for window in _windows(queries):
        try:
            by_window[window] = _set_window(window, clock)
        except QuerySemanticError as error:
            errors[window] = error
    if errors:
        raise_errors(
            [
                QuerySemanticError(errors[length].message, span=length.span, query=query.name)
                for query in queries
                for length in (query.window, query.suppress)
                if length in errors
            ]
        )
    return by_window


def in_ticks(queries: Workload, clock: Clock) -> Workload:
    """Return the queries with windows in a clock's ticks and durations in units of numeric times.

    Raises the errors of `windows_in_ticks`.
    """
    ticks = windows_in_ticks(queries, clock)
    units = dict(clock.numeric_times)
    converted: list[Query] = []
    for query in queries:
        query = durations_as_numbers(query, units)  # noqa: PLW2901
        window, suppress = (
            None if length is None else replace(ticks[length], span=length.span)
            for length in (query.window, query.suppress)
        )
        if (window, suppress) != (query.window, query.suppress):
            query = replace(  # noqa: PLW2901
                query,
                window=window,
                suppress=suppress,
                is_valid=True,
                instance_of=query.form_instance,
            )
        converted.append(query)
    if all(after is before for after, before in zip(converted, queries, strict=True)):
        return queries
    return replace(queries, queries=tuple(converted))


def with_units(queries: Workload, units: Mapping[str, int]) -> Workload:
    """Return queries with their durations beside numeric times as numbers of those units."""
    changed = [durations_as_numbers(query, units) for query in queries]
    if all(after is before for after, before in zip(changed, queries, strict=True)):
        return queries
    return replace(queries, queries=tuple(changed))


def _windows(queries: Workload) -> Iterable[Window]:
    """Return the distinct windows of queries, including the lengths of SUPPRESS.

    Many queries often share one object: comparing identities first saves hashing.
    """
    distinct = {id(query.window): query.window for query in queries}
    distinct |= {id(query.suppress): query.suppress for query in queries}
    return dict.fromkeys(window for window in distinct.values() if window is not None)


def largest_time(windows: Iterable[Window | None]) -> int:
    """Return the greatest distance of a time from the epoch at which all windows fit into 64 bits.

    >>> largest_time([None]) == LARGEST
    True
    """
    given = [window for window in windows if window is not None]
    margins = [window.within + 2 * window.step for window in given]
    largest = LARGEST - max(margins, default=0)
    zoned = [CALENDAR_YEARS * YEAR * window.per_microsecond for window in given if window.zone]
    return min(largest, *zoned) if zoned else largest


def _set_window(window: Window, clock: Clock) -> Window:
    if window.events:
        return replace(window, span=None)
    if clock.rows:
        remedy = (
            "AFTER MATCH SKIP PAST LAST EVENT returns matches without common events"
            if window.clause == "SUPPRESS"
            else f"Count events instead, as in {window.clause} 100 EVENTS"
        )
        raise QuerySemanticError(
            f"Events are ordered by their rows ({option('time', ROWS)}) and have no times, so "
            f"{window.clause} cannot be a length of time. {remedy}; or name a column of times with "
            f"{option('time')}.",
            span=window.span,
        )
    bare = sorted(window.bare - {"ORIGIN"})
    if bare and clock.number is None:
        raise QuerySemanticError(
            f"The times of these events are not numbers, so {' and '.join(bare)} needs a unit, "
            "as in '30 seconds'. Units: nanoseconds, microseconds, milliseconds, seconds, minutes, "
            "hours, days, weeks.",
            span=window.span,
        )
    within, slide, origin = _lengths(window, clock)
    if any(length.denominator != 1 for length in (within, slide, origin)):
        raise QuerySemanticError(
            f"Times are whole nanoseconds: {window.clause}, SLIDE or ORIGIN is a fraction of one.",
            span=window.span,
        )
    return Window(
        within=within.numerator,
        slide=None if window.slide is None else slide.numerator,
        origin=origin.numerator % slide.numerator if origin and not window.zone else int(origin),
        span=window.span,
        per_microsecond=clock.per_microsecond,
        clause=window.clause,
        zone=window.zone,
    )


@lru_cache(256)
def _lengths(window: Window, clock: Clock) -> tuple[Fraction, Fraction, Fraction]:
    """Return WITHIN, SLIDE and ORIGIN of a window in a clock's ticks."""

    def ticks(length: int, clause: str) -> Fraction:
        microseconds = Fraction(length, window.per_microsecond)
        if clause in window.bare:  # millionths of the unit of numbers
            microseconds *= Fraction(clock.number or NANOSECONDS["s"], NANOSECONDS["s"])
        return microseconds * clock.per_microsecond

    slide = window.clause if window.slide is None else "SLIDE"
    return (
        ticks(window.within, window.clause),
        ticks(window.step, slide),
        ticks(window.origin, "ORIGIN"),
    )
