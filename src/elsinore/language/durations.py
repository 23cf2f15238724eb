"""Lengths of time and origins of windows, between text and microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from elsinore.errors import QuerySyntaxError, did_you_mean
from elsinore.model.window import SECOND, UNITS

ABBREVIATIONS = {
    "us": "microsecond",
    "usec": "microsecond",
    "µs": "microsecond",
    "ms": "millisecond",
    "msec": "millisecond",
    "s": "second",
    "sec": "second",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
}
UNIT_NAMES = (
    {unit: UNITS[unit] for unit in UNITS}
    | {f"{unit}s": UNITS[unit] for unit in UNITS}
    | {short: UNITS[unit] for short, unit in ABBREVIATIONS.items()}
    | {f"{short}s": UNITS[ABBREVIATIONS[short]] for short in ("usec", "msec", "sec", "min", "hr")}
)
UNIT_CHOICES = tuple(f"{unit}s" for unit in UNITS)
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PART = re.compile(rf"\s*({NUMBER.pattern})\s*([^\W\d]+)?\s*")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AS_NUMBER = 366 * UNITS["day"]  # an origin nearer to the epoch than this reads best as seconds
MOST_DIGITS = 400  # no exponent or length of a number needs more; beyond it Fraction gets slow


def is_unit(word: str) -> bool:
    """Return whether a word is a unit of time.

    >>> is_unit("Minutes"), is_unit("min"), is_unit("minuts")
    (True, True, False)
    """
    return word.lower() in UNIT_NAMES


def microseconds(parts: list[tuple[str, str | None]]) -> Fraction:
    """Add up numbers and their units; a number without a unit counts seconds.

    >>> microseconds([("1", "hour"), ("30", "min")]) == 90 * 60 * 1_000_000
    True
    """
    total = Fraction(0)
    for number, unit in parts:
        total += exact(number) * (SECOND if unit is None else UNIT_NAMES[unit.lower()])
    return total


def exact(number: str) -> Fraction:
    """Read a number without rounding; ValueError where it is out of all proportion."""
    exponent = re.search(r"[eE]([+-]?[0-9]+)", number)
    if len(number) > MOST_DIGITS or (exponent and abs(int(exponent[1])) > MOST_DIGITS):
        raise ValueError(number)
    return Fraction(number)


def parse_duration(text: str) -> int:
    """Read a length of time, as it stands after WITHIN, in microseconds.

    Raises QuerySyntaxError where it is none or no whole number of microseconds.

    >>> parse_duration("30 minutes"), parse_duration("1 hour 30 min"), parse_duration("0.5")
    (1800000000, 5400000000, 500000)
    """
    parts: list[tuple[str, str | None]] = []
    position = 0
    while position < len(text):
        found = PART.match(text, position)
        if not found:
            break
        parts.append((found[1], found[2]))
        position = found.end()
    for _, unit in parts:
        if unit is not None and not is_unit(unit):
            raise QuerySyntaxError(
                f"'{unit}' is no unit of time.{did_you_mean(unit, UNIT_CHOICES)} "
                f"Units: {', '.join(UNIT_CHOICES)}.",
                choices=UNIT_CHOICES,
            )
    bare = any(unit is None for _, unit in parts)
    if position < len(text) or not parts or (bare and len(parts) > 1):
        raise QuerySyntaxError(
            f"'{text}' is no length of time. Write for instance '30 minutes' or '1 hour 30 min'."
        )
    return whole(microseconds(parts))


def whole(length: Fraction) -> int:
    """Return a length as an int; QuerySyntaxError where it is no whole number of microseconds."""
    if length.denominator != 1:
        raise QuerySyntaxError("Times are whole microseconds: this is a fraction of one. Round it.")
    return length.numerator


def parse_origin(text: str) -> int:
    """Read an ISO timestamp, UTC unless it has an offset, as microseconds since the epoch.

    Raises QuerySyntaxError where it is none.

    >>> parse_origin("1970-01-01T00:00:01"), parse_origin("1970-01-01T01:00:00+01:00")
    (1000000, 0)
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise QuerySyntaxError(
            f"'{text}' is no timestamp. Write for instance '2024-01-01T00:00:00', or a number of "
            "seconds."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def render_duration(length: int) -> str:
    """Write a length of time in the longest unit that measures it.

    >>> render_duration(1_800_000_000), render_duration(86_400_000_000), render_duration(7)
    ('30 minutes', '1 day', '7 microseconds')
    """
    for unit in reversed(UNITS):
        if length % UNITS[unit] == 0:
            count = length // UNITS[unit]
            return f"{count} {unit}{'' if count == 1 else 's'}"
    raise AssertionError("a microsecond measures every length")


def render_origin(origin: int) -> str:
    """Write an origin as a timestamp in UTC, or as a number of seconds near the epoch.

    >>> render_origin(1_704_067_200_000_000), render_origin(2_500_000)
    ("'2024-01-01T00:00:00'", '2.5')
    """
    if abs(origin) >= AS_NUMBER:
        try:
            moment = EPOCH + timedelta(microseconds=origin)
        except OverflowError:
            pass
        else:
            return f"'{moment.replace(tzinfo=None).isoformat()}'"
    seconds, rest = divmod(abs(origin), SECOND)
    fraction = f".{rest:06}".rstrip("0") if rest else ""
    return f"{'-' if origin < 0 else ''}{seconds}{fraction}"
