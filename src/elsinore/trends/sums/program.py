"""The program: all that the kernels read of a unit's queries, as one array of whole numbers.

Its first words tell where the lists of kinds of windows, of sharing groups and of blocks are; what
each class of events does is added behind when such an event first occurs: of the many classes that
predicates could make, few do. Classes that differ in addresses alone, as those of many queries of
one form do, are written as columns (`elsinore.trends.sums.class_words`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.totals import PAIRS
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Updates
from elsinore.trends.sharing.bursts import GROUPS
from elsinore.trends.sharing.holders import SharedGroups
from elsinore.trends.sums.class_layout import BLOCKS, FAMILY, TOUCHES
from elsinore.trends.sums.class_words import ClassWords, Deed
from elsinore.trends.sums.families import FEW_LANES, Family, Run, Touched
from elsinore.trends.sums.run import OF_NO_INTEREST
from elsinore.trends.sums.windows import KINDS

_HEAD = max(KINDS, GROUPS, BLOCKS) + 1


class Program:
    """Words for the kernels; `words` is their array, and grows."""

    def __init__(self, updates: Updates, layout: Layout, sharing: SharedGroups) -> None:
        self._updates = updates
        self._layout = layout
        self._sharing = sharing
        self._families: dict[str, Family] = {}  # by the type of events
        self._beside: dict[int, list[Run]] = {}  # of classes of few lanes, that may touch families
        self._various = {of_type.type for of_type in updates.unit.classes.types if of_type.digits}
        self.classes = 0
        words = [0] * _HEAD
        words[BLOCKS] = len(words)
        for block in layout.blocks:
            words += [
                block.cell,
                block.width * block.sums,
                block.extreme,
                block.width * block.extremes,
            ]
        places, (groups, holders) = sharing.words(len(words))
        words += places
        words[GROUPS] = _list(words, groups)
        kinds = [self._kind(words, number, holders) for number in range(len(layout.kinds))]
        words[KINDS] = len(words)
        words += [len(kinds), *(word for kind in kinds for word in kind)]
        self._class_words = ClassWords(updates, layout, sharing, groups, holders)
        self._added: list[NDArray[np.int64]] = []  # words of classes since they were last frozen
        self._length = self._frozen = len(words)
        self.words: NDArray[np.int64] = np.array(words, dtype=np.int64)

    def freeze(self) -> None:
        """Bring `words` up to date with the classes that were added.

        Families, and what is touched of them, come behind all classes: these stay where they are,
        whenever they are added.
        """
        known = self.words[: self._frozen]
        at = self._frozen = self._length
        families = [family_of for family_of in self._families.values() if len(family_of.places) > 1]
        word_lists = [np.array(family.words(), dtype=np.int64) for family in families]
        begins = [at, *(at + np.cumsum([len(words) for words in word_lists])).tolist()]
        if families:
            touched = Touched(list(zip(begins, families, strict=False)))
            touches = [np.array(touched.words(runs)) for runs in self._beside.values()]
            behind = begins[-1] + np.cumsum([0, *(len(words) for words in touches)])
            word_lists += touches
        self.words = np.concatenate([known, *self._added, *word_lists])
        self._added = []
        for family, begin in zip(families, begins, strict=False):
            self.words[np.array(family.places) + FAMILY] = begin
        if families and self._beside:
            self.words[np.array(list(self._beside)) + TOUCHES] = behind[:-1]

    def add_classes(self, classes: Iterable[tuple[str, frozenset[Expression]]]) -> list[int]:
        """Add what classes of events do, told by types and what is true of their events.

        Returns where each is, or OF_NO_INTEREST. They stand in their order, whichever are alike.
        """
        class_places: list[int] = []
        alike: dict[object, list[int]] = {}  # by what they agree in -> their numbers in `deeds`
        deeds: list[Deed] = []
        places: list[int] = []  # of each deed in `found`
        for type_name, true in classes:
            deed = self._deed(type_name, true)
            if deed is not None:
                alike.setdefault(self._class_words.key_of(deed) or len(deeds), []).append(
                    len(deeds)
                )
                deeds.append(deed)
                places.append(len(class_places))
            class_places.append(OF_NO_INTEREST)
        written = [
            (
                np.array(several),
                self._class_words.of([deeds[n] for n in several], self.classes + np.array(several)),
            )
            for several in alike.values()
        ]
        lengths = np.zeros(len(deeds) + 1, dtype=np.int64)
        for several, words in written:
            lengths[several + 1] = words.length
        begins = np.cumsum(lengths)
        added = np.empty(begins[-1], dtype=np.int64)
        runs: dict[int, tuple[int, list[Run]]] = {}
        for several, words in written:
            words.put(added, begins[several], self._length)
            heads = self._length + begins[several] + words.head
            for n, (number, at) in enumerate(zip(several.tolist(), heads.tolist(), strict=True)):
                class_places[places[number]] = at
                if words.steps is not None and self._various:
                    runs[number] = at, words.runs(n)
        for number, (at, several_runs) in sorted(runs.items()):
            if deeds[number].type in self._various:
                self._families.setdefault(deeds[number].type, Family()).join(at, several_runs)
            if sum(run.lanes for run in several_runs) <= FEW_LANES:
                self._beside[at] = several_runs
        self._added.append(added)
        self._length += len(added)
        self.classes += len(deeds)
        return class_places

    def _deed(self, type_name: str, true: frozenset[Expression]) -> Deed | None:
        """Return what a class of events does, if anything."""
        updates = self._updates.updates(type_name, true)
        resets = self._updates.resets(type_name, true)
        if not updates and not resets:
            return None
        sections = self._sharing.sections(updates, resets, type_name, true)
        return Deed(type_name, updates, resets, sections)

    def _kind(self, words: list[int], number: int, holders: Sequence[int]) -> list[int]:
        """Add the lists of a kind of window to words; return those of the kind."""
        window, layout = self._updates.windows[number], self._layout
        place, kind_of = layout.kinds[number], self._updates.kind_of
        unit = self._updates.unit
        seeds = [n for n in unit.merged.seeds if kind_of[n] == number]
        queries: list[int] = []
        chosen = [q for q, template in enumerate(unit.templates) if template.query.window == window]
        for query in chosen:
            ends = unit.merged.ends[query]
            queries += [query, PAIRS if ends.pairs else len(ends.linear), len(ends.extremes)]
            for places in ends.linear:
                queries += [len(places), *(layout.cell_of(*template) for template in places)]
            for places in ends.extremes:
                queries += [len(places), *(layout.extreme_of(*template) for template in places)]
        at = len(words)
        words += [len(chosen), *queries]
        mine = [
            holder
            for holder, node in zip(holders, self._sharing.nodes, strict=True)
            if kind_of[node] == number
        ]
        numbers = (
            (int(FOREVER), 1, 0) if window is None else (window.within, window.step, window.origin)
        )
        return [
            *numbers,
            layout.overlaps[number],
            place.cell,
            place.last_cell,
            place.extreme,
            place.last_extreme,
            place.open,
            _list(words, [layout.cell_of(seed, 0) for seed in seeds]),
            at,
            _list(words, mine),
        ]


def _list(words: list[int], listed: Sequence[int]) -> int:
    """Add a list to words, its length first; return where it is."""
    at = len(words)
    words += [len(listed), *listed]
    return at
