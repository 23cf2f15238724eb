"""Named tuples of compiled code, that can be found again by their names.

What was compiled is kept with the types that it is for; a class among these is written as its
module and its name. So a class's name here tells its fields, and asking this module for a class
that it does not have yet makes it.
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

BETWEEN = "__"  # between the title of a class and its fields, in its name


def can_be_field(name: str) -> bool:
    """Return whether a name can be a field: an identifier without leading or doubled underscores.

    >>> [can_be_field(name) for name in ("speed", "top speed", "a__b", "class")]
    [True, False, False, False]
    """
    plain = (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and not name.endswith("_")
    )
    return plain and BETWEEN not in name


def record_class(title: str, fields: Sequence[str]) -> Any:
    """Return the named tuple with some fields, the same one each time.

    >>> record_class("Item", ["x", "y"]) is record_class("Item", ["x", "y"])
    True
    """
    name = BETWEEN.join((title, *fields))
    if name not in globals():
        made: Any = namedtuple(name, list(fields))  # type: ignore[misc]  # noqa: PYI024
        made.__module__ = __name__
        globals()[name] = made
    return globals()[name]


def __getattr__(name: str) -> Any:
    title, *fields = name.split(BETWEEN)
    if not title or not fields or not all(map(can_be_field, fields)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return record_class(title, fields)
