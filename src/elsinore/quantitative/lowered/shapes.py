"""How objects of the heap, and the records of streams, are laid out; and the heap's functions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba import types

from elsinore.quantitative.lowered import heap, objects
from elsinore.quantitative.lowered.words import Dynamic, size

FLAGS = 62  # atoms in a word of flags
FRESH = -1  # the flags of a stream that has not begun
ROOT = 0  # the kind of the records of streams

Handles = list[tuple[int, int, int]]  # offset, offset of its flags or -1, the flag


@dataclass(slots=True)
class Shapes:
    """What kinds of objects there are, and where in them other objects' places are."""

    kinds: dict[Any, int] = field(default_factory=dict)
    rows: list[tuple[int, int, int, Handles, Handles]] = field(default_factory=list)

    def kind(self, key: Any, *row: Any) -> int:
        """Return the number of a kind: its shape, stride, words, and handles in head and entry."""
        if key not in self.kinds:
            self.kinds[key] = len(self.rows)
            self.rows.append(row)
        return self.kinds[key]

    def array(self) -> Any:
        """Return the kinds as kernels read them."""
        shapes = np.zeros(len(self.rows) * objects.SHAPE, np.int64)
        lists: list[int] = []
        for number, (shape, stride, words, head, entry) in enumerate(self.rows):
            row = [shape, stride, words]
            for handles in (head, entry):
                row += [len(shapes) + len(lists), len(handles)]
                lists += [word for handle in handles for word in handle]
            shapes[number * objects.SHAPE : number * objects.SHAPE + len(row)] = row
        return np.concatenate([shapes, np.array(lists, np.int64)])


@dataclass(slots=True)
class Record:
    """Where in a record the flags and values of a machine are.

    flags: by atom, the word and the bit in it that tell whether a thread waits there; values: by
    atom, the offsets and types of the values on its stack.
    """

    flags: list[tuple[int, int]]
    values: list[list[tuple[int, Any]]]
    words: int

    @classmethod
    def of(cls, stacks: list[list[Any]]) -> Record:
        """Lay out the values of the types on the stacks of atoms."""
        flags = [divmod(atom, FLAGS) for atom in range(len(stacks))]
        at = max(1, -(-len(flags) // FLAGS))
        values = []
        for stack in stacks:
            offsets = list(itertools.accumulate(map(size, stack), initial=at))
            values.append(list(zip(offsets, stack, strict=False)))
            at = offsets[-1]
        return cls([(word, 1 << bit) for word, bit in flags], values, at)

    @property
    def flag_words(self) -> int:
        """How many words of flags there are."""
        return max([1, *(word + 1 for word, _ in self.flags)])

    def handles(self) -> Handles:
        """Return where objects' places are, and under which flags."""
        return [
            (at, *flag)
            for flag, values in zip(self.flags, self.values, strict=True)
            for at, kind in values
            if isinstance(kind, Dynamic)
        ]


def moved(handles: Handles, by: int) -> Handles:
    """Return handles of a record that begins further on."""
    return [(at + by, flags + by if flags >= 0 else -1, bit) for at, flags, bit in handles]


def plus(at: str, offset: int) -> str:
    """Return the expression of a place so many words on."""
    return f"{at} + {offset}" if offset else at


# --- the heap's functions, which machines call by their addresses --------------------------------

PARAMETERS = {"p": types.CPointer(types.int64), "i": types.int64, "d": types.float64}
PURE = {"find", "best", "at_rank", "front_with", "marks"}  # these need no room


def _external(name: str, address: int, parameters: str) -> types.ExternalFunction:
    """Return a function of the heap; the name of its symbol tells what it takes."""
    symbol = f"elsinore_heap_{name}_{parameters}"
    llvm.add_symbol(symbol, address)
    return types.ExternalFunction(symbol, types.int64(*(PARAMETERS[kind] for kind in parameters)))


FUNCTIONS = (  # none where modules run uncompiled, for a debugger
    {name: _external(name, *about) for name, about in heap.addresses().items()}
    if heap.IS_COMPILED
    else {}
)
