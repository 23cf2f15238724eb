"""Durations in options of live streams, converted to ticks or seconds."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from elsinore.errors import InputError, QuerySyntaxError, kind_of_value, option
from elsinore.language import parse_duration
from elsinore.model.clock import Clock

Length = str | int | float | timedelta


def ticks_of(length: Length, clock: Clock, name: str) -> int:
    """Return a duration of event time in ticks of a clock, rounded up.

    A bare number counts in the unit of times that are numbers; for timestamps, a unit must be
    written. `name` is that of the option. Raises InputError for anything that is not a length.

    >>> ticks_of("10 seconds", Clock(), "lateness"), ticks_of(0.5, Clock(), "lateness")
    (10000000, 500000)
    """
    microseconds, is_bare = _microseconds(length, name)
    scale = Fraction(clock.per_microsecond)
    if is_bare and microseconds:
        if clock.number is None:
            raise InputError(
                f"{option(name)} is {kind_of_value(length)}, without a unit, and times are "
                f"timestamps: write for instance {option(name, '10 seconds')}."
            )
        scale *= Fraction(clock.number, 1_000_000_000)  # a bare number was taken as seconds
    return -int(-(microseconds * scale) // 1)


def seconds_of(length: Length, name: str) -> float:
    """Return a duration of the machine's clock in seconds; bare numbers are seconds.

    >>> seconds_of("2 minutes", "idle_timeout"), seconds_of(1.5, "idle_timeout")
    (120.0, 1.5)
    """
    return float(_microseconds(length, name)[0] / 1_000_000)


def _microseconds(length: Length, name: str) -> tuple[Fraction, bool]:
    """Return a duration in microseconds, and whether it is a number without a unit."""
    if isinstance(length, timedelta):
        microseconds, is_bare = Fraction(length // timedelta(microseconds=1)), False
    elif isinstance(length, str):
        try:
            microseconds, is_bare = parse_duration(length)
        except QuerySyntaxError as error:
            raise InputError(f"{option(name)}: {error.message}") from error
    elif isinstance(length, bool) or not isinstance(length, int | float):
        raise InputError(
            f"{option(name)} is {kind_of_value(length)}. It takes a length of time, such as "
            f"{option(name, '10 seconds')}."
        )
    else:
        try:
            microseconds, is_bare = Fraction(length) * 1_000_000, True
        except (ValueError, OverflowError):
            raise InputError(
                f"{option(name)} is {length}, which is not a length of time."
            ) from None
    if microseconds < 0:
        raise InputError(f"{option(name)} is {length}: it cannot be negative.")
    return microseconds, is_bare
