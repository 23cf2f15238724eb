"""Functions that read and write times in a format, as DuckDB has them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from elsinore.runtime.sql.casts import cast
from elsinore.runtime.sql.functions import failing
from elsinore.runtime.sql.kinds import NUMBERS
from elsinore.runtime.sql.parts import Function, Part, Translating, quoted_text
from elsinore.runtime.sql.texts import constant_text
from elsinore.runtime.time_formats import parse_times


def _time(target: str, *, tried: bool) -> Function:
    """Return TO_DATE or TO_TIMESTAMP of a text, in a written format or in ISO 8601."""

    def translate(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
        if not 1 <= len(given) <= 2:
            raise of.rejected(node, "it takes 1 or 2 arguments here")
        part = of.translate(given[0])
        if len(given) == 1:
            text = cast(part.text, part.kind, target)
            if text is None or (part.kind in NUMBERS and target == "DATE"):
                raise of.rejected(node, f"it is not taken of {part.kind.value}")
            return Part(f"TRY({text})" if tried else text, target)
        text = of.fitted(node, "t", given[0])
        form = constant_text(of, node, given[1])
        parse_times(pa.array([], pa.string()), form)  # refuses letters that are not read
        time = f"elsinore_time_as({text}, {quoted_text(form)})"
        read = time if target == "TIMESTAMP" else f"CAST({time} AS DATE)"
        if not tried:
            read = failing(f"{text} IS NOT NULL AND {time} IS NULL", read)
        return Part(read, target)

    return translate


_FORMATS = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%g",
    "MMM": "%b",
    "MMMM": "%B",
    "EEE": "%a",
    "EEEE": "%A",
    "DDD": "%j",
    "yy": "%y",
    "hh": "%I",
    "a": "%p",
}


def _formatted(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    """Return DATE_FORMAT in a written format of the letters that are listed."""
    if len(given) != 2:
        raise of.rejected(node, "it takes 2 arguments here")
    form = constant_text(of, node, given[1])
    pieces: list[str] = []
    at = 0
    while at < len(form):
        sign = form[at]
        if sign == "'":
            end = form.find("'", at + 1)
            if end < 0:
                raise of.rejected(node, "a quote is not closed")
            pieces.append((form[at + 1 : end] or "'").replace("%", "%%"))
            at = end + 1
            continue
        run = len(form[at:]) - len(form[at:].lstrip(sign))
        letters = form[at : at + run]
        if sign.isalpha() and letters not in _FORMATS:
            raise of.rejected(node, f"formats have no {letters} here")
        pieces.append(_FORMATS.get(letters, letters.replace("%", "%%")))
        at += run
    return Part(
        f"strftime({of.fitted(node, 's', given[0])}, {quoted_text(''.join(pieces))})", "VARCHAR"
    )


FUNCTIONS: dict[str, Function] = {"date_format": _formatted}
for _name, _target in (
    ("to_date", "DATE"),
    ("to_timestamp", "TIMESTAMP"),
    ("to_timestamp_ntz", "TIMESTAMP"),
):
    FUNCTIONS[_name] = _time(_target, tried=False)
    FUNCTIONS[f"try_{_name}"] = _time(_target, tried=True)
