"""Queries and events as the other systems take them: arrays of numbers.

A query is a sequence of event types, some under Kleene plus, and sums over its trends: how many
there are, and the sum of a value of the events of its first Kleene type. Events of a system come
window by window; no two have the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
NO_THRESHOLD = -np.inf


@dataclass(frozen=True, slots=True)
class Step:
    """An event type of a pattern; `repeats`: under Kleene plus."""

    kind: str
    repeats: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendQuery:
    """`SEQ(steps)`, counted and summed up over windows of so many minutes.

    above: events of Kleene types have a greater value; rising: no event of a Kleene type has a
    lower value than its predecessor of that type; adds: the query returns SUM beside COUNT.
    """

    name: str
    steps: tuple[Step, ...]
    above: float = NO_THRESHOLD
    rising: bool = False
    adds: bool = False

    def text(self, *, value: str, within: str, group: str | None) -> str:
        """Return the query in Elsinore's language. within: as `10 minutes SLIDE 5 minutes`."""
        names = [f"x{number}" for number in range(len(self.steps))]
        pattern = ", ".join(
            f"{step.kind} {name}{'+' if step.repeats else ''}"
            for name, step in zip(names, self.steps, strict=True)
        )
        repeated = [name for name, step in zip(names, self.steps, strict=True) if step.repeats]
        conditions = [f"{name}.{value} > {self.above:g}" for name in repeated]
        if self.above == NO_THRESHOLD:
            conditions = []
        if self.rising:
            conditions += [f"{name}[i].{value} >= {name}[i-1].{value}" for name in repeated]
        total = f", SUM({repeated[0]}.{value})" if self.adds else ""
        return "\n".join(
            (
                f"QUERY {self.name} RETURN COUNT(*){total}",
                f"PATTERN SEQ({pattern})" if len(names) > 1 else f"PATTERN {pattern}",
                *([f"WHERE {' AND '.join(conditions)}"] if conditions else []),
                *([f"GROUP BY {group}"] if group else []),
                f"WITHIN {within};",
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Events in order of time: the number of each one's type, its value and its group's number."""

    kinds: Ints
    values: Doubles
    groups: Ints

    def __len__(self) -> int:
        return len(self.kinds)

    def part(self, begin: int, end: int) -> Events:
        """Return the events from one place up to another."""
        here = slice(begin, end)
        return Events(kinds=self.kinds[here], values=self.values[here], groups=self.groups[here])


@dataclass(frozen=True, slots=True)
class Totals:
    """What was found in a window, by query and group: the number of trends, and the sums."""

    counts: Doubles
    sums: Doubles


class System(Protocol):
    """Another system, for one window. A class of it is made by queries, types and groups."""

    def feed(self, events: Events) -> None:
        """Take the next events of the window."""

    def totals(self) -> Totals:
        """Return the window's results."""


class UnsupportedError(Exception):
    """A system cannot express a query."""


class Tables:
    """The steps of queries by event type.

    `begins[kind]` to `begins[kind + 1]` are the places of a type in `queries` and `steps`; those of
    one query are in falling order, so that an event does not follow itself.
    """

    def __init__(self, queries: Sequence[TrendQuery], kinds: Sequence[str]) -> None:
        self.queries = tuple(queries)
        self.width = max(len(query.steps) for query in queries)
        entries: list[list[tuple[int, int]]] = [[] for _ in kinds]
        for number, query in enumerate(queries):
            for place in reversed(range(len(query.steps))):
                entries[kinds.index(query.steps[place].kind)].append((number, place))
        self.begins: Ints = np.cumsum([0, *map(len, entries)])
        flat = [entry for of_kind in entries for entry in of_kind]
        self.query: Ints = np.array([query for query, _ in flat], np.int64)
        self.step: Ints = np.array([step for _, step in flat], np.int64)
        self.repeats = np.zeros((len(queries), self.width), np.bool_)
        self.adds = np.zeros((len(queries), self.width), np.bool_)
        for number, query in enumerate(queries):
            for place, step in enumerate(query.steps):
                self.repeats[number, place] = step.repeats
            first = next((at for at, step in enumerate(query.steps) if step.repeats), None)
            if query.adds and first is not None:
                self.adds[number, first] = True
        self.above: Doubles = np.array([query.above for query in queries])
        self.rising = np.array([query.rising for query in queries])
        self.last: Ints = np.array([len(query.steps) - 1 for query in queries])

    def totals(self, counts: Doubles, sums: Doubles) -> Totals:
        """Return what each query's last step has, of sums by group, query and step."""
        last = self.last[None, :, None]
        return Totals(
            np.take_along_axis(counts, last, axis=2)[:, :, 0].T,
            np.take_along_axis(sums, last, axis=2)[:, :, 0].T,
        )
