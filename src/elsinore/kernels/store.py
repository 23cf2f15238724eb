"""The memory of an engine: one header and a few arenas, which grow and can be saved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import StateError
from elsinore.kernels.layout import Field, Layout, free_list
from elsinore.kernels.saved import pack, reading_state, unpack
from elsinore.kernels.slots import NONE_FREE, give_back, take

Array = NDArray[Any]


class Store:
    """The fields of a layout, with room for so many along each axis.

    Kernels take `*store.arguments`: the header, then the arenas in the order of `layout.arenas`. In
    a kernel `header.slot` is the length of axis slot, `header.clock` a number without axes, and
    `doubles[header.total + slot * header.lane + lane]` a place of the column total[slot, lane].
    Kernels write numbers and places; lengths and beginnings are the store's. Growing moves
    everything: arguments and views taken before are of no use after it.

    >>> from elsinore.kernels import kernel
    >>> sums = Layout(
    ...     "sums", 1, (Field("events", np.int64), Field("total", np.float64, ("slot", "lane")))
    ... )
    >>> @kernel
    ... def add(header, doubles, slot, number):
    ...     header.events += 1
    ...     begin = header.total + slot * header.lane
    ...     for place in range(begin, begin + header.lane):
    ...         doubles[place] += number
    >>> store = Store(sums, slot=2, lane=3)
    >>> add(*store.arguments, 1, 2.5)
    >>> store["total"].tolist(), store["events"]
    ([[0.0, 0.0, 0.0], [2.5, 2.5, 2.5]], 1)
    >>> store.grow(slot=3)
    >>> store["total"].shape, store["total"][1].tolist()
    ((4, 3), [2.5, 2.5, 2.5])
    >>> Store.load(sums, store.save())["events"]
    1
    """

    __slots__ = (
        "_arenas",
        "_begins",
        "_bytes",
        "_entered",
        "_headers",
        "_numbers",
        "_sizes",
        "_views",
        "layout",
    )

    def __init__(self, layout: Layout, **sizes: int) -> None:
        """Make room; sizes: axis -> length, each axis named."""
        if sizes.keys() != set(layout.axes):
            raise ValueError(f"The axes of layout {layout.name} are {', '.join(layout.axes)}.")
        self.layout = layout
        self._headers = np.zeros(1, layout.header)
        # a view costs more to make than to look up, and each batch asks for some
        self._numbers = {number.name: self._headers[number.name] for number in layout.numbers}
        for number in layout.numbers:
            self._numbers[number.name][0] = number.fill
        self._lay_out(sizes)
        for axis in layout.recycled:
            self._add_free(axis, 0, sizes[axis])

    @property
    def header(self) -> Any:
        """The header, a record whose attributes are the names of axes and fields."""
        return self._headers[0]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels take: the header and the arenas."""
        return self._headers[0], *self._arenas.values()

    @property
    def entered(self) -> tuple[Any, ...]:
        """What kernels take that are entered for every batch: as `arguments`, with an array.

        The header is its only record. A kernel takes an array in half a microsecond, a record of a
        hundred numbers in twenty.
        """
        return self._entered

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each axis."""
        return dict(self._sizes)

    def length(self, axis: str) -> int:
        """Return the length of an axis."""
        return self._sizes[axis]

    @property
    def nbytes(self) -> int:
        """The bytes of header and arenas."""
        return self._bytes

    def bytes_of(self) -> dict[str, int]:
        """Return the bytes of each column, the greatest first."""
        sizes = {column.name: self[column.name].nbytes for column in self.layout.columns}
        return dict(sorted(sizes.items(), key=lambda size: -size[1]))

    def __getitem__(self, name: str) -> Any:
        """Return a column as an array with an axis for each of its axes, or a number."""
        number = self._numbers.get(name)
        return self._view(self.layout.by_name[name]) if number is None else number.item()

    def __setitem__(self, name: str, value: Any) -> None:
        """Set all places of a column, or a number."""
        number = self._numbers.get(name)
        if number is None:
            self[name][...] = value
        else:
            number[0] = value

    def grow(self, **sizes: int) -> None:
        """Make axes at least so long; one that must grow at least doubles."""
        have = self._sizes
        wanted = {a: max(n, 2 * have[a]) for a, n in sizes.items() if n > have[a]}
        if wanted:  # every batch asks
            self.resize(**wanted)

    def resize(self, **sizes: int) -> None:
        """Make axes exactly so long, and never shorter; new places hold their field's fill."""
        have = self.sizes
        wanted = {**have, **{axis: max(length, have[axis]) for axis, length in sizes.items()}}
        if wanted == have:
            return
        views = ((column.name, self._view(column)) for column in self.layout.columns)
        columns = {name: view for name, view in views if view.size}
        free = {axis: self._free(axis).copy() for axis in self.layout.recycled}
        self._lay_out(wanted)
        for name, old in columns.items():
            self[name][tuple(slice(length) for length in old.shape)] = old
        for axis, numbers in free.items():
            self._ints[self._begin(axis) :][: len(numbers) + 1] = [len(numbers), *numbers]
            self._add_free(axis, have[axis], wanted[axis])

    def take(self, axis: str) -> int:
        """Take a free number of a recycled axis, and grow the axis where there is none."""
        number = take(self._ints, self._begin(axis))
        if number == NONE_FREE:
            self.grow(**{axis: self.sizes[axis] + 1})
            number = take(self._ints, self._begin(axis))
        return int(number)

    def give_back(self, axis: str, number: int) -> None:
        """Give a number of a recycled axis back, and put its places' fill into them."""
        self.clear(axis, number)
        give_back(self._ints, self._begin(axis), number)

    def clear(self, axis: str, numbers: int | slice | Array) -> None:
        """Put each column's fill into its places at some numbers of an axis."""
        for column, depth in self.layout.along[axis]:
            view = self._view(column)
            if view.size:
                view[(slice(None),) * depth + (numbers,)] = column.fill

    def free(self, axis: str) -> int:
        """Return how many numbers of a recycled axis are free."""
        return len(self._free(axis))

    def save(self) -> bytes:
        """Return everything as bytes."""
        arrays = {kind.__name__: arena for kind, arena in self._arenas.items()}
        for number in self.layout.numbers:
            arrays[f"number.{number.name}"] = self._headers[number.name]
        for axis, length in self.sizes.items():
            arrays[f"axis.{axis}"] = np.array([length])
        return pack(f"{self.layout.name} {self.layout.version}", self.layout.fingerprint, arrays)

    @classmethod
    def load(cls, layout: Layout, blob: bytes) -> Store:
        """Return the store that was saved as these bytes.

        Raises StateError where they are damaged, or were saved from another layout.
        """
        owner = f"{layout.name} {layout.version}"
        arrays = unpack(owner, layout.fingerprint, blob)
        with reading_state(owner):
            sizes = {axis: int(arrays[f"axis.{axis}"][0]) for axis in layout.axes}
            for kind, length in layout.places(sizes).lengths.items():  # before room is made for it
                if arrays[kind.__name__].shape != (length,):
                    raise StateError(f"The saved {layout.name} is damaged: an array is too short.")
            store = cls(layout, **sizes)
            for number in layout.numbers:
                store._headers[number.name] = arrays[f"number.{number.name}"]
            for kind, arena in store._arenas.items():
                arena[...] = arrays[kind.__name__]
        return store

    @property
    def _ints(self) -> NDArray[np.int64]:
        return self._arenas[np.int64]

    def _lay_out(self, sizes: dict[str, int]) -> None:
        """Take new arenas for axes so long, all places filled, and no number free."""
        places = self.layout.places(sizes)
        self._sizes, self._begins = dict(sizes), dict(places.begins)
        self._views: dict[str, Array] = {}  # of columns, as they are asked for
        for name, value in {**sizes, **places.begins}.items():
            self._headers[name] = value
        self._arenas: dict[type[np.generic], Array] = {
            kind: np.zeros(length, kind) for kind, length in places.lengths.items()
        }
        self._entered = self._headers, *self._arenas.values()
        self._bytes = self._headers.nbytes + sum(arena.nbytes for arena in self._arenas.values())
        for column in self.layout.columns:
            if column.fill:
                self._view(column)[...] = column.fill

    def _view(self, column: Field) -> Array:
        view = self._views.get(column.name)
        if view is None:
            shape = [self._sizes[axis] for axis in column.axes]
            begin = self._begins[column.name]
            arena = self._arenas[column.dtype]
            view = self._views[column.name] = arena[begin : begin + math.prod(shape)].reshape(shape)
        return view

    def _begin(self, axis: str) -> int:
        """Return where the free numbers of an axis begin."""
        return self._begins[free_list(axis)]

    def _free(self, axis: str) -> NDArray[np.int64]:
        """Return the free numbers of an axis."""
        begin = self._begin(axis)
        return self._ints[begin + 1 : begin + 1 + self._ints[begin]]

    def _add_free(self, axis: str, begin: int, end: int) -> None:
        """Make numbers from begin to end - 1 of an axis free, the least to be taken first."""
        place, count = self._begin(axis), end - begin
        above = place + 1 + self._ints[place]
        self._ints[above : above + count] = np.arange(end - 1, begin - 1, -1)
        self._ints[place] += count
