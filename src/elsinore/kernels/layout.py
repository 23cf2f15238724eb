"""What a store holds: named fields, declared once, and where they lie in a few arrays.

A kernel that takes each of its arrays as an argument is dear to compile: an array is seven values
to the compiler, in the signature of every function that passes it on. So all fields of one number
type lie one after another in one array, an *arena*, and a record, the *header*, tells where each of
them begins, how long each axis is, and the few numbers that have no axis.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ARENAS: tuple[type[np.generic], ...] = (np.int64, np.float64, np.int32, np.uint8)  # as passed


@dataclass(frozen=True, slots=True)
class Field:
    """A named array of a store, or, without axes, a number in its header.

    `fill` is what a place holds before anything is written there.
    """

    name: str
    dtype: type[np.generic]
    axes: tuple[str, ...] = ()
    fill: float = 0

    def __post_init__(self) -> None:
        if self.dtype not in ARENAS:
            kinds = ", ".join(kind.__name__ for kind in ARENAS)
            raise ValueError(f"Field {self.name}: {self.dtype.__name__} is none of {kinds}.")


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a store, in the order they lie in; `name` and `version` go into what is saved.

    An axis named in `recycled` has numbers that are taken and given back (see `slots`); a column
    of the axis's name with `_free` behind it keeps those that are free.

    >>> layout = Layout(
    ...     "sums", 1, (Field("clock", np.int64), Field("total", np.float64, ("slot", "lane"))),
    ...     recycled=("slot",),
    ... )
    >>> layout.axes
    ('slot', 'lane')
    >>> layout.header.names
    ('slot', 'lane', 'slot_free', 'clock', 'total')
    """

    name: str
    version: int
    fields: tuple[Field, ...]
    recycled: tuple[str, ...] = ()
    axes: tuple[str, ...] = field(init=False)
    header: np.dtype[Any] = field(init=False)
    by_name: Mapping[str, Field] = field(init=False, repr=False, compare=False)
    columns: tuple[Field, ...] = field(init=False, repr=False, compare=False)  # lie in arenas
    numbers: tuple[Field, ...] = field(init=False, repr=False, compare=False)  # in the header
    along: Mapping[str, tuple[tuple[Field, int], ...]] = field(
        init=False, repr=False, compare=False
    )  # axis -> columns that have it, and which of theirs it is
    # tells the layout from others: of another name or version, or with other fields
    fingerprint: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        axes = tuple(dict.fromkeys(axis for column in self.fields for axis in column.axes))
        if missing := set(self.recycled) - set(axes):
            raise ValueError(f"Layout {self.name}: no field has the axis {min(missing)}.")
        kinds: list[tuple[str, type[np.generic]]] = [
            *((name, np.int64) for name in (*axes, *map(free_list, self.recycled))),
            *((column.name, np.int64 if column.axes else column.dtype) for column in self.fields),
        ]
        if len({name for name, _ in kinds}) < len(kinds):
            raise ValueError(f"Layout {self.name}: two of its fields or axes have one name.")
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "by_name", {column.name: column for column in self.fields})
        object.__setattr__(self, "columns", tuple(f for f in self.fields if f.axes))
        along = {
            axis: tuple(
                (column, depth)
                for column in self.fields
                for depth, name in enumerate(column.axes)
                if name == axis
            )
            for axis in axes
        }
        object.__setattr__(self, "along", along)
        object.__setattr__(self, "numbers", tuple(f for f in self.fields if not f.axes))
        described: list[Any] = [self.name, self.version, self.recycled]
        described += [(f.name, f.dtype.__name__, f.axes, f.fill) for f in self.fields]
        digest = hashlib.sha256(repr(described).encode()).hexdigest()
        object.__setattr__(self, "fingerprint", digest[:16])
        object.__setattr__(self, "header", np.dtype((np.record, kinds)))

    @property
    def arenas(self) -> tuple[type[np.generic], ...]:
        """The number types of the arenas, in the order kernels take them."""
        used = {column.dtype for column in self.columns}
        if self.recycled:
            used.add(np.int64)
        return tuple(kind for kind in ARENAS if kind in used)

    def places(self, sizes: Mapping[str, int]) -> Places:
        """Work out where each column begins; sizes: axis -> length."""
        lengths = dict.fromkeys(self.arenas, 0)
        begins: dict[str, int] = {}
        for axis in self.recycled:
            begins[free_list(axis)] = lengths[np.int64]
            lengths[np.int64] += 1 + sizes[axis]
        for column in self.columns:
            begins[column.name] = lengths[column.dtype]
            lengths[column.dtype] += math.prod(sizes[axis] for axis in column.axes)
        return Places(begins=begins, lengths=lengths)


@dataclass(frozen=True, slots=True)
class Places:
    """Where columns begin in their arenas, and how long the arenas are."""

    begins: Mapping[str, int]
    lengths: Mapping[type[np.generic], int]


def free_list(axis: str) -> str:
    """Return the name of the column that keeps an axis's free numbers.

    >>> free_list("slot")
    'slot_free'
    """
    return f"{axis}_free"
