"""Reasons and remedies for kinds of values that cannot be compared or be keys."""

from __future__ import annotations

from elsinore.model.schema import AttributeKind

NESTED, BYTES, CLOCK = AttributeKind.NESTED, AttributeKind.BYTES, AttributeKind.CLOCK
INTERVAL, COLLATED, OTHER = AttributeKind.INTERVAL, AttributeKind.COLLATED, AttributeKind.OTHER

_SUBSTITUTE = (
    "Give the events a column with a number or a text that stands for it, and compare that."
)
_BINARY = (
    "Give the events the column with the collation UTF8_BINARY, or its lower case, and name that."
)
_NEVER_COMPARED = {
    NESTED: f"A struct, an array or a map cannot be compared. {_SUBSTITUTE}",
    INTERVAL: f"An interval with months has no fixed length and cannot be compared. {_SUBSTITUTE}",
    COLLATED: (
        "Texts are compared byte by byte, and this column has another collation, by which "
        f"different texts can be equal. {_BINARY}"
    ),
    OTHER: f"Values of this column's type cannot be compared. {_SUBSTITUTE}",
}
_COMPARED_WITHIN_AN_EVENT = {
    BYTES: f"Bytes of one event cannot be compared with those of another. {_SUBSTITUTE}",
    CLOCK: f"A time of day cannot be compared with that of another event. {_SUBSTITUTE}",
}
_PART = "Give the events a column with the relevant part of it, or its text, and name that."
_NO_KEY = {
    NESTED: f"a struct, an array or a map cannot be a key. {_PART}",
    INTERVAL: f"an interval with months cannot be a key. {_PART}",
    COLLATED: (
        "keys are compared byte by byte, and this column has another collation, by which "
        f"different texts can be equal. {_BINARY}"
    ),
    OTHER: f"values of this column's type cannot be a key. {_PART}",
}


def no_comparison(kind: AttributeKind | None, *, within_an_event: bool) -> str | None:
    """Return the reason why values of a kind cannot be compared, with a remedy; None if they can.

    `within_an_event`: the comparison is with a constant or an attribute of the same event.

    >>> no_comparison(AttributeKind.BYTES, within_an_event=True) is None
    True
    >>> no_comparison(AttributeKind.NESTED, within_an_event=True)[:48]
    'A struct, an array or a map cannot be compared. '
    """
    if kind is None or (within_an_event and kind in _COMPARED_WITHIN_AN_EVENT):
        return None
    return (_NEVER_COMPARED | _COMPARED_WITHIN_AN_EVENT).get(kind)


def no_key(kind: AttributeKind | None) -> str | None:
    """Return the reason why attributes of a kind cannot be keys, with a remedy; None if they can.

    >>> no_key(AttributeKind.BYTES) is None, no_key(AttributeKind.INTERVAL)[:41]
    (True, 'an interval with months cannot be a key. ')
    """
    return None if kind is None else _NO_KEY.get(kind)
