"""The schema of a stream: its attributes and their kinds, known before events are read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum


class AttributeKind(Enum):
    """The kinds of values that queries distinguish."""

    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    COLLATED = "collated"  # text that compares by a collation other than binary (Spark)
    BOOLEAN = "boolean"
    TIME = "time"
    NESTED = "nested"  # a struct, an array or a map
    BYTES = "bytes"
    CLOCK = "clock"  # a time of day
    DURATION = "duration"
    INTERVAL = "interval"  # with months, which have no fixed length
    TICKS = "ticks"  # a time that is a number, in the unit of the time column
    TICK_SPAN = "tick span"  # a length of time in that unit
    QUANTITY = "quantity"  # a number, a time or a duration, depending on unknown attributes
    NULL = "null"  # nothing: all of its values are null
    OTHER = "other"  # a type that is only returned, never compared

    @property
    def may_be_ticks(self) -> bool:
        """Whether values of the kind can be numeric times."""
        return self.is_numeric or self is AttributeKind.TIME

    @property
    def is_numeric(self) -> bool:
        """Whether values of the kind can be added."""
        return self in {AttributeKind.INTEGER, AttributeKind.NUMBER}


@dataclass(frozen=True, slots=True)
class Schema:
    """The attributes of a stream, in order; every event type has them all.

    >>> Schema((("speed", AttributeKind.NUMBER),)).kind("speed").value
    'number'
    """

    attributes: tuple[tuple[str, AttributeKind], ...]

    def kind(self, name: str) -> AttributeKind | None:
        """Return the kind of an attribute; None if there is no such attribute."""
        return dict(self.attributes).get(name)

    def with_ticks(self, names: Collection[str]) -> Schema:
        """Return the schema with the named attributes, numbers or times, as numeric times.

        >>> Schema((("time", AttributeKind.INTEGER),)).with_ticks({"time"}).kind("time").value
        'ticks'
        """
        return Schema(
            tuple(
                (name, AttributeKind.TICKS if name in names and kind.may_be_ticks else kind)
                for name, kind in self.attributes
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(name for name, _ in self.attributes)
