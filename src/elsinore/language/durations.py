"""Parsing and printing durations and origins of windows.

Durations are in microseconds; nanoseconds are fractions.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from elsinore.errors import QuerySyntaxError, did_you_mean
from elsinore.model.window import SECOND, UNITS

NANOSECOND = Fraction(1, 1_000)
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
UNIT_NAMES: dict[str, int | Fraction] = (
    dict.fromkeys(("nanosecond", "nanoseconds", "ns", "nsec", "nsecs"), NANOSECOND)
    | {unit: UNITS[unit] for unit in UNITS}
    | {f"{unit}s": UNITS[unit] for unit in UNITS}
    | {short: UNITS[unit] for short, unit in ABBREVIATIONS.items()}
    | {f"{short}s": UNITS[ABBREVIATIONS[short]] for short in ("usec", "msec", "sec", "min", "hr")}
)
OTHER_UNITS = {"m": "minutes", "t": "days", "sek": "seconds"}  # unsupported names of units
WITHOUT_LENGTH = {"mo", "mon", "month", "months", "y", "yr", "yrs", "year", "years", "quarter"}
UNIT_CHOICES = ("nanoseconds", *(f"{unit}s" for unit in UNITS))
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PART = re.compile(rf"\s*({NUMBER.pattern})\s*([^\W\d]+)?\s*")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_DIGITS = 400  # of a number, and of an exponent; Fraction is slow beyond


def is_unit(word: str) -> bool:
    """Return whether a word is a unit of time.

    >>> is_unit("Minutes"), is_unit("min"), is_unit("minuts")
    (True, True, False)
    """
    return word.lower() in UNIT_NAMES


def not_a_unit(word: str) -> str:
    """Return the error message for a word that is not a unit of time.

    >>> not_a_unit("m")[:53]
    "'m' is not a unit of time. Did you mean 'minutes'? Un"
    """
    other_unit = OTHER_UNITS.get(word.lower())
    hint = f" Did you mean '{other_unit}'?" if other_unit else did_you_mean(word, UNIT_CHOICES)
    if word.lower() in WITHOUT_LENGTH:
        hint = " Months and years differ in length: write days."
    return f"'{word}' is not a unit of time.{hint} Units: {', '.join(UNIT_CHOICES)}."


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
    """Parse a number without rounding; ValueError for excessive digits."""
    exponent = re.search(r"[eE]([+-]?[0-9]+)", number)
    if len(number) > MOST_DIGITS or (exponent and abs(int(exponent[1])) > MOST_DIGITS):
        raise ValueError(number)
    return Fraction(number)


def parse_duration(text: str) -> tuple[Fraction, bool]:
    """Parse a duration, as after WITHIN; return microseconds, and whether the unit is missing.

    A number without a unit is in seconds. Raises QuerySyntaxError for other text.

    >>> parse_duration("1 hour 30 min"), parse_duration("0.5")
    ((Fraction(5400000000, 1), False), (Fraction(500000, 1), True))
    """
    parts: list[tuple[str, str | None]] = []
    position = 0
    while position < len(text):
        part = PART.match(text, position)
        if not part:
            break
        parts.append((part[1], part[2]))
        position = part.end()
    for _, unit in parts:
        if unit is not None and not is_unit(unit):
            raise QuerySyntaxError(not_a_unit(unit), choices=UNIT_CHOICES)
    bare = any(unit is None for _, unit in parts)
    if position < len(text) or not parts or (bare and len(parts) > 1):
        raise QuerySyntaxError(
            f"'{text}' is not a length of time. Write for instance '30 minutes' or '1 hour 30 min'."
        )
    return microseconds(parts), bare


def parse_origin(text: str) -> tuple[int, str | None]:
    """Parse an ISO timestamp, by default in UTC, with an optional offset or name of a time zone.

    Returns microseconds since the epoch, and the name of the time zone. Raises QuerySyntaxError for
    other text.

    >>> parse_origin("1970-01-01T00:00:01"), parse_origin("1970-01-01T01:00:00+01:00")
    ((1000000, None), (0, None))
    >>> parse_origin("1970-01-01T01:00:00 Europe/Berlin")
    (0, 'Europe/Berlin')
    """
    time, _, name = text.strip().rpartition(" ")
    zone = time_zone(name) if time and name[:1].isalpha() else None
    try:
        moment = datetime.fromisoformat(text if zone is None else time)
    except ValueError:
        raise QuerySyntaxError(
            f"'{text}' is not a timestamp. Write for instance '2024-01-01T00:00:00', "
            "'2024-01-01T00:00:00 Europe/Berlin', or a number of seconds."
        ) from None
    if moment.tzinfo is not None and zone is not None:
        raise QuerySyntaxError(f"'{text}' has an offset and a time zone. Leave one of them out.")
    return moment_and_zone(moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC))


def moment_and_zone(moment: datetime) -> tuple[int, str | None]:
    """Return microseconds since the epoch, and the time zone's name unless it is UTC.

    >>> moment_and_zone(datetime(1970, 1, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")))
    (0, 'Europe/Berlin')
    """
    zone = moment.tzinfo.key if isinstance(moment.tzinfo, ZoneInfo) else None
    is_utc = zone in {None, "UTC", "Etc/UTC"}
    return (moment - EPOCH) // timedelta(microseconds=1), None if is_utc else zone


def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name; QuerySyntaxError if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        names = available_timezones()
        remedy = "" if names else " This machine has no time zones: pip install tzdata."
        raise QuerySyntaxError(
            f"There is no time zone '{name}'.{did_you_mean(name, sorted(names))}{remedy}"
        ) from None


def render_duration(length: int, per_microsecond: int = 1, *, bare: bool = False) -> str:
    """Return a duration as text in its longest exact unit, or as a number without a unit.

    >>> render_duration(1_800_000_000), render_duration(86_400_000_000), render_duration(7)
    ('30 minutes', '1 day', '7 microseconds')
    >>> render_duration(1_800_000_000, bare=True), render_duration(1_500, 1_000)
    ('1800', '1500 nanoseconds')
    """
    if bare:
        return _decimal(length, SECOND * per_microsecond)
    for unit in reversed(UNITS):
        if length % (UNITS[unit] * per_microsecond) == 0:
            count = length // (UNITS[unit] * per_microsecond)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{length} nanosecond{'' if length == 1 else 's'}"


def render_origin(
    origin: int, per_microsecond: int = 1, *, bare: bool = False, zone: str | None = None
) -> str:
    """Return an origin as text: a timestamp in UTC or its zone, or a number without a unit.

    >>> render_origin(1_704_067_200_000_000), render_origin(2_500_000, bare=True)
    ("'2024-01-01T00:00:00'", '2.5')
    >>> render_origin(0, zone="Europe/Berlin")
    "'1970-01-01T01:00:00 Europe/Berlin'"
    """
    if bare:
        return _decimal(origin, SECOND * per_microsecond)
    if zone is not None:
        moment = EPOCH + timedelta(microseconds=origin // per_microsecond)
        local = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)
        return f"'{local.isoformat()} {zone}'"
    if origin % per_microsecond == 0:
        with suppress(OverflowError):
            moment = EPOCH + timedelta(microseconds=origin // per_microsecond)
            return f"'{moment.replace(tzinfo=None).isoformat()}'"
    sign = "-" if origin < 0 else ""
    return f"{sign}{render_duration(abs(origin), per_microsecond)}"


def _decimal(length: int, unit: int) -> str:
    """Return `length / unit` as decimal text, without rounding; `unit` is a power of ten."""
    seconds, remainder = divmod(abs(length), unit)
    fraction = f".{remainder:0{len(str(unit)) - 1}}".rstrip("0") if remainder else ""
    return f"{'-' if length < 0 else ''}{seconds}{fraction}"
