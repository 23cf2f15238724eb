"""What the operators of one unit have in common: its layout, its sharing groups, its program.

Working these out takes a while where queries are many, and they say nothing of events. So they are
kept with the unit, one for each way of sharing, and whoever runs it again, in another thread, or
goes on from a saved state has them at once.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable, Sequence

from elsinore.model.collecting import without_collecting
from elsinore.model.expression import Expression
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.core.arrays import Ints
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Updates
from elsinore.trends.sharing.holders import SharedGroups
from elsinore.trends.sums.program import Program
from elsinore.trends.sums.store import TotalsShape

MANY_QUERIES = 500  # the collector of garbage waits while so many are compiled

_lock = threading.RLock()  # of what units keep, and of programs that classes are added to


class Prepared:
    """A unit's layout, groups, totals and program; classes are added as they occur, and stay."""

    def __init__(self, unit: TrendUnit, sharing: Sharing, rows: int | None = None) -> None:
        """Prepare a unit for a way of sharing; rows: of actions, see `Layout`."""
        self._types = unit.classes.types
        self._offsets = [classes.offset for classes in self._types]
        self._many = len(unit.templates) >= MANY_QUERIES
        self._places: dict[int, int] = {}  # by class, in the order in which they were added
        with without_collecting(self._many):
            self.updates = Updates(unit)
            self.layout = Layout(self.updates, rows)
            self.shared = SharedGroups(
                self.updates,
                self.layout,
                share=sharing is not Sharing.NEVER,
                all_of_them=sharing is Sharing.ALWAYS,
            )
            self.totals = TotalsShape.of(unit)
            self._program = Program(self.updates, self.layout, self.shared)

    @property
    def codes(self) -> list[int]:
        """The classes whose places are known, in the order that their places follow from."""
        with _lock:
            return list(self._places)

    @property
    def words(self) -> Ints:
        """The program, with all classes whose places are known; it is never written to."""
        return self._program.words

    @property
    def classes(self) -> int:
        """How many classes act on anything."""
        return self._program.classes

    def places(self, codes: Iterable[int]) -> list[int]:
        """Return where the program tells of classes, or OF_NO_INTEREST; new ones are added."""
        wanted = list(codes)
        with _lock, without_collecting(self._many):
            new = [code for code in dict.fromkeys(wanted) if code not in self._places]
            if new:
                places = self._program.add_classes(map(self._told, new))
                self._places |= zip(new, places, strict=True)
                self._program.freeze()
            return [self._places[code] for code in wanted]

    def _told(self, code: int) -> tuple[str, frozenset[Expression]]:
        """Return a class's type, and what is true of its events."""
        classes = self._types[bisect.bisect_right(self._offsets, code) - 1]
        return classes.type, classes.true(code)


def prepared(unit: TrendUnit, sharing: Sharing, codes: Sequence[int] = ()) -> Prepared:
    """Return what is prepared for a unit and a way of sharing, kept with the unit.

    codes: classes whose places must be as if they had been added first, in this order. Where what
    is kept has others, this one is apart.
    """
    with _lock:
        kept = unit.kept.get(sharing)
        if not isinstance(kept, Prepared):
            kept = unit.kept[sharing] = Prepared(unit, sharing)
        before = kept.codes
        if before[: len(codes)] != list(codes)[: len(before)]:
            kept = Prepared(unit, sharing)
        kept.places(codes)
    return kept
