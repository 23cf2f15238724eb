"""Families: classes of events of one type whose moments may be composed with one another.

See `elsinore.trends.core.mixtures` for what is done with them. A class joins the family of its type
where its steps and the family's agree: a lane has one source, and no source is a lane that some
class of the family changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from elsinore.trends.core.mixtures import SPAN_WORDS


@dataclass(frozen=True, slots=True)
class Run:
    """What a step that can be repeated does: which lanes it changes, by which source."""

    block: int
    cell: int
    lanes: int
    source: int
    one: bool  # the source is one cell for all lanes
    loop: bool


@dataclass(slots=True)
class Family:
    """Classes whose moments may be composed; `places` are those of their words."""

    places: list[int] = field(default_factory=list)
    sources: dict[int, tuple[int, bool]] = field(default_factory=dict)  # lane's cell -> source, one
    loops: dict[int, bool] = field(default_factory=dict)  # block -> its lanes are predecessors
    blocks: dict[int, int] = field(default_factory=dict)  # lane's cell -> block
    read: set[int] = field(default_factory=set)
    first: tuple[int, Sequence[Run]] | None = None  # a class that is alone so far

    def join(self, place: int, runs: Sequence[Run]) -> bool:
        """Add a class, the place of whose words is given; return whether it agrees."""
        if not self.places and self.first is None:
            self.first = place, runs
            return True
        if self.first is not None:
            first, self.first = self.first, None
            self._add(*first)
        return self._add(place, runs)

    def _add(self, place: int, runs: Sequence[Run]) -> bool:
        told: dict[int, tuple[int, bool]] = {}
        blocks: dict[int, int] = {}
        for run in runs:
            if self.loops.get(run.block, run.loop) != run.loop:
                return False
            for lane in range(run.lanes):
                told[run.cell + lane] = (run.source + (0 if run.one else lane), run.one)
                blocks[run.cell + lane] = run.block
        read = {source for source, _ in told.values()}
        if any(self.sources.get(cell, source) != source for cell, source in told.items()):
            return False
        if not (self.read | read).isdisjoint(self.sources.keys() | told.keys()):
            return False
        self.sources |= told
        self.blocks |= blocks
        self.loops |= {run.block: run.loop for run in runs}
        self.read |= read
        self.places.append(place)
        return True

    def words(self) -> list[int]:
        """Return the family's words, as `core.mixtures` reads them."""
        spans = list(_spans(sorted(self.sources), self.sources, self.blocks))
        words = [len(spans)]
        for number, (cell, lanes) in enumerate(spans):
            source, one = self.sources[cell]
            block = self.blocks[cell]
            following = spans[number + 1][0] if number + 1 < len(spans) else -1
            goes_on = following == cell + lanes and self.blocks[following] == block
            words += [block, cell, source, one, lanes, self.loops[block], goes_on]
        if len(words) != 1 + SPAN_WORDS * len(spans):
            raise AssertionError("a span has other words than `mixtures` tells")
        return list(map(int, words))


def _spans(
    cells: Iterable[int], sources: dict[int, tuple[int, bool]], blocks: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield the first cell and the length of stretches of lanes whose sources are alike."""
    first = last = -1
    for cell in cells:
        source, one = sources[cell]
        if first >= 0 and cell == last + 1 and blocks[cell] == blocks[first]:
            before, alike = sources[last]
            if alike == one and source == before + (not one):
                last = cell
                continue
        if first >= 0:
            yield first, last + 1 - first
        first = last = cell
    if first >= 0:
        yield first, last + 1 - first
