"""Parsing times in ISO 8601: texts that are not times become null."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy, to_scalar

_FORM = (
    r"^(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<hour>\d{2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?)?"
    r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?$"
)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_SECOND = 1_000_000
NANOSECOND_DIGITS = r"[.,]\d{6}\d*[1-9]"
ZONE = r":\d{2}.*(Z|[+-]\d{2}(:?\d{2})?)$|[T ]\d{2}(Z|[+-]\d{2}(:?\d{2})?)$"


def has_nanoseconds(texts: pa.Array) -> bool:
    """Return whether some text is a time with more than six decimals of a second.

    >>> has_nanoseconds(pa.array(["1970-01-01T00:00:00.123456", None]))
    False
    """
    return bool(pc.any(pc.match_substring_regex(texts, NANOSECOND_DIGITS)).as_py())


def parse_iso8601(texts: pa.Array, per_microsecond: int = 1) -> tuple[pa.Array, bool]:
    """Return the times of a string array in ticks, and whether any row names a zone.

    Ticks are microseconds, or nanoseconds with 1000 `per_microsecond`. Accepted are `2013-01-01`,
    `2013-01-01T10`, `... 10:15` and `... 10:15:30`, with T or a blank between, decimals of the
    second (truncated to ticks), and a zone `Z`, `+02`, `+0200` or `+02:00`. Other texts, days and
    hours that do not exist (also leap seconds and 24:00), and ticks beyond 64 bits become null.

    >>> parse_iso8601(pa.array(["1970-01-01 00:00:01.5", "1970-02-30", "1970-01-01T01+01:00"]))[0]
    <pyarrow.lib.Int64Array object at ...>
    [
      1500000,
      null,
      0
    ]
    """
    for zone in (None, "UTC"):
        try:
            unit = "us" if per_microsecond == 1 else "ns"
            return texts.cast(pa.timestamp(unit, zone)).cast(pa.int64()), zone is not None
        except pa.ArrowInvalid:
            continue
    return _parse_each(texts, per_microsecond)


def _parse_each(texts: pa.Array, per_microsecond: int) -> tuple[pa.Array, bool]:
    """Parse texts by a regular expression; the results are those of `parse_iso8601`."""
    digits = 6 if per_microsecond == 1 else 9
    second_ticks = _SECOND * per_microsecond
    parts = pc.extract_regex(texts, pattern=_FORM)
    valid = to_numpy(parts.is_valid())
    days, day_exists = _by_distinct(parts.field("date"), _day)
    offset, offset_exists = _by_distinct(parts.field("zone"), _zone_offset)
    hour = _number(parts.field("hour"))
    minute = _number(parts.field("minute"))
    second = _number(parts.field("second"))
    part = _number(
        pc.utf8_slice_codeunits(pc.utf8_rpad(parts.field("part"), digits, "0"), 0, digits)
    )
    valid &= day_exists & offset_exists & (hour < 24) & (minute < 60) & (second < 60)
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    bound = (2**63 - 1) // second_ticks - 1
    valid &= (seconds <= bound) & (seconds >= -bound)
    ticks = np.where(valid, seconds, 0) * second_ticks + np.where(valid, part, 0)
    values = to_arrow(ticks, pa.int64(), mask=~valid)
    zones = to_numpy(pc.not_equal(parts.field("zone"), to_scalar("")), False)
    return values, bool(np.any(zones & valid))


def _by_distinct(
    texts: pa.Array, read: Callable[[str], int | None]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return `read` of every text, called once per distinct text, and the mask of its results."""
    encoded_texts = pc.fill_null(texts, to_scalar("")).dictionary_encode()
    results = [read(text) for text in encoded_texts.dictionary.to_pylist()]
    indices = to_numpy(encoded_texts.indices)
    numbers = np.array([0 if result is None else result for result in results], np.int64)
    exists = np.array([result is not None for result in results], np.bool_)
    return numbers[indices], exists[indices]


def _day(text: str) -> int | None:
    try:
        return dt.date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def _zone_offset(text: str) -> int | None:
    """Return the offset of a zone from UTC in seconds; 0 without a zone."""
    if text in {"", "Z"}:
        return 0
    digits = re.sub(r"\D", "", text).ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if text.startswith("-") else 1)


def _number(texts: pa.Array) -> npt.NDArray[np.int64]:
    present = pc.fill_null(texts, to_scalar(""))
    digits = pc.if_else(pc.equal(present, to_scalar("")), to_scalar("0"), present)
    return to_numpy(digits.cast(pa.int64()))
