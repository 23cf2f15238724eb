"""An item at work, and the states of the keys of a `map_collect`, which it changes in place."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.quantitative.machine.columns import Rows
from elsinore.quantitative.machine.frames import Frame
from elsinore.quantitative.machine.memory import Memory
from elsinore.quantitative.machine.tagged import Tagged


@cython.cclass
class Moment:
    """An item at work.

    items: rows, or objects; is_row: whether the item is one of the rows; row, item_class: its
    number and the class of its predicates, -1 while these are evaluated; undo: what was changed in
    place, noted if something may still raise (`may_raise`); frames: by depth, that is, how many
    `map_collect` are around; depth: of the transition at work, -1 during a test in plain Python.
    """

    def __init__(self, items: Any, attributes: list[str]) -> None:
        self.items, self.attributes = items, attributes
        self.rows_columns: list[Any] = []
        self.is_row = isinstance(items, Rows)
        self.row, self.item_class = 0, 0
        self.undo: list[Any] = []
        self.frames = [Frame()]
        self.scratch = Tagged(1)
        self.depth = 0
        self.known_item, self.has_item, self.may_raise = None, False, False

    def item(self) -> Any:
        """Return the item."""
        if not self.has_item:
            self.known_item = self.items.row(self.row) if self.is_row else self.items[self.row]
            self.has_item = True
        return self.known_item

    def take_back(self) -> None:
        """Undo what the item changed."""
        while self.undo:
            keys, code, before = self.undo.pop()
            if code < 0:
                keys.memory = before
            elif before is None:
                keys.remove_last()
            else:
                keys.memory.put(code, *before)

    def source(self) -> Any:
        """Return the source of the instruction at work, None during a test in plain Python."""
        if self.depth < 0 or self.item_class < 0:
            return None
        frame: Frame = self.frames[self.depth]
        return frame.transition.sources[frame.at] if frame.transition.sources else None


@cython.cclass
class Keys:
    """The states of keys since one start of a `map_collect` (StreamQRE, Figure 4).

    program: that of the keys (`control.KeyedProgram`); memory: state 0 is that of all keys that
    have had synchronization items only; names: the keys in the order of their codes, which begin
    with 1; outputs: the values of keys after the last item; small: the codes of small integers.
    """

    def __init__(self, program: Any) -> None:
        self.program, self.memory = program, Memory(1)
        self.names: list[Any] = []
        self.codes: dict[Any, int] = {}
        self.outputs: dict[Any, Any] = {}
        self.small_count = 0
        self.small_array = self.small = np.zeros(1, np.int32)
        self.attribute = program.attribute_number

    def copy(self) -> Keys:
        """Return the same states, that change apart from these."""
        copy = Keys(self.program)
        copy.memory = self.memory.copy()
        for place, value in enumerate(copy.memory.objects):
            if isinstance(value, Keys):
                copy.memory.objects[place] = value.copy()
        copy.names, copy.codes, copy.outputs = list(self.names), dict(self.codes), self.outputs
        return copy

    def add(self, key: Any) -> None:
        """Give the last state to a new key."""
        self.names.append(key)
        self.codes[key] = len(self.names)

    def remove_last(self) -> None:
        """Forget the last key."""
        del self.codes[self.names.pop()]
        self.small_array[:] = 0

    def __len__(self) -> int:
        return len(self.names)
