"""States of compiled machines as stacks of Python's values, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from elsinore.quantitative.approximate import ExponentialHistogram
from elsinore.quantitative.lowered import heap as of_machines
from elsinore.quantitative.lowered import objects as h
from elsinore.quantitative.lowered.code_of_tables import GREATEST_WORD
from elsinore.quantitative.lowered.emit import Compiled
from elsinore.quantitative.lowered.texts import Text, Texts
from elsinore.quantitative.lowered.words import (
    Marks,
    Numbers,
    Ordered,
    Panes,
    Threads,
    load,
    size,
    words_of,
)
from elsinore.quantitative.machine.evaluate import Keys
from elsinore.quantitative.machine.walk import State
from elsinore.quantitative.nodes import Window
from elsinore.quantitative.versions import Bag, Counts


@dataclass(slots=True)
class Heaped:
    """A heap that Python reads, and writes objects to; it is another one once it has grown."""

    heap: Any
    shapes: Any
    classes: Mapping[Any, type]
    texts: Texts

    def allocate(self, kind: int, words: int) -> int:
        """Return the place of a new object, all 0."""
        free = int(self.heap[h.FREE])
        if free + words > len(self.heap):
            self.heap = np.concatenate([self.heap, np.zeros(free + words, np.int64)])
        self.heap[h.FREE] = free + words
        self.heap[free : free + words] = 0
        self.heap[free + h.KIND], self.heap[free + h.SIZE] = kind, words
        return free

    def entries(self, table: int, stride: int) -> range:
        """Return the places of a table's entries."""
        start = table + h.ENTRIES + int(self.heap[table + h.CAPACITY])
        return range(start, start + int(self.heap[table + h.COUNT]) * stride, stride)

    def new_table(self, kind: int, count: int, stride: int) -> int:
        """Return the place of a new table with room for so many entries."""
        capacity = h.LEAST
        while capacity // 2 <= count:
            capacity *= 2
        table = self.allocate(kind, h.ENTRIES + capacity + capacity // 2 * stride)
        self.heap[table + h.CAPACITY] = capacity
        return table

    def add_entry(self, table: int, stride: int, key: list[int]) -> int:
        """Add an entry to a table with room; return its place."""
        journal = np.zeros(64, np.int64)
        journal[h.FREE], journal[h.END] = h.LISTED, len(journal)
        self.heap[h.SCRATCH : h.SCRATCH + len(key)] = key
        return of_machines.placed_entry(self.heap, journal, table, stride, len(key))


class States:
    """Reads and writes the states of a machine."""

    def __init__(self, machine: Compiled, heaped: Heaped) -> None:
        self._machine, self.heaped = machine, heaped
        self._collectors = {machine.number(place): place for place in machine.inner}
        self._windows = {
            machine.types.window(place): place.window
            for place in machine.layout.places
            if isinstance(place.node, Window)
        }
        self._known: dict[int, Keys] = {}
        self._placed: dict[int, int] = {}

    # --- to stacks ------------------------------------------------------------------------------

    def state(self, memory: Any, at: int) -> State:
        """Return the stacks that the words at a place are, none of which is fresh."""
        record = self._machine.record
        stacks: list[Any] = []
        for (word, bit), values in zip(record.flags, record.values, strict=True):
            if not memory[at + word] & bit:
                stacks.append(None)
                continue
            stacks.append(tuple(self._load(memory, at + to, kind) for to, kind in values))
        return tuple(stacks)

    def _load(self, memory: Any, at: int, kind: Any) -> Any:
        return load(memory, at, kind, self.heaped.classes, self._grown)

    def _grown(self, kind: Any, at: int) -> Any:
        match kind:
            case Threads(number):
                return self._keys(number, at)
            case Numbers(key):
                return self._counts(key, at)
            case Ordered():
                return self._in_order(kind, at)
            case Panes():
                return self._panes(kind, at)
            case Marks():
                return self._marks(kind, at)
            case Text():
                return self.heaped.texts.text(at)
            case _:
                raise TypeError(f"no value that is kept: {kind}")

    def _keys(self, number: int, at: int) -> Keys:
        if at in self._known:
            return self._known[at]
        place = self._collectors[number]
        inner, keyed = self._machine.inner[place], self._machine.program.keyed[place.number]
        heap = self.heaped.heap
        states = States(inner, self.heaped)
        _, _, words, stride = self._machine.kinds_of_keys(place)
        kind = self._machine.types.key(place)
        threads_by_key: dict[Any, Any] = {}
        for entry in self.heaped.entries(int(heap[at + h.TABLE]), stride):
            key = load(heap, entry, kind, self.heaped.classes, self._grown)
            threads_by_key[key] = states.alive(heap, entry + words)
        self._known[at] = threads = Keys(keyed, states.alive(heap, at + h.IDLE), threads_by_key)
        return threads

    def alive(self, memory: Any, at: int) -> State:
        """Return the state of a key; what it holds is its own."""
        self._known = {}
        return self.state(memory, at)

    def _counts(self, key: Any, at: int) -> Counts:
        if at == 0:
            return Counts()
        words, heap = size(key), self.heaped.heap
        counts = {}
        for entry in self.heaped.entries(at, words + 1):
            if heap[entry + words]:
                counted = load(heap, entry, key, self.heaped.classes, self._grown)
                counts[counted] = int(heap[entry + words])
        return Counts(counts)

    def _in_order(self, kind: Ordered, at: int) -> Bag:
        if at == 0:
            return Bag()
        heap = self.heaped.heap
        lows, capacity = at + h.IN_ORDER, int(heap[at + h.CAPACITY])
        lower = heap[lows : lows + int(heap[at + h.LOWER])]
        upper = ~heap[lows + capacity : lows + capacity + int(heap[at + h.UPPER])]
        words = np.concatenate([lower, upper])
        if kind.value == types.float64:
            words ^= (words >> 63) & GREATEST_WORD
            return Bag(words.view(np.float64).tolist())
        return Bag(words.tolist())

    def _place_in_order(self, kind: Ordered, bag: Bag) -> int:
        values = bag.in_order()
        if not values:
            return 0
        words = np.array([words_of(v, kind.value, self._place)[0] for v in values], np.int64)
        if kind.value == types.float64:
            words ^= (words >> 63) & GREATEST_WORD
        lower = int(kind.fraction * (len(words) - 1)) + 1
        capacity = max(h.LEAST, 2 * len(words))
        at = self.heaped.allocate(self._machine.kind_of(kind), h.IN_ORDER + 2 * capacity)
        heap, lows = self.heaped.heap, at + h.IN_ORDER
        heap[at + h.CAPACITY] = capacity
        heap[at + h.LOWER], heap[at + h.UPPER] = lower, len(words) - lower
        heap[lows : lows + lower] = words[:lower][::-1]  # in this order they are binary heaps
        heap[lows + capacity : lows + capacity + len(words) - lower] = ~words[lower:]
        return at

    def _panes(self, kind: Panes, at: int) -> tuple[Any, ...]:
        window, heap = self._windows[kind], self.heaped.heap
        if at == 0:
            return window.empty
        whole, width = size(kind.accumulator), size(kind.value)
        capacity = int(heap[at + h.CAPACITY])
        if kind.how == "ring":
            first, filled = int(heap[at + h.FIRST]), int(heap[at + h.FILLED])
            begin = at + h.RING + whole
            slots = [begin + (first + n) % capacity * width for n in range(filled)]
            values = [self._load(heap, slot, kind.value) for slot in slots]
            return values, 0, filled, self._load(heap, at + h.RING, kind.accumulator)
        begin = at + h.STACKS + whole
        done, older, newer = (int(heap[at + word]) for word in (h.DONE, h.OLDER, h.NEWER))
        joined = self._load(heap, at + h.STACKS, kind.accumulator) if newer else None
        places = range(begin + done * whole, begin + older * whole, whole)
        totals = [self._load(heap, place, kind.accumulator) for place in places]
        begin += capacity * whole
        values = [self._load(heap, begin + n * width, kind.value) for n in range(newer)]
        return totals, 0, values, newer, joined

    def _marks(self, kind: Marks, at: int) -> tuple[Any, ...]:
        window, heap = self._windows[kind], self.heaped.heap
        if at == 0:
            return window.empty
        levels, each = _levels(window)
        buckets: list[tuple[int, int]] = []
        for level in range(levels):
            first, count = heap[at + h.BUCKETS + 2 * level : at + h.BUCKETS + 2 * level + 2]
            ring = at + h.BUCKETS + 2 * levels + level * each
            slots = [ring + (int(first) + n) % each for n in reversed(range(int(count)))]
            buckets += [(int(heap[slot]), 1 << level) for slot in slots]
        return int(heap[at + h.NUMBER]), int(heap[at + h.TOTAL]), tuple(buckets)

    def read_words(self, words: Any) -> list[int]:
        """Return the places of the words of a state that tell how it continues.

        Those are the flags, and what is kept at the atoms at which threads wait.
        """
        record = self._machine.record
        places = list(range(record.flag_words))
        for (word, bit), values in zip(record.flags, record.values, strict=True):
            if words[word] & bit:
                for offset, kind in values:
                    places += range(offset, offset + size(kind))
        return places

    # --- from stacks ----------------------------------------------------------------------------

    def words(self, state: State) -> list[int]:
        """Return the words of a state. Raises OverflowError for what compiled code cannot hold."""
        record = self._machine.record
        words = [0] * record.words
        for (word, bit), values, stack in zip(record.flags, record.values, state, strict=True):
            if stack is None:
                continue
            words[word] |= bit
            for (offset, kind), value in zip(values, stack, strict=True):
                words[offset : offset + size(kind)] = words_of(value, kind, self._place)
        return words

    def _place(self, kind: Any, value: Any) -> int:
        match kind:
            case Threads(number):
                return self._place_keys(number, value)
            case Numbers(key):
                return self._place_counts(kind, key, value)
            case Ordered():
                return self._place_in_order(kind, value)
            case Panes():
                return self._place_panes(kind, value)
            case Marks():
                return self._place_marks(kind, value)
            case Text():
                return self.heaped.texts.number(value)
            case _:
                raise TypeError(f"no value that is kept: {kind}")

    def _place_keys(self, number: int, threads: Keys) -> int:
        if id(threads) in self._placed:
            return self._placed[id(threads)]
        place = self._collectors[number]
        inner = self._machine.inner[place]
        kind, of_table, words, stride = self._machine.kinds_of_keys(place)
        key = self._machine.types.key(place)
        idle, states = threads.idle, threads.states
        heaped = self.heaped
        inner_states = States(inner, heaped)
        table = heaped.new_table(of_table, len(states), stride)
        for value, state in states.items():
            placed = inner_states.words_alive(state)
            entry = heaped.add_entry(table, stride, words_of(value, key, self._place))
            heaped.heap[entry + words : entry + words + len(placed)] = placed
            heaped.heap[entry + words + inner.told] = -1
        placed = inner_states.words_alive(idle)
        at = heaped.allocate(kind, h.IDLE + inner.total)
        heaped.heap[at + h.SERIAL] = -1
        heaped.heap[at + h.TABLE] = table
        heaped.heap[at + h.IDLE : at + h.IDLE + len(placed)] = placed
        self._placed[id(threads)] = at
        return at

    def words_alive(self, state: State) -> list[int]:
        """Return the words of the state of a key."""
        self._placed = {}
        return self.words(state)

    def _place_counts(self, kind: Any, key: Any, counts: Any) -> int:
        if not counts:
            return 0
        words, heaped = size(key), self.heaped
        table = heaped.new_table(self._machine.kind_of(kind), len(counts), words + 1)
        for value, number in counts.items():
            entry = heaped.add_entry(table, words + 1, words_of(value, key, self._place))
            heaped.heap[entry + words] = number
        return table

    def _place_panes(self, kind: Panes, state: tuple[Any, ...]) -> int:
        whole, width, heaped = size(kind.accumulator), size(kind.value), self.heaped
        number = self._machine.kind_of(kind)
        if kind.how == "ring":
            values, first, beyond, total = state
            kept = [words_of(v, kind.value, self._place) for v in values[first:beyond]]
            if not kept:
                return 0
            joined = words_of(total, kind.accumulator, self._place)
            capacity = min(kind.size, max(h.LEAST, len(kept)))
            at = heaped.allocate(number, h.RING + whole + capacity * width)
            heaped.heap[at + h.CAPACITY], heaped.heap[at + h.FILLED] = capacity, len(kept)
            heaped.heap[at + h.RING : at + h.RING + whole] = joined
            begin = at + h.RING + whole
            for n, part in enumerate(kept):
                heaped.heap[begin + n * width : begin + (n + 1) * width] = part
            return at
        older, first, newer, count, joined = state
        totals = [words_of(v, kind.accumulator, self._place) for v in older[first:]]
        kept = [words_of(v, kind.value, self._place) for v in newer[:count]]
        if not totals and not kept:
            return 0
        capacity = min(kind.size, max(h.LEAST, len(totals), len(kept)))
        at = heaped.allocate(number, h.STACKS + whole + capacity * (whole + width))
        heaped.heap[at + h.CAPACITY] = capacity
        heaped.heap[at + h.OLDER], heaped.heap[at + h.NEWER] = len(totals), len(kept)
        if kept:
            words = words_of(joined, kind.accumulator, self._place)
            heaped.heap[at + h.STACKS : at + h.STACKS + whole] = words
        begin = at + h.STACKS + whole
        for n, part in enumerate(totals):
            heaped.heap[begin + n * whole : begin + (n + 1) * whole] = part
        begin += capacity * whole
        for n, part in enumerate(kept):
            heaped.heap[begin + n * width : begin + (n + 1) * width] = part
        return at

    def _place_marks(self, kind: Marks, state: tuple[Any, ...]) -> int:
        number, total, buckets = state
        if number == 0:
            return 0
        levels, each = _levels(self._windows[kind])
        heaped = self.heaped
        at = heaped.allocate(self._machine.kind_of(kind), h.BUCKETS + levels * (each + 2))
        heaped.heap[at + h.NUMBER], heaped.heap[at + h.TOTAL] = number, total
        for place, width in reversed(buckets):
            level = width.bit_length() - 1
            count = at + h.BUCKETS + 2 * level + 1
            ring = at + h.BUCKETS + 2 * levels + level * each
            heaped.heap[ring + int(heaped.heap[count])] = place
            heaped.heap[count] += 1
        return at


def _levels(window: Any) -> tuple[int, int]:
    """Return how many levels a histogram of marks has, and for how many buckets of a size."""
    assert isinstance(window, ExponentialHistogram)
    return window.size.bit_length() + 2, max(window.most(1), window.most(2)) + 1
