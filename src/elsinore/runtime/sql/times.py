"""Translating functions that parse and format times to DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from elsinore.runtime.sql.casts import cast
from elsinore.runtime.sql.functions import failing
from elsinore.runtime.sql.kinds import NUMBERS
from elsinore.runtime.sql.parts import ExpressionTranslator, Function, Part, quoted_text
from elsinore.runtime.sql.texts import constant_text
from elsinore.runtime.time_formats import parse_times


def _to_time(target: str, *, null_on_error: bool) -> Function:
    """Return the rule of TO_DATE or TO_TIMESTAMP, with a constant format or ISO 8601."""

    def translate(
        translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
    ) -> Part:
        if not 1 <= len(arguments) <= 2:
            raise translator.rejected(node, "it takes 1 or 2 arguments here")
        part = translator.translate(arguments[0])
        if len(arguments) == 1:
            text = cast(part.text, part.kind, target)
            if text is None or (part.kind in NUMBERS and target == "DATE"):
                raise translator.rejected(node, f"it does not accept {part.kind.value}")
            return Part(f"TRY({text})" if null_on_error else text, target)
        text = translator.converted(node, "t", arguments[0])
        form = constant_text(translator, node, arguments[1])
        parse_times(pa.array([], pa.string()), form)  # raises for unsupported letters
        time = f"elsinore_time_as({text}, {quoted_text(form)})"
        value = time if target == "TIMESTAMP" else f"CAST({time} AS DATE)"
        if not null_on_error:
            value = failing(f"{text} IS NOT NULL AND {time} IS NULL", value)
        return Part(value, target)

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


def _date_format(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    """Translate DATE_FORMAT with a constant format of the letters in `_FORMATS`."""
    if len(arguments) != 2:
        raise translator.rejected(node, "it takes 2 arguments here")
    form = constant_text(translator, node, arguments[1])
    pieces: list[str] = []
    at = 0
    while at < len(form):
        sign = form[at]
        if sign == "'":
            end = form.find("'", at + 1)
            if end < 0:
                raise translator.rejected(node, "a quote is not closed")
            pieces.append((form[at + 1 : end] or "'").replace("%", "%%"))
            at = end + 1
            continue
        run = len(form[at:]) - len(form[at:].lstrip(sign))
        letters = form[at : at + run]
        if sign.isalpha() and letters not in _FORMATS:
            raise translator.rejected(node, f"formats do not support {letters} here")
        pieces.append(_FORMATS.get(letters, letters.replace("%", "%%")))
        at += run
    time = translator.converted(node, "s", arguments[0])
    return Part(f"strftime({time}, {quoted_text(''.join(pieces))})", "VARCHAR")


FUNCTIONS: dict[str, Function] = {"date_format": _date_format}
for _name, _target in (
    ("to_date", "DATE"),
    ("to_timestamp", "TIMESTAMP"),
    ("to_timestamp_ntz", "TIMESTAMP"),
):
    FUNCTIONS[_name] = _to_time(_target, null_on_error=False)
    FUNCTIONS[f"try_{_name}"] = _to_time(_target, null_on_error=True)
