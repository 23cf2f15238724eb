"""Parsing times in a format such as 'dd/MM/yyyy HH:mm', as Spark's TO_TIMESTAMP does.

A format is a pattern of Spark (Java) datetime letters. It is converted to a regular expression,
whose groups are rewritten as ISO 8601 text, so that one parser decides which days and hours exist.
"""

from __future__ import annotations

import re
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.errors import InputError
from elsinore.runtime.iso8601 import parse_iso8601

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ZONE = r"Z|[+-]\d{2}(?::?\d{2})?"
_LETTERS = {  # by letter: the part's name, and its regular expression by the number of letters
    "y": ("year", {1: r"\d{1,4}", 2: r"\d{2}", 4: r"\d{4}"}),
    "M": ("month", {1: r"\d{1,2}", 2: r"\d{2}", 3: "|".join(MONTHS)}),
    "d": ("day", {1: r"\d{1,2}", 2: r"\d{2}"}),
    "H": ("hour", {1: r"\d{1,2}", 2: r"\d{2}"}),
    "h": ("half", {1: r"0?[1-9]|1[0-2]", 2: r"0[1-9]|1[0-2]"}),
    "m": ("minute", {1: r"\d{1,2}", 2: r"\d{2}"}),
    "s": ("second", {1: r"\d{1,2}", 2: r"\d{2}"}),
    "S": ("part", {n: rf"\d{{1,{n}}}" for n in range(1, 10)}),
    "a": ("noon", {1: "AM|PM"}),
    "X": ("zone", {1: _ZONE, 2: _ZONE, 3: _ZONE}),
    "x": ("zone", {1: _ZONE, 2: _ZONE, 3: _ZONE}),
    "Z": ("zone", {1: _ZONE, 2: _ZONE, 3: _ZONE}),
}
_DEFAULTS = {"year": "1970", "month": "1", "day": "1", "minute": "0", "second": "0"}
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


def parse_times(texts: pa.Array, pattern: str) -> pa.Array:
    """Return texts as timestamps in microseconds, in UTC if the format has a zone.

    Null for texts in another format, and for days and hours that do not exist. Raise InputError for
    letters that are not supported in this process.

    >>> parse_times(pa.array(["31/01/2024 7:05", "31/02/2024 7:05", "soon"]), "dd/MM/yyyy H:mm")
    <pyarrow.lib.TimestampArray object at ...>
    [
      2024-01-31 07:05:00.000000,
      null,
      null
    ]
    """
    expression, short_year = _expression(pattern)
    parts = pc.extract_regex(texts, expression)
    parts_by_name = {field.name: parts.field(n) for n, field in enumerate(parts.type.fields)}

    def part(name: str, width: int) -> pa.Array:
        values = parts_by_name.get(name)
        if values is None:
            values = pa.repeat(to_scalar(_DEFAULTS.get(name, "0")), len(texts))
        return pc.utf8_lpad(values, width, "0")

    if "month" in parts_by_name:
        months = pc.index_in(parts_by_name["month"], value_set=pa.array(MONTHS))
        numbers = pc.add(months, to_scalar(1, pa.int32())).cast(pa.string())
        parts_by_name["month"] = pc.coalesce(numbers, parts_by_name["month"])
    if "half" in parts_by_name:
        parts_by_name["hour"] = _hour(parts_by_name["half"], parts_by_name.get("noon"))
    year = part("year", 4)
    if short_year:
        year = pc.binary_join_element_wise("20", pc.utf8_slice_codeunits(year, 2), "")
    day = pc.binary_join_element_wise(year, part("month", 2), part("day", 2), "-")
    hours = pc.binary_join_element_wise(part("hour", 2), part("minute", 2), part("second", 2), ":")
    iso = [day, "T", hours]
    if "part" in parts_by_name:
        iso += [".", parts_by_name["part"]]
    if "zone" in parts_by_name:
        iso.append(parts_by_name["zone"])
    iso_texts = pc.binary_join_element_wise(*iso, "")
    matching_texts = pc.if_else(parts.is_valid(), iso_texts, to_scalar(None, pa.string()))
    ticks, _ = parse_iso8601(matching_texts)
    return ticks.cast(pa.timestamp("us", "UTC" if "zone" in parts_by_name else None))


def _expression(pattern: str) -> tuple[str, bool]:
    """Return the regular expression of a format, and whether its year has two digits."""
    expression, short_year = "", False
    names: set[str] = set()
    for number, piece in enumerate(_QUOTED.split(pattern)):
        if number % 2:  # quoted text, with doubled quotes; '' alone is a quote
            expression += re.escape(piece.replace("''", "'") or "'")
            continue
        for letter, run in groupby(piece):
            count = len(list(run))
            if not letter.isalpha():
                expression += re.escape(letter * count)
                continue
            name, forms = _LETTERS.get(letter, ("", {}))
            if count not in forms or name in names:
                raise InputError(
                    f"The time format {pattern!r} has {letter * count!r}, which cannot be read in "
                    "this process. Read are y, yy, yyyy, M, MM, MMM, d, dd, H, HH, h, hh, m, mm, "
                    "s, ss, S to SSSSSSSSS, a, X, and text in single quotes, each once."
                )
            names.add(name)
            short_year |= (letter, count) == ("y", 2)
            expression += f"(?P<{name}>{forms[count]})"
    return f"^{expression}$", short_year


def _hour(half: pa.Array, noon: pa.Array | None) -> pa.Array:
    """Convert 12-hour to 24-hour clock hours; before noon unless `noon` is PM."""
    known = pc.if_else(pc.equal(half, to_scalar("")), to_scalar(None, pa.string()), half)
    number = known.cast(pa.int32())
    number = pc.if_else(pc.equal(number, to_scalar(12)), to_scalar(0, pa.int32()), number)
    if noon is not None:
        later = pc.add(number, to_scalar(12, pa.int32()))
        number = pc.if_else(pc.equal(noon, to_scalar("PM")), later, number)
    return number.cast(pa.string())
