"""Generated source while it is written: lines, and the names of what they refer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from elsinore.quantitative.machine.derive import Kind

INDENT = "    "


@dataclass(slots=True)
class Page:
    """Lines of code, and what they refer to by name.

    columns: the attributes that there are of items, None where items are objects; shown: counts of
    which older versions are read, so that they are not changed in place.
    """

    columns: tuple[str, ...] | None
    shown: frozenset[Kind]
    kind_of: Callable[[str], type | None]
    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    makes: bool = True  # whether records that are given out alone may be tuples of their fields
    given_out: set[type | None] = field(default_factory=set)  # of which classes; None: others
    level: int = 0
    _known: dict[int, str] = field(default_factory=dict)  # id of a value -> its name
    _temporaries: int = 0

    def line(self, text: str) -> None:
        """Write a line at the level of indentation."""
        self.lines.append(INDENT * self.level + text)

    def temporary(self) -> str:
        """Return a new name of a variable."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def name_of(self, value: Any) -> str:
        """Return a name for a value, the same one each time."""
        if id(value) not in self._known:
            self._known[id(value)] = name = f"g{len(self._known)}"
            self.names[name] = value
        return self._known[id(value)]

    def chain(self, states: Sequence[int], write: Callable[[int], Any], state: str) -> None:
        """Write what is done in each of some control states; `state` is where its number is."""
        if len(states) > 1:
            self.line(f"p = {state}")
            state = "p"
        for place, number in enumerate(states):
            self.line(f"{'el' if place else ''}if {state} == {number}:")
            self.level += 1
            write(number)
            self.level -= 1
