"""The memory of a compiled machine: the streams' records and the heap, and how a batch is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.quantitative.lowered import heap, objects
from elsinore.quantitative.lowered.program import IDLE_BITS, Lowered, Words
from elsinore.quantitative.lowered.shapes import FRESH
from elsinore.quantitative.lowered.states import Heaped, States
from elsinore.quantitative.lowered.texts import Texts
from elsinore.quantitative.machine.walk import State

LARGE = 1 << 20  # rows given to a machine at a time
ROOM = 1 << 17  # words of the heap at first
STOPPED, TAKEN, SERIAL, FREE, RESULTS, SPARE = range(6)  # what a machine tells of its progress


class Memory:
    """The states of a query's streams, told by codes 0, 1, ..., and the machine that runs them.

    The states that are taken and given are those of the machine's program. `texts` numbers the
    texts, for all machines of a pipeline; `idle` tells by items' bits whether they change nothing,
    if that is known.
    """

    def __init__(self, machine: Lowered, texts: Texts, idle: Any = None) -> None:
        self.machine, self.texts = machine, texts
        self._idle = np.zeros(IDLE_BITS, np.uint8)
        if idle is not None:
            self._idle[: len(idle)] = idle
        self._words = machine.machine.record.words
        self._shapes, self._ranked = machine.shapes, -1  # and the order of so many texts
        self._records = self._fresh(1)  # the last one is where the machine keeps one it changes
        self._heap: Words = np.zeros(ROOM, np.int64)
        self._heap[objects.FREE] = objects.BEGIN
        self._journal: Words = np.zeros(ROOM >> 4, np.int64)
        self._entries: Words = np.zeros(ROOM >> 2, np.int64)
        self._serial = 0
        self.taken: Words = np.zeros(0, np.int64)  # items, by code

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self.taken)

    @property
    def nbytes(self) -> int:
        """How many bytes the states take."""
        return self._records.nbytes + int(self._heap[objects.FREE]) * 8

    @property
    def live(self) -> int:
        """How many words of the heap streams refer to; room is made of the others."""
        self._make_room(0)
        return int(self._heap[objects.FREE]) - objects.BEGIN

    def grow(self, count: int) -> None:
        """Make room for streams with codes below `count`."""
        had = self.count
        if had < count:
            added = max(count, 2 * had) - had
            kept = self._records[: had * self._words]
            self._records = np.concatenate([kept, self._fresh(added + 1)])
            self.taken = np.concatenate([self.taken, np.zeros(added, np.int64)])

    def keep_only(self, code: int) -> None:
        """Let go of all streams but one, which gets the code 0."""
        begin = code * self._words
        kept = self._records[begin : begin + self._words]
        self._records = np.concatenate([kept, self._fresh(1)])
        self.taken = self.taken[code : code + 1].copy()

    def changed(self) -> NDArray[np.bool_]:
        """Return, by code, whether a stream may continue otherwise than a new one does.

        False is certain. True is certain unless the machine keeps objects in the heap, or values
        that may be None.
        """
        records = self._records[: self.count * self._words].reshape(self.count, self._words)
        states = self._states()
        first = np.array(states.words(self.machine.program.begin()[0]), np.int64)
        self._heap = states.heaped.heap
        same = np.ones(self.count, bool)
        for place in states.read_words(first):
            same &= records[:, place] == first[place]
        same |= records[:, 0] == FRESH
        return np.logical_not(same)

    def forget(self, codes: NDArray[np.integer[Any]]) -> None:
        """Let streams be as new ones."""
        self._records[codes * self._words] = FRESH
        self.taken[codes] = 0

    def state(self, code: int) -> State | None:
        """Return a stream's state as stacks; None before its first item."""
        if self._records[code * self._words] == FRESH:
            return None
        return self._states().state(self._records, code * self._words)

    def put(self, code: int, state: State) -> None:
        """Take a state of stacks. Raises OverflowError where it cannot be held."""
        states = self._states()
        words = states.words(state)
        self._heap = states.heaped.heap
        begin = code * self._words
        self._records[begin : begin + self._words] = words

    def copy(self) -> tuple[Any, ...]:
        """Return the states, to go back to."""
        used = int(self._heap[objects.FREE])
        return self._records.copy(), self._heap[:used].copy(), self.taken.copy()

    def go_back(self, copy: tuple[Any, ...]) -> None:
        """Let the states be what they were when they were copied."""
        self._records, used, self.taken = copy
        self._heap[: len(used)] = used

    def run(
        self, bits: Any, codes: Any, arrays: Sequence[Any]
    ) -> tuple[Any, list[Words], list[pa.Array], int | None]:
        """Take items of streams that there are.

        Returns after which of them there are values, the values as words and as Arrow arrays, and
        the item at which the machine raised, if it did: the states are those before it.
        """
        machine, progress = self.machine, np.zeros(8, np.int64)
        bits = np.ascontiguousarray(bits, machine.program.bits.kind)
        codes = np.ascontiguousarray(codes, np.int32)
        self._rank_texts()
        places: list[Any] = []
        words: list[Words] = []
        values: list[pa.Array] = []
        if not len(bits):
            none = machine.no_values()
            return none[:, 0], [none], [machine.values(none, self.texts)], None
        begin, stopped, had_room = 0, None, -1
        while begin < len(bits) and stopped is None:
            stop = min(begin + LARGE, len(bits))
            outputs = np.empty((stop - begin) * machine.words, np.int64)
            after = np.empty(stop - begin, np.int64)
            self._entries[objects.FREE] = objects.LISTED
            progress[SERIAL] = self._serial  # another one for an item that is taken again
            self._serial += len(bits)
            stopped = self._run(outputs, after, progress, bits, codes, begin, stop, arrays)
            number = int(progress[TAKEN])
            rows = outputs.reshape(machine.words, stop - begin)[:, :number].T
            if number < len(after) // 2:  # few values do not keep room for many
                rows, after = rows.copy(), after[:number].copy()
            places.append(after[:number])
            words.append(rows)
            values.append(machine.values(rows, self.texts, self._entries))
            begin = int(progress[STOPPED])
            if stopped == begin and self._made_room(again=had_room == begin):
                stopped, had_room = None, begin
        return np.concatenate(places), words, values, stopped

    def _rank_texts(self) -> None:
        """Let compiled code know the order of the texts, where it asks for it."""
        if self.machine.machine.context.orders_texts and self._ranked != len(self.texts):
            self._ranked = len(self.texts)
            self._shapes = np.concatenate([self.machine.shapes, self.texts.ranks()])
            self._shapes[objects.RANKS] = len(self.machine.shapes)

    def _run(
        self,
        outputs: Words,
        after: Words,
        progress: Words,
        bits: Any,
        codes: Any,
        begin: int,
        stop: int,
        arrays: Sequence[Any],
    ) -> int | None:
        for words in (self._heap, self._journal, self._entries):
            words[objects.END] = len(words)
        memory = self._records, self._heap, self._journal, self._shapes, outputs, self._entries
        progress[STOPPED], progress[TAKEN] = begin, 0
        progress[SPARE] = len(self._records) - self._words
        try:
            given = [*memory, after, progress, self.taken, codes, self._idle, bits, *arrays]
            self.machine.call(given, begin, stop)
        except Exception:
            at = int(progress[STOPPED])
            self.taken[codes[at]] -= 1
            record = int(codes[at]) * self._words
            self._records[record : record + self._words] = self._records[-self._words :]
            if self.machine.has_objects:
                heap.undo(self._heap, self._journal)
                self._heap[objects.FREE] = progress[FREE]
                self._entries[objects.FREE] = progress[RESULTS]
            return at
        return None

    def _made_room(self, *, again: bool) -> bool:
        """Make room where that is why the machine stopped; return whether it was.

        again: room was made for this item already, which needs more than it could say.
        """
        needed = int(self._heap[objects.NEED])
        if needed:
            self._make_room(max(needed, len(self._heap)) if again else needed)
        elif self._journal[1]:
            self._journal = _longer(self._journal, int(self._journal[1]))
        elif self._entries[1]:
            self._entries = _longer(self._entries, int(self._entries[1]))
        else:
            return False
        self._journal[1] = self._entries[1] = 0
        return True

    def _make_room(self, needed: int) -> None:
        """Leave behind what no stream refers to; take a larger heap where that is little."""
        shapes, old = self.machine.shapes, self._heap
        fresh: Words = np.empty(len(old), np.int64)
        heap.compact(self._records, self.count, self._words, shapes, old, fresh)
        used = int(fresh[objects.FREE])
        if 2 * (used + needed) > len(fresh):
            larger: Words = np.empty(3 * (used + needed), np.int64)
            larger[:used] = fresh[:used]
            fresh = larger
        self._heap = fresh

    def _fresh(self, count: int) -> Words:
        records: Words = np.zeros((count, self._words), np.int64)
        records[:, 0] = FRESH
        return records.reshape(-1)

    def _states(self) -> States:
        heaped = Heaped(self._heap, self.machine.shapes, self.machine.classes, self.texts)
        return States(self.machine.machine, heaped)


def _longer(words: Words, needed: int) -> Words:
    return np.concatenate([words, np.zeros(len(words) + needed, np.int64)])
