"""Items of streams as records with attributes, items in conditions, and the undefined value."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from elsinore.errors import InputError
from elsinore.language.terms import Term
from elsinore.model.expression import Attribute
from elsinore.quantitative.regex import ITEM, VALUE


class Item:
    """The item in conditions: `item.val > 5`, or `item > 5` if items are numbers."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        return Term(Attribute(ITEM, name))

    def __eq__(self, other: object) -> Any:
        return self[VALUE] == other

    def __ne__(self, other: object) -> Any:
        return self[VALUE] != other

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> Term:
        return self[VALUE] < other

    def __le__(self, other: object) -> Term:
        return self[VALUE] <= other

    def __gt__(self, other: object) -> Term:
        return self[VALUE] > other

    def __ge__(self, other: object) -> Term:
        return self[VALUE] >= other


class Undefined:
    """The value of a query on a sequence that does not match its rate; false in conditions."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __reduce__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = Undefined()


class Record(tuple[Any, ...]):
    """A row of a table: a tuple whose values are attributes with any names.

    `record["class"]` reads an attribute whose name cannot follow a dot.

    >>> row = as_item({"type": "M", "class": 2})
    >>> row.type, row["class"], getattr(row, "class")
    ('M', 2, 2)
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _places: ClassVar[dict[str, int]] = {}

    def __new__(cls, *values: Any) -> Self:
        """Return a record with these values, one for each attribute."""
        return tuple.__new__(cls, values)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            if place not in self._places:
                message = f"'Record' object has no attribute '{place}'"
                raise AttributeError(message, name=place, obj=self)
            place = self._places[place]
        return tuple.__getitem__(self, place)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        named = ", ".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
        return f"Record({named})"

    def __reduce__(self) -> tuple[Any, ...]:
        return make_record, (self._fields, *self)


_RECORDS: dict[tuple[str, ...], type[Record]] = {}


def as_item(item: Any) -> Any:
    """Return a mapping as a record, and any other item unchanged.

    Raises InputError for a mapping with keys that are not texts.

    >>> as_item({"type": "M", "val": 2}).val
    2
    """
    if not isinstance(item, Mapping):
        return item
    return record_type(tuple(item))(*item.values())


def attribute_of(item: Any, name: str) -> Any:
    """Return an attribute of an item. Raises AttributeError if the item does not have it."""
    return item[name] if isinstance(item, Record) else getattr(item, name)


def record_type(names: tuple[str, ...]) -> type[Record]:
    """Return the type of records with these attributes, in this order."""
    if names not in _RECORDS:
        _RECORDS[names] = _record_type(names)
    return _RECORDS[names]


def make_record(names: tuple[str, ...], *values: Any) -> Record:
    """Return a record that was pickled."""
    return record_type(names)(*values)


def _record_type(names: tuple[str, ...]) -> type[Record]:
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"The attributes of an item have names; {name!r} is not a text.")
    # The attributes are read by the descriptors of a named tuple with as many fields, which are
    # fast; names that the class itself needs are read by `record["name"]` alone.
    numbered = namedtuple("numbered", [f"f{place}" for place in range(len(names))])  # type: ignore[misc]  # noqa: PYI024
    getters = {
        name: getattr(numbered, f"f{place}")
        for place, name in enumerate(names)
        if not hasattr(Record, name) or name in ("count", "index")
    }
    places = {name: place for place, name in enumerate(names)}
    return type(
        "Record", (Record,), {"__slots__": (), **getters, "_fields": names, "_places": places}
    )
