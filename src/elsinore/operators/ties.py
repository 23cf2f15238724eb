"""Ties: simultaneous events of one key whose types are in one pattern.

Neither of two simultaneous events precedes the other, so they are never adjacent in a trend or
match. This is easily overlooked if times are coarse, so runs count such events and warn. An event
counts if some query can use it (`Unit.predicate_sets`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.operators.registry import kind_for
from elsinore.plan import Unit

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class TieTypes:
    """The types of a unit's events that are in the same pattern, so that they may be tied."""

    def __init__(self, unit: Unit) -> None:
        sets = kind_for(unit).tied_types(unit)
        places = {name: place for place, name in enumerate(unit.types)}
        self._same_pattern = np.zeros((len(places), len(places)), dtype=np.bool_)
        for names in set(map(frozenset, sets)):
            members = [places[name] for name in names]
            self._same_pattern[np.ix_(members, members)] = True
        self._offsets = np.array([classes.offset for classes in unit.classes.types], np.int64)

    def __bool__(self) -> bool:
        return bool(self._same_pattern.any())

    def of_classes(self, classes: Ints) -> Ints:
        """Return the places of the types of classes that are at least 0."""
        return np.asarray(np.searchsorted(self._offsets, classes, side="right") - 1)

    def tied(self, moments: Ints, types: Ints) -> Bools:
        """Return which events are tied with another event of their key and time.

        moments: [event] -> the number of its key and time, from 0. types: [event] -> the place of
        its type among the unit's.
        """
        if self._same_pattern.all():
            return np.asarray(np.bincount(moments)[moments] > 1)
        width = max(1, len(self._same_pattern))
        pairs, place, counts = np.unique(
            moments * width + types, return_inverse=True, return_counts=True
        )
        moment, kind = np.divmod(pairs, width)
        tied = (counts > 1) & self._same_pattern[kind, kind]
        for distance in range(1, width):  # of two types in one moment
            same = moment[distance:] == moment[:-distance]
            if not same.any():
                break
            is_near = same & self._same_pattern[kind[distance:], kind[:-distance]]
            tied[distance:] |= is_near
            tied[:-distance] |= is_near
        return np.asarray(tied[place])


class TieCounter:
    """Counts the tied events of a unit in batches that are sorted by key and time.

    Batches may be cut anywhere, also between simultaneous events.
    """

    def __init__(self, unit: Unit) -> None:
        self._types = TieTypes(unit)
        self._count = 0
        self._moment: tuple[int, int] | None = None  # the last key and time
        self._waiting: list[Ints] = []  # the classes of its events

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch's tied events; those of its last key and time wait for the next batch."""
        if not self._types:
            return
        keys, times, classes = (to_numpy(batch.column(name)) for name in ("key", "time", "class"))
        relevant = (keys >= 0) & (classes >= 0)
        if not relevant.all():
            keys, times, classes = keys[relevant], times[relevant], classes[relevant]
        if not len(keys):
            return
        same = (keys[1:] == keys[:-1]) & (times[1:] == times[:-1])
        ends = np.flatnonzero(~same) + 1  # of all moments but the last
        if self._moment != (keys[0], times[0]):
            self._count_waiting()
        first = int(ends[0]) if len(ends) else len(keys)
        self._waiting.append(classes[:first])
        if len(ends):
            self._count_waiting()
            last = int(ends[-1])
            self._count_moments(same[first : last - 1], classes[first:last])
            self._waiting = [classes[last:]]
        self._moment = int(keys[-1]), int(times[-1])

    def total(self) -> int:
        """Return the number of tied events, after the last batch."""
        self._count_waiting()
        return self._count

    def _count_waiting(self) -> None:
        classes = np.concatenate([np.zeros(0, np.int64), *self._waiting])
        self._waiting = []
        self._count_moments(np.ones(max(0, len(classes) - 1), dtype=np.bool_), classes)

    def _count_moments(self, same: Bools, classes: Ints) -> None:
        """Count tied events; same: [event] -> whether the next event has its key and time."""
        if not same.any():
            return
        in_tie = np.zeros(len(classes), dtype=np.bool_)
        in_tie[1:] |= same
        in_tie[:-1] |= same
        moments = np.concatenate(([0], np.cumsum(~same)))[in_tie]
        types = self._types.of_classes(classes[in_tie])
        self._count += int(np.count_nonzero(self._types.tied(moments, types)))
