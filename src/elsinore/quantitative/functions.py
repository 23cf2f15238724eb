"""Functions of values for combinators: `unit`, `left`, `right` and keys by attribute."""

from __future__ import annotations

from typing import Any

from elsinore.quantitative.items import attribute_of
from elsinore.quantitative.regex import ITEM


def unit(*_: Any) -> None:
    """Return None: the value of `match`."""


def left(first: Any, *_: Any) -> Any:
    """Return the first of the values: an `op` for `split` and `combine`."""
    return first


def right(*values: Any) -> Any:
    """Return the last of the values: an `op` for `split` and `combine`."""
    return values[-1]


class Key:
    """The value of an attribute, as a key of `map_collect`."""

    __slots__ = ("__name__", "attribute")

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self.__name__ = f"{ITEM}.{attribute}"

    def __call__(self, item: Any) -> Any:
        """Return the item's key."""
        return attribute_of(item, self.attribute)
