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


class Counts(Mapping[Any, int]):
    """How often each value was added; `add` returns a new version.

    >>> one = Counts().add("a").add("a")
    >>> two = one.add("b")
    >>> dict(one), dict(two), dict(one)
    ({'a': 2}, {'a': 2, 'b': 1}, {'a': 2})
    """

    __slots__ = ("_age", "_change", "_counts", "_newer")

    def __init__(self, counts: Mapping[Any, int] | None = None) -> None:
        self._counts: dict[Any, int] | None = dict(counts or {})
        self._newer: Counts | None = None  # the version that a value was added to this one for
        self._change: Any = None  # that value
        self._age = 0  # steps since the data was copied

    @classmethod
    def owning(cls, counts: dict[Any, int]) -> Counts:
        """Return counts that take over a dict, which nobody else changes then."""
        owner = cls()
        owner._counts = counts
        return owner

    def add(self, value: Any) -> Counts:
        """Return the counts with one more of a value. Raises TypeError for an unhashable one."""
        counts = self._own()
        hash(value)  # before anything is changed
        newer = Counts.__new__(Counts)
        newer._age = self._age + 1
        if newer._age > max(LEAST_AGE, len(counts)) or not counts:
            counts, newer._age = dict(counts), 0
        else:
            self._counts, self._newer, self._change = None, newer, value
        counts[value] = counts.get(value, 0) + 1
        newer._counts, newer._newer, newer._change = counts, None, None
        return newer

    def _own(self) -> dict[Any, int]:
        """Return the data as of this version, which becomes the owner of it.

        A version that is read again after newer ones were made gets a copy of its own.
        """
        if self._counts is not None:
            return self._counts
        chain: list[Counts] = []
        version: Counts = self
        while version._counts is None:
            chain.append(version)
            version = version._newer  # type: ignore[assignment]
        counts = dict(version._counts)
        for older in reversed(chain):
            left = counts[older._change] - 1
            if left:
                counts[older._change] = left
            else:
                del counts[older._change]
        self._counts, self._newer, self._change = counts, None, None
        return counts

    def __getitem__(self, value: Any) -> int:
        return self._own()[value]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._own())

    def __len__(self) -> int:
        return len(self._own())

    def __repr__(self) -> str:
        return f"Counts({self._own()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Counts, (self._own(),)


def plain(counts: Mapping[Any, int]) -> Mapping[Any, int]:
    """Return counts as a dict, which is to be read only: Python's own are read faster."""
    return counts._own() if isinstance(counts, Counts) else counts


class Bag:
    """Values in order, each as often as it was added; `add` returns a new version.

    >>> bag = Bag().add(3).add(1).add(2)
    >>> bag.quantile(0.5), len(bag), bag.add(0).quantile(0.5), bag.quantile(0.5)
    (2, 3, 1, 2)
    """

    __slots__ = ("_age", "_change", "_newer", "_values")

    def __init__(self, values: list[Any] | None = None) -> None:
        self._values: list[Any] | None = sorted(values or [])
        self._newer: Bag | None = None
        self._change: Any = None
        self._age = 0

    def add(self, value: Any) -> Bag:
        """Return the bag with one more value."""
        values = self._values
        if values is None:
            values = self._own()
        newer = Bag.__new__(Bag)
        age = self._age + 1
        if (age > LEAST_AGE and age > len(values)) or not values:
            values, age = list(values), 0
        else:
            self._values, self._newer, self._change = None, newer, value
        insort(values, value)
        newer._values, newer._newer, newer._change, newer._age = values, None, None, age
        return newer

    def quantile(self, fraction: float) -> Any:
        """Return the value at rank floor(fraction * (n - 1)), counted from 0."""
        values = self._values
        if values is None:
            values = self._own()
        return values[int(fraction * (len(values) - 1))]

    def in_order(self) -> list[Any]:
        """Return the values in order, which are to be read only."""
        return self._own()

    def _own(self) -> list[Any]:
        if self._values is not None:
            return self._values
        chain: list[Bag] = []
        version: Bag = self
        while version._values is None:
            chain.append(version)
            version = version._newer  # type: ignore[assignment]
        values = list(version._values)
        for older in reversed(chain):
            del values[bisect_left(values, older._change)]
        self._values, self._newer, self._change = values, None, None
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and self._own() == other._own()

    def __hash__(self) -> int:
        return hash(tuple(self._own()))

    def __len__(self) -> int:
        return len(self._own() if self._values is None else self._values)

    def __repr__(self) -> str:
        return f"Bag({self._own()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Bag, (self._own(),)
