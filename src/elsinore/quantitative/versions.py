"""Accumulators that grow in place and still are values: older versions stay what they were.

A query may hold an accumulator at several live split points, and each may go on from it. The newest
version owns the data and is changed in place; an older one knows what was changed since and takes
the change back where it is read again (Baker, Shallow Binding Makes Functional Arrays Fast, 1991).
Used in a line, as almost always, each step costs what it costs on the plain container; now and
then, after as many steps as there are values, the newest version takes a copy, so that an older
version that somebody keeps never has more to take back than its own size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import cython


class Version:
    """A version of a container; functions that change one return a new version.

    data: the container, None if a newer version owns it; newer, change: that version, and the value
    that was added for it; age: the steps since the data was copied.
    """

    def __init__(self, data: Any) -> None:
        self.data: Any = data
        self.newer: Any = None
        self.change: Any = None
        self.age = 0

    def own(self) -> Any:
        """Return the data as of this version, which becomes the owner of it.

        A version that is read again after newer ones were made gets a copy.
        """
        if self.data is not None:
            return self.data
        chain: list[Any] = []
        version: Any = self
        while version.data is None:
            chain.append(version)
            version = version.newer
        data = version.data.copy()
        for older in reversed(chain):
            self.take_out(data, older.change)
        self.data, self.newer, self.change = data, None, None
        return data

    def take_out(self, data: Any, value: Any) -> None:
        """Take a value out of a container to which it was added."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.own())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.own()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.own(),)


@cython.cfunc
def _handed_over(older: Version, newer: Version, value: object) -> Any:
    """Return the data, to which `value` is then added, as that of a newer version."""
    data: Any = older.data
    age: cython.Py_ssize_t = older.age + 1
    if not data or (age > 16 and age > len(data)):  # a copy now and then
        data, age = data.copy(), 0
    else:
        older.data, older.newer, older.change = None, newer, value
    newer.data, newer.age = data, age
    return data


class Counts(Version):
    """How often each value was added, as a mapping.

    >>> one = Counts().add("a").add("a")
    >>> two = one.add("b")
    >>> dict(one), dict(two), dict(one)
    ({'a': 2}, {'a': 2, 'b': 1}, {'a': 2})
    """

    def __init__(self, counts: Mapping[Any, int] | None = None) -> None:
        super().__init__(dict(counts or {}))

    @classmethod
    def owning(cls, counts: dict[Any, int]) -> Counts:
        """Return counts that take over a dict, which nobody else changes then."""
        owner = cls()
        owner.data = counts
        return owner

    def add(self, value: Any) -> Counts:
        """Return the counts with one more of a value. Raises TypeError for an unhashable one."""
        data: dict[Any, int] = self.data if self.data is not None else self.own()
        number: Any = data.get(value, 0)  # raises before anything is changed
        newer: Counts = Counts.__new__(Counts)
        data = _handed_over(self, newer, value)
        data[value] = number + 1
        return newer

    def take_out(self, data: dict[Any, int], value: Any) -> None:
        """Count a value once less."""
        data[value] -= 1
        if not data[value]:
            del data[value]

    def __getitem__(self, value: Any) -> int:
        return self.own()[value]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.own())

    def __contains__(self, value: Any) -> bool:
        return value in self.own()

    def __eq__(self, other: object) -> Any:
        return self.own() == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def get(self, value: Any, default: Any = None) -> Any:
        """Return how often a value was added, else the default."""
        return self.own().get(value, default)

    def keys(self) -> KeysView[Any]:
        """Return the values."""
        return self.own().keys()  # type: ignore[no-any-return]

    def values(self) -> ValuesView[int]:
        """Return how often values were added."""
        return self.own().values()  # type: ignore[no-any-return]

    def items(self) -> ItemsView[Any, int]:
        """Return the values, and how often they were added."""
        return self.own().items()  # type: ignore[no-any-return]


Mapping.register(Counts)


def plain(counts: Mapping[Any, int]) -> Mapping[Any, int]:
    """Return counts as a dict, which must not be changed; reading it is faster."""
    return counts.own() if isinstance(counts, Counts) else counts


class Bag(Version):
    """Values in order, each as often as it was added.

    >>> bag = Bag().add(3).add(1).add(2)
    >>> bag.quantile(0.5), len(bag), bag.add(0).quantile(0.5), bag.quantile(0.5)
    (2, 3, 1, 2)
    """

    def __init__(self, values: list[Any] | None = None) -> None:
        super().__init__(sorted(values or []))

    def add(self, value: Any) -> Bag:
        """Return the bag with one more value."""
        data: list[Any] = self.data if self.data is not None else self.own()
        place = bisect_left(data, value)  # raises before anything is changed
        newer: Bag = Bag.__new__(Bag)
        data = _handed_over(self, newer, value)
        data.insert(place, value)
        return newer

    def take_out(self, data: list[Any], value: Any) -> None:
        """Remove a value."""
        del data[bisect_left(data, value)]

    def quantile(self, fraction: float) -> Any:
        """Return the value at rank floor(fraction * (n - 1)), counted from 0."""
        values = self.own()
        return values[int(fraction * (len(values) - 1))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and bool(self.own() == other.own())

    def __hash__(self) -> int:
        return hash(tuple(self.own()))
