"""Families: classes of events of one type whose moments may be composed with one another.

See `elsinore.trends.core.mixtures` for what is done with them. A class joins the family of its type
where its steps and the family's agree: a lane has one source, and no source is a lane that some
class of the family changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from elsinore.trends.core.mixtures import RUN_WORDS, SPAN_WORDS

FEW_LANES = 16  # of a family, that are brought up to date for an event without all others


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
        added: dict[int, tuple[int, bool]] = {}
        blocks: dict[int, int] = {}
        for run in runs:
            if self.loops.get(run.block, run.loop) != run.loop:
                return False
            for lane in range(run.lanes):
                added[run.cell + lane] = (run.source + (0 if run.one else lane), run.one)
                blocks[run.cell + lane] = run.block
        read = {source for source, _ in added.values()}
        if any(self.sources.get(cell, source) != source for cell, source in added.items()):
            return False
        if not (self.read | read).isdisjoint(self.sources.keys() | added.keys()):
            return False
        self.sources |= added
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
            source, from_one_cell = self.sources[cell]
            block = self.blocks[cell]
            following = spans[number + 1][0] if number + 1 < len(spans) else -1
            goes_on = following == cell + lanes and self.blocks[following] == block
            words += [block, cell, source, from_one_cell, lanes, self.loops[block], goes_on]
        if len(words) != 1 + SPAN_WORDS * len(spans):
            raise AssertionError("a span has other words than `mixtures` tells")
        return list(map(int, words))


class Touched:
    """Which lanes of families events touch that change and read some cells beside them."""

    def __init__(self, families: Sequence[tuple[int, Family]]) -> None:
        self._families = families  # each with where its words are
        self._lanes: dict[int, list[tuple[int, int]]] = {}  # cell -> family, itself its lane
        self._readers: dict[int, list[tuple[int, int]]] = {}  # cell -> family, lane it is added to
        self._begins: list[dict[int, int]] = []  # lane -> the first of those side by side
        for number, (_, family) in enumerate(families):
            begins: dict[int, int] = {}
            for cell in sorted(family.sources):
                beside = cell - 1 in begins and family.blocks[cell - 1] == family.blocks[cell]
                begins[cell] = begins[cell - 1] if beside else cell
                self._lanes.setdefault(cell, []).append((number, cell))
                self._readers.setdefault(family.sources[cell][0], []).append((number, cell))
            self._begins.append(begins)

    def words(self, steps: Iterable[Run]) -> list[int]:
        """Return what events touch that take such steps, as `core.mixtures` reads it."""
        cells, reads = set[int](), set[int]()
        for step in steps:
            cells.update(range(step.cell, step.cell + step.lanes))
            reads.update(range(step.source, step.source + (1 if step.one else step.lanes)))
        touched: dict[int, set[int]] = {}
        for found in (
            *(self._lanes.get(cell, ()) for cell in cells.union(reads)),
            *(self._readers.get(cell, ()) for cell in cells),
        ):
            for number, lane in found:
                touched.setdefault(number, set()).add(lane)
        runs: list[tuple[int, ...]] = []
        for number, lanes in touched.items():
            at, family = self._families[number]
            if len(lanes) > FEW_LANES:
                runs.append((at, *[0] * (RUN_WORDS - 1)))
                continue
            for cell, length in _spans(sorted(lanes), family.sources, family.blocks):
                block, (source, one) = family.blocks[cell], family.sources[cell]
                loop, begin = family.loops[block], self._begins[number][cell]
                runs.append((at, block, cell, source, one, length, loop, begin))
        words = [len(runs), *(int(word) for run in runs for word in run)]
        if len(words) != 1 + RUN_WORDS * len(runs):
            raise AssertionError("a run has other words than `mixtures` tells")
        return words


def _spans(
    cells: Iterable[int], sources: dict[int, tuple[int, bool]], blocks: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield the first cell and the length of stretches of lanes whose sources are alike."""
    first = last = -1
    for cell in cells:
        source, from_one_cell = sources[cell]
        if first >= 0 and cell == last + 1 and blocks[cell] == blocks[first]:
            before, alike = sources[last]
            if alike == from_one_cell and source == before + (not from_one_cell):
                last = cell
                continue
        if first >= 0:
            yield first, last + 1 - first
        first = last = cell
    if first >= 0:
        yield first, last + 1 - first
