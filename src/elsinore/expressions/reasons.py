"""Converting Arrow's error messages to reasons that do not mention Arrow."""

from __future__ import annotations

import re

import pyarrow as pa

MIXED_SIGNS = (
    "some whole numbers are 2^63 or more and others are below 0, which do not fit together into 64 "
    "bits; cast the column to a double"
)
TAKE_OUT = "Take the file out, or write it again"  # remedy for a damaged file
_TYPES = re.compile(r"input types \((.*)\)")
_UNREAD = re.compile(r"Failed to parse string: '(.*)' as a scalar of type (\w+)")
_CAST = re.compile(r"Unsupported cast from (.+) to (\S+)")


def reason(error: pa.ArrowException) -> str:
    """Return why a computation failed, as the end of a sentence.

    >>> reason(pa.ArrowInvalid("overflow"))
    'a whole number goes beyond 64 bits'
    >>> reason(pa.ArrowInvalid("Failed to parse string: 'soon' as a scalar of type timestamp[us]"))
    "'soon' cannot be read as a time, such as '2024-01-31T12:00:00'"
    """
    message = str(error)
    if "overflow" in message:
        return "a whole number goes beyond 64 bits"
    unread = _UNREAD.search(message)
    if unread and unread[2] in {"timestamp", "date32", "date64"}:
        return f"'{unread[1]}' cannot be read as a time, such as '2024-01-31T12:00:00'"
    if unread:
        return f"'{unread[1]}' cannot be read as {_name(unread[2])}"
    cast = _CAST.search(message)
    if cast:
        return f"{_name(cast[1])} cannot be made {_name(cast[2])}"
    types = _TYPES.search(message)
    if types:
        names = [_name(kind) for kind in re.split(r", (?![^<]*>)", types[1])]
        return f"{' and '.join(names)} cannot be compared or computed with each other"
    return message.splitlines()[0].rstrip(".")


def not_computed(why: str) -> str:
    """Return the sentence for a condition that cannot be computed."""
    return f"A condition cannot be computed: {why}."


def _name(kind: str) -> str:
    """Return the name of an Arrow type in messages."""
    plain = (
        kind.split("[", maxsplit=1)[0]
        .split("<", maxsplit=1)[0]
        .split("(", maxsplit=1)[0]
        .rstrip(",")
    )
    return _NAMES.get(plain, plain)


_NAMES = {
    "string": "text",
    "utf8": "text",
    "large_string": "text",
    "bool": "a truth value",
    "timestamp": "a time",
    "date32": "a date",
    "date64": "a date",
    "duration": "a length of time",
    "binary": "bytes",
    "list": "a list",
    "struct": "a struct",
    "null": "null",
} | dict.fromkeys(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["halffloat", "float", "double", "decimal128", "decimal256"],
    "a number",
)
