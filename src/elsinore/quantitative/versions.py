"""Accumulators that grow in place and still are values: older versions stay what they were.

A query may hold an accumulator at several live split points, and each may go on from it. The newest
version owns the data and is changed in place; an older one knows what was changed since and takes
the change back where it is read again (Baker, Shallow Binding Makes Functional Arrays Fast, 1991).
Used in a line, as almost always, each step costs what it costs on the plain container; now and
then, after as many steps as there are values, the newest version takes a copy, so that an older
version that somebody keeps never has more to take back than its own size.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from typing import Any

LEAST_AGE = 16  # steps before a copy, for small containers


class _Version:
    """A version of a container: it owns the data, or knows a newer version and what that added."""

    __slots__ = ("_age", "_change", "_data", "_newer")

    def _start(self, data: Any) -> None:
        self._data = data
        self._newer: Any = None  # the version that a value was added to this one for
        self._change: Any = None  # that value
        self._age = 0  # steps since the data was copied

    def _grown(self, value: Any) -> Any:
        """Return a newer version, to whose data a value is to be added."""
        data, newer = self._own(), type(self).__new__(type(self))
        age = self._age + 1
        if age > max(LEAST_AGE, len(data)) or not data:
            data, age = data.copy(), 0
        else:
            self._data, self._newer, self._change = None, newer, value
        newer._data, newer._newer, newer._change, newer._age = data, None, None, age
        return newer

    def _own(self) -> Any:
        """Return the data as of this version, which becomes the owner of it.

        A version that is read again after newer ones were made gets a copy.
        """
        if self._data is not None:
            return self._data
        chain: list[Any] = []
        version: Any = self
        while version._data is None:
            chain.append(version)
            version = version._newer
        data = version._data.copy()
        for older in reversed(chain):
            self._take_out(data, older._change)
        self._data, self._newer, self._change = data, None, None
        return data

    @staticmethod
    def _take_out(data: Any, value: Any) -> None:
        """Take a value out of data that it was added to."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._own())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._own()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._own(),)


class Counts(_Version, Mapping[Any, int]):
    """How often each value was added; `add` returns a new version.

    >>> one = Counts().add("a").add("a")
    >>> two = one.add("b")
    >>> dict(one), dict(two), dict(one)
    ({'a': 2}, {'a': 2, 'b': 1}, {'a': 2})
    """

    __slots__ = ()

    def __init__(self, counts: Mapping[Any, int] | None = None) -> None:
        self._start(dict(counts or {}))

    @classmethod
    def owning(cls, counts: dict[Any, int]) -> Counts:
        """Return counts that take over a dict, which nobody else changes then."""
        owner = cls()
        owner._data = counts
        return owner

    def add(self, value: Any) -> Counts:
        """Return the counts with one more of a value. Raises TypeError for an unhashable one."""
        hash(value)  # before anything is changed
        newer: Counts = self._grown(value)
        newer._data[value] = newer._data.get(value, 0) + 1
        return newer

    @staticmethod
    def _take_out(data: dict[Any, int], value: Any) -> None:
        data[value] -= 1
        if not data[value]:
            del data[value]

    def __getitem__(self, value: Any) -> int:
        return self._own()[value]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._own())


def plain(counts: Mapping[Any, int]) -> Mapping[Any, int]:
    """Return counts as a dict, which is to be read only: Python's own are read faster."""
    return counts._own() if isinstance(counts, Counts) else counts


class Bag(_Version):
    """Values in order, each as often as it was added; `add` returns a new version.

    >>> bag = Bag().add(3).add(1).add(2)
    >>> bag.quantile(0.5), len(bag), bag.add(0).quantile(0.5), bag.quantile(0.5)
    (2, 3, 1, 2)
    """

    __slots__ = ()

    def __init__(self, values: list[Any] | None = None) -> None:
        self._start(sorted(values or []))

    def add(self, value: Any) -> Bag:
        """Return the bag with one more value."""
        newer: Bag = self._grown(value)
        insort(newer._data, value)
        return newer

    def quantile(self, fraction: float) -> Any:
        """Return the value at rank floor(fraction * (n - 1)), counted from 0."""
        values = self._own()
        return values[int(fraction * (len(values) - 1))]

    def in_order(self) -> list[Any]:
        """Return the values in order, which are to be read only."""
        return self._own()  # type: ignore[no-any-return]

    @staticmethod
    def _take_out(data: list[Any], value: Any) -> None:
        del data[bisect_left(data, value)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and self._own() == other._own()

    def __hash__(self) -> int:
        return hash(tuple(self._own()))
