# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The heap of compiled machines: values that grow, as words of 64 bits in one array.

What has a fixed size lies in a machine's records; tables, windows and the threads of keys are
objects here, and a record holds the place of one, 0 for none. An object is changed in place where
nothing else refers to it, and copied first where something does. What is overwritten while an item
is taken is written to a journal, so that an item can be taken back: where a user's function raises,
and where there is no more room. Then room is made: what records refer to is copied to another
array, and everything else is left behind (Cheney, A Nonrecursive List Compacting Algorithm, 1970).

The heap's first words say where free words begin, how many more were asked for, and where it ends;
`SCRATCH` is where keys lie that are looked up. The journal's, and those of results, say how much is
used, how much more was asked for, and where they end. Machines pass pointers, which know no size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel

Words = NDArray[np.int64]
ONE = np.int64(1)  # a written 1 would have kernels compiled for itself
FREE, NEED, END = 0, 1, 2  # of the heap, the journal, and results
LISTED = 3  # where what is listed in a journal, or among results, begins
SCRATCH, BEGIN = 8, 40  # of the heap
KIND, SIZE, SHARED = 0, 1, 2  # of every object; shared: other objects refer to it
CAPACITY, COUNT, GONE, ENTRIES = 3, 4, 5, 6  # of a table: an index of places, then entries
SERIAL, TABLE, IDLE = 3, 4, 5  # of keys' threads: the last item, their table, the idle keys' record
FIRST, FILLED, RING = 4, 5, 6  # of a ring: capacity, first, filled; accumulator, values
DONE, OLDER, NEWER, STACKS = 4, 5, 6, 7  # of two stacks: older[done:], and how many are newer
LOWER, UPPER, IN_ORDER = 4, 5, 6  # of numbers in order: how many are in either heap, then they
NUMBER, TOTAL, BUCKETS = 3, 4, 5  # of a histogram of marks: then each level's first and number
SHAPE = 8  # words that tell of a kind of objects
RANKS = 7  # of the words of all kinds: where the places of texts begin
WHOLE, DOUBLES, TEXTS = 0, 1, 2  # what keys are
CELLS = 1 << 60  # more than places of cells have; its sign is the cell's
TABLES, THREADS, RINGS, PLAIN = 0, 1, 2, 3  # shapes
LEAST = 8  # entries or values that there is room for at first


@kernel(borrows=True, linked=True, rare=True)
def allocate(heap: Words, kind: int, size: int) -> int:
    """Return the place of a new object, all 0."""
    at = heap[FREE]
    if at + size > heap[END]:
        heap[NEED] = size
        raise MemoryError
    heap[FREE] = at + size
    for word in range(at, at + size):
        heap[word] = 0
    heap[at + KIND] = kind
    heap[at + SIZE] = size
    return at


@kernel(borrows=True, linked=True)
def keep(heap: Words, journal: Words, at: int, size: int) -> None:
    """Write to the journal what some words are, before they are changed."""
    used = journal[0]
    if used + size + 2 > journal[END]:
        journal[1] = size + 2
        raise MemoryError
    for word in range(size):
        journal[used + word] = heap[at + word]
    journal[used + size] = at
    journal[used + size + 1] = size
    journal[0] = used + size + 2


@kernel(borrows=True)
def undo(heap: Words, journal: Words) -> None:
    """Make all words what they were before the item."""
    used = journal[0]
    while used > LISTED:
        size = journal[used - 1]
        at = journal[used - 2]
        used -= size + 2
        for word in range(size):
            heap[at + word] = journal[used + word]
    journal[0] = LISTED


@kernel(borrows=True, linked=True, rare=True)
def room(results: Words, size: int) -> int:
    """Return the place for more words of results."""
    at = results[0]
    if at + size > results[END]:
        results[1] = size
        raise MemoryError
    results[0] = at + size
    return at


@kernel(borrows=True, linked=True)
def share(heap: Words, journal: Words, at: int) -> int:
    """Note that another object refers to one, which is copied then before it is changed."""
    if at != 0 and heap[at + SHARED] == 0:
        keep(heap, journal, at + SHARED, ONE)
        heap[at + SHARED] = 1
    return at


@kernel(borrows=True, linked=True)
def owned(heap: Words, journal: Words, shapes: Words, at: int, shared: int) -> int:
    """Return an object that may be changed: itself, or a copy where it is shared."""
    if at == 0 or (not shared and heap[at + SHARED] == 0):
        return at
    size = heap[at + SIZE]
    copy = allocate(heap, heap[at + KIND], size)
    for word in range(SHARED + 1, size):
        heap[copy + word] = heap[at + word]
    shape = heap[at + KIND] * SHAPE
    _share_all(heap, journal, shapes, copy, shapes[shape + 3], shapes[shape + 4])
    start, number = _elements(heap, shapes, copy)
    if shapes[shape + 6]:
        for entry in range(number):
            place = start + entry * shapes[shape + 1]
            _share_all(heap, journal, shapes, place, shapes[shape + 5], shapes[shape + 6])
    return copy


@kernel(borrows=True, linked=True, rare=True)
def _share_all(
    heap: Words, journal: Words, shapes: Words, at: int, begin: int, number: int
) -> None:
    for one in range(begin, begin + 3 * number, 3):
        flags = shapes[one + 1]
        if flags < 0 or heap[at + flags] & shapes[one + 2]:
            share(heap, journal, heap[at + shapes[one]])


@kernel(borrows=True, linked=True, rare=True)
def _elements(heap: Words, shapes: Words, at: int) -> tuple[int, int]:
    """Return where an object's entries begin, and how many there are."""
    shape = heap[at + KIND] * SHAPE
    if shapes[shape] == TABLES:
        return at + ENTRIES + heap[at + CAPACITY], heap[at + COUNT]
    if shapes[shape] == RINGS:
        return at + RING + shapes[shape + 2], heap[at + CAPACITY]
    return at, 0


# --- room ---------------------------------------------------------------------------------------


@kernel(borrows=True)
def compact(
    records: Words, count: int, words: int, shapes: Words, heap: Words, fresh: Words
) -> None:
    """Copy what records refer to into another heap, and let the records refer to the copies."""
    for word in range(BEGIN):
        fresh[word] = 0
    fresh[FREE] = BEGIN
    for record in range(count):
        _move_all(heap, fresh, shapes, records, record * words, shapes[5], shapes[6])
    at = BEGIN
    while at < fresh[FREE]:
        shape = fresh[at + KIND] * SHAPE
        _move_all(heap, fresh, shapes, fresh, at, shapes[shape + 3], shapes[shape + 4])
        if shapes[shape + 6]:
            start, number = _elements(fresh, shapes, at)
            for entry in range(number):
                place = start + entry * shapes[shape + 1]
                _move_all(heap, fresh, shapes, fresh, place, shapes[shape + 5], shapes[shape + 6])
        at += fresh[at + SIZE]


@kernel(borrows=True, linked=True)
def _move_all(
    heap: Words, fresh: Words, shapes: Words, memory: Words, at: int, begin: int, number: int
) -> None:
    for one in range(begin, begin + 3 * number, 3):
        word = at + shapes[one]
        flags = shapes[one + 1]
        old = memory[word]
        if old == 0:
            continue
        if flags >= 0 and not memory[at + flags] & shapes[one + 2]:
            memory[word] = 0
            continue
        if heap[old + KIND] >= 0:  # not moved yet
            size = heap[old + SIZE]
            new = fresh[FREE]
            fresh[FREE] = new + size
            for n in range(size):
                fresh[new + n] = heap[old + n]
            heap[old + KIND] = -new
        memory[word] = -heap[old + KIND]


# --- tables -------------------------------------------------------------------------------------


@kernel(borrows=True, linked=True, rare=True)
def new_table(heap: Words, kind: int, capacity: int, stride: int) -> int:
    """Return an empty table with room for half as many entries as its index has places."""
    at = allocate(heap, kind, ENTRIES + capacity + capacity // 2 * stride)
    heap[at + CAPACITY] = capacity
    return at


@kernel(borrows=True, linked=True)
def _slot(heap: Words, at: int, words: int, capacity: int) -> int:
    told = 0
    for word in range(words):
        told = (told + heap[at + word]) * -7046029254386353131  # 2^64 by the golden ratio
        told ^= told >> 29
    return told & (capacity - 1)


@kernel(borrows=True, linked=True)
def find(heap: Words, table: int, stride: int, words: int) -> int:
    """Return the place of the entry whose key lies in the scratch words, 0 where there is none."""
    capacity = heap[table + CAPACITY]
    start = table + ENTRIES + capacity
    slot = _slot(heap, ONE * SCRATCH, words, capacity)
    while True:
        entry = heap[table + ENTRIES + slot]
        if entry == 0:
            return 0
        at = start + (entry - 1) * stride
        word = 0
        while word < words and heap[at + word] == heap[SCRATCH + word]:
            word += 1
        if word == words:
            return at
        slot = (slot + 1) & (capacity - 1)


@kernel(borrows=True, linked=True, rare=True)
def _free_slot(heap: Words, table: int, at: int, words: int) -> int:
    """Return the word of the index for the entry at a place, whose key is new."""
    capacity = heap[table + CAPACITY]
    slot = _slot(heap, at, words, capacity)
    while heap[table + ENTRIES + slot] != 0:
        slot = (slot + 1) & (capacity - 1)
    return table + ENTRIES + slot


@kernel(borrows=True, linked=True, rare=True)
def _copy_entries(heap: Words, table: int, new: int, stride: int, words: int, drops: int) -> None:
    """Copy a table's entries to an empty one; `drops`: without entries of the number 0."""
    start = table + ENTRIES + heap[table + CAPACITY]
    fresh = new + ENTRIES + heap[new + CAPACITY]
    number = 0
    for entry in range(heap[table + COUNT]):
        at = start + entry * stride
        if drops and heap[at + words] == 0:
            continue
        for word in range(stride):
            heap[fresh + number * stride + word] = heap[at + word]
        number += 1
        heap[_free_slot(heap, new, at, words)] = number
    heap[new + COUNT] = number


@kernel(borrows=True, linked=True, rare=True)
def with_room(heap: Words, table: int, stride: int, words: int, drops: int) -> int:
    """Return a table with room for one more entry; `drops`: without entries of the number 0."""
    capacity, count = heap[table + CAPACITY], heap[table + COUNT]
    if 2 * count < capacity:
        return table
    if not drops or 4 * heap[table + GONE] < count:
        capacity *= 2
    new = new_table(heap, heap[table + KIND], capacity, stride)
    _copy_entries(heap, table, new, stride, words, drops)
    return new


@kernel(borrows=True, linked=True, rare=True)
def add_entry(heap: Words, journal: Words, table: int, stride: int, words: int) -> int:
    """Add an entry of the key in the scratch words, for which there is room; return its place."""
    keep(heap, journal, table + COUNT, ONE)
    heap[table + COUNT] += 1
    entry = heap[table + COUNT]
    at = table + ENTRIES + heap[table + CAPACITY] + (entry - 1) * stride
    for word in range(stride):
        heap[at + word] = 0
    for word in range(words):
        heap[at + word] = heap[SCRATCH + word]
    place = _free_slot(heap, table, at, words)
    keep(heap, journal, place, ONE)
    heap[place] = entry
    return at


@kernel(borrows=True)
def placed_entry(heap: Words, journal: Words, table: int, stride: int, words: int) -> int:
    """Add an entry for Python, as `add_entry` does for machines."""
    return add_entry(heap, journal, table, stride, words)


# --- numbers of keys ----------------------------------------------------------------------------


@kernel(borrows=True, linked=True)
def add_number(
    heap: Words,
    journal: Words,
    shapes: Words,
    kind: int,
    table: int,
    shared: int,
    words: int,
    number: int,
) -> int:
    """Return a table in which the number of the key in the scratch words has changed by some."""
    stride = words + 1
    if table == 0:
        table = new_table(heap, kind, LEAST * ONE, stride)
    else:
        table = owned(heap, journal, shapes, table, shared)
    at = find(heap, table, stride, words)
    if at == 0:
        if number < 0:
            raise OverflowError  # what Python says of it is told by Python
        table = with_room(heap, table, stride, words, ONE)
        at = add_entry(heap, journal, table, stride, words)
        keep(heap, journal, table + GONE, ONE)
        heap[table + GONE] += 1
    keep(heap, journal, at + words, ONE)
    keep(heap, journal, table + GONE, ONE)
    heap[table + GONE] -= heap[at + words] == 0
    heap[at + words] += number
    heap[table + GONE] += heap[at + words] == 0
    return table


@kernel(borrows=True, linked=True)
def add_numbers(
    heap: Words,
    journal: Words,
    shapes: Words,
    kind: int,
    table: int,
    shared: int,
    words: int,
    other: int,
    sign: int,
) -> int:
    """Return a table with the numbers of another one added, or taken away (sign: 1 or -1)."""
    if other == 0:
        return table
    start = other + ENTRIES + heap[other + CAPACITY]
    for entry in range(heap[other + COUNT]):
        at = start + entry * (words + 1)
        if heap[at + words] != 0:
            for word in range(words):
                heap[SCRATCH + word] = heap[at + word]
            number = sign * heap[at + words]
            table = add_number(heap, journal, shapes, kind, table, shared, words, number)
            shared = 0 * ONE
    return table


@kernel(borrows=True, linked=True)
def _place_of_text(shapes: Words, number: int) -> int:
    """Return the place of a text in the order of texts (see `Texts.ranks`)."""
    at = shapes[RANKS]
    few = shapes[at]
    if number >= 0:
        return shapes[at + 1 + 2 * few + number]
    pair = at + 1
    while shapes[pair] != number:
        pair += 2
    return shapes[pair + 1]


@kernel(borrows=True, linked=True)
def best(heap: Words, shapes: Words, table: int, of: int) -> int:
    """Return the entry with the greatest number, of several that of the least key; 0 for none.

    of: what keys are, `WHOLE`, `DOUBLES` or `TEXTS`.
    """
    found = 0
    if table == 0:
        return 0
    start = table + ENTRIES + heap[table + CAPACITY]
    for entry in range(heap[table + COUNT]):
        at = start + 2 * entry
        if heap[at + 1] == 0:
            continue
        if found == 0 or heap[at + 1] > heap[found + 1]:
            found = at
        elif heap[at + 1] == heap[found + 1]:
            one, two = heap[at], heap[found]
            if of == DOUBLES:  # the order of negative doubles' bits is theirs turned round
                one ^= (one >> 63) & 0x7FFFFFFFFFFFFFFF
                two ^= (two >> 63) & 0x7FFFFFFFFFFFFFFF
            elif of == TEXTS:
                one = _place_of_text(shapes, one)
                two = _place_of_text(shapes, two)
            if one < two:
                found = at
    return found


@kernel(borrows=True, linked=True)
def at_rank(heap: Words, table: int, fraction: float) -> int:
    """Return the entry at rank floor(fraction * (n - 1)) of n values counted by cells; 0 for none.

    A cell's two words, a sign and a place, are taken as one number in their order; the least with
    enough values up to it is searched for by halves, so nothing is sorted or kept.
    """
    if table == 0:
        return 0
    start = table + ENTRIES + heap[table + CAPACITY]
    stop = start + 3 * heap[table + COUNT]
    total = 0
    low = np.iinfo(np.int64).max
    high = -low
    for at in range(start, stop, 3):
        if heap[at + 2] != 0:
            total += heap[at + 2]
            cell = heap[at] * CELLS + heap[at + 1]
            low, high = min(low, cell), max(high, cell)
    if total == 0:
        return 0
    rank = int(fraction * (total - 1))
    while low < high:
        middle = low + (high - low) // 2
        below = 0
        for at in range(start, stop, 3):
            if heap[at] * CELLS + heap[at + 1] <= middle:
                below += heap[at + 2]
        if below > rank:
            high = middle
        else:
            low = middle + 1
    at = start
    while heap[at + 2] == 0 or heap[at] * CELLS + heap[at + 1] != low:
        at += 3
    return at


@kernel(borrows=True, linked=True, rare=True)
def collected(
    heap: Words,
    journal: Words,
    threads: int,
    kind: int,
    words: int,
    told: int,
    stride: int,
    serial: int,
    dynamic: int,
) -> int:
    """Return a table without an index of the values that keys have after an item.

    words: of a key; told: where in an entry the serial number of its last value is, before the
    value; stride: of an entry; dynamic: whether values are objects.
    """
    table = heap[threads + TABLE]
    start = table + ENTRIES + heap[table + CAPACITY]
    number = 0
    for entry in range(heap[table + COUNT]):
        number += heap[start + entry * stride + told] == serial
    value = stride - told - 1
    found = allocate(heap, kind, ENTRIES + number * (words + value))
    heap[found + COUNT] = number
    to = found + ENTRIES
    for entry in range(heap[table + COUNT]):
        at = start + entry * stride
        if heap[at + told] != serial:
            continue
        for word in range(words):
            heap[to + word] = heap[at + word]
        for word in range(value):
            heap[to + words + word] = heap[at + told + 1 + word]
        if dynamic:
            share(heap, journal, heap[to + words])
        to += words + value
    return found


@kernel(borrows=True, linked=True, rare=True)
def indexed(heap: Words, kind: int, table: int, stride: int, words: int) -> int:
    """Return a table with the entries of another one, and an index, for `find`."""
    count = ONE * 0
    if table != 0:
        count = heap[table + COUNT]
    capacity = LEAST * ONE
    while capacity // 2 <= count:
        capacity *= 2
    new = new_table(heap, kind, capacity, stride)
    if table != 0:
        drops = ONE * 0
        if heap[table + CAPACITY] != 0 and words + 1 == stride:
            drops = ONE  # a mapping of counts
        _copy_entries(heap, table, new, stride, words, drops)
    return new


# --- numbers in order ---------------------------------------------------------------------------


@kernel(borrows=True, linked=True)
def _put(heap: Words, journal: Words, at: int, word: int) -> None:
    """Change a word that the journal tells of."""
    keep(heap, journal, at, ONE)
    heap[at] = word


@kernel(borrows=True, linked=True)
def _push(heap: Words, journal: Words, base: int, size: int, word: int) -> None:
    """Add a word to a binary heap of so many words, whose greatest is the first."""
    place = size
    while place > 0 and heap[base + (place - 1) // 2] < word:
        _put(heap, journal, base + place, heap[base + (place - 1) // 2])
        place = (place - 1) // 2
    _put(heap, journal, base + place, word)


@kernel(borrows=True, linked=True)
def _pop(heap: Words, journal: Words, base: int, size: int) -> int:
    """Take the greatest word out of a binary heap of so many; return it."""
    greatest = heap[base]
    size -= 1
    word = heap[base + size]
    place = ONE * 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[base + child + 1] > heap[base + child]:
            child += 1
        if heap[base + child] <= word:
            break
        _put(heap, journal, base + place, heap[base + child])
        place = child
    _put(heap, journal, base + place, word)
    return greatest


@kernel(borrows=True, linked=True)
def add_in_order(
    heap: Words,
    journal: Words,
    shapes: Words,
    kind: int,
    at: int,
    shared: int,
    fraction: float,
    word: int,
) -> int:
    """Return a collection with one more word, the one at the fraction of them in front.

    Words up to that one lie in a binary heap, the greatest first, and those above it in another
    one, bitwise inverted: so an item costs the logarithm of how many there are.
    """
    if at == 0:
        at = allocate(heap, kind, IN_ORDER + 2 * LEAST * ONE)
        heap[at + CAPACITY] = LEAST
    else:
        at = owned(heap, journal, shapes, at, shared)
    capacity, lower, upper = heap[at + CAPACITY], heap[at + LOWER], heap[at + UPPER]
    if lower + 1 >= capacity or upper + 1 >= capacity:  # it may go either way, and back
        more = allocate(heap, kind, IN_ORDER + 4 * capacity)
        heap[more + CAPACITY] = 2 * capacity
        for place in range(lower):
            heap[more + IN_ORDER + place] = heap[at + IN_ORDER + place]
        for place in range(upper):
            heap[more + IN_ORDER + 2 * capacity + place] = heap[at + IN_ORDER + capacity + place]
        at, capacity = more, 2 * capacity
    lows = at + IN_ORDER
    highs = lows + capacity
    most = int(fraction * (lower + upper)) + 1  # of the lower ones then
    if lower == 0 or word <= heap[lows]:
        _push(heap, journal, lows, lower, word)
        lower += 1
    else:
        _push(heap, journal, highs, upper, ~word)
        upper += 1
    while lower > most:
        lower -= 1
        _push(heap, journal, highs, upper, ~_pop(heap, journal, lows, lower + 1))
        upper += 1
    while lower < most:
        upper -= 1
        _push(heap, journal, lows, lower, ~_pop(heap, journal, highs, upper + 1))
        lower += 1
    _put(heap, journal, at + LOWER, lower)
    _put(heap, journal, at + UPPER, upper)
    return at


@kernel(borrows=True, linked=True)
def front_with(heap: Words, at: int, fraction: float, word: int) -> int:
    """Return the word in front of a collection with one more word, which is not put into it."""
    if at == 0:
        return word
    lower, upper = heap[at + LOWER], heap[at + UPPER]
    lows = at + IN_ORDER
    greatest = heap[lows]
    most = int(fraction * (lower + upper)) + 1
    if word > greatest:
        if most <= lower:
            return greatest
        return min(word, ~heap[lows + heap[at + CAPACITY]]) if upper > 0 else word
    if most > lower:
        return greatest
    second = word
    for child in range(1, min(lower, 3)):
        second = max(second, heap[lows + child])
    return second


# --- windows ------------------------------------------------------------------------------------


@kernel(borrows=True, linked=True, rare=True)
def new_window(heap: Words, kind: int, head: int, stride: int, most: int) -> int:
    """Return an empty window of at most so many values; stride: words for each."""
    capacity = min(LEAST, most)
    at = allocate(heap, kind, head + capacity * stride)
    heap[at + CAPACITY] = capacity
    return at


@kernel(borrows=True, linked=True)
def ring_with_room(
    heap: Words,
    journal: Words,
    shapes: Words,
    at: int,
    shared: int,
    most: int,
    head: int,
    stride: int,
) -> int:
    """Return a ring that may be changed, with room for one more value, or `most` values."""
    capacity = heap[at + CAPACITY]
    if heap[at + FILLED] < capacity or capacity == most:
        return owned(heap, journal, shapes, at, shared)
    if shared or heap[at + SHARED]:
        at = owned(heap, journal, shapes, at, shared)  # what it refers to is shared then
    more = min(2 * capacity, most)
    new = allocate(heap, heap[at + KIND], head + more * stride)
    for word in range(FILLED, head):
        heap[new + word] = heap[at + word]
    heap[new + CAPACITY] = more
    first = heap[at + FIRST]
    for place in range(capacity):
        begin = at + head + (first + place) % capacity * stride
        for word in range(stride):
            heap[new + head + place * stride + word] = heap[begin + word]
    return new


@kernel(borrows=True, linked=True)
def stacks_with_room(
    heap: Words,
    journal: Words,
    shapes: Words,
    at: int,
    shared: int,
    most: int,
    head: int,
    older: int,
    newer: int,
) -> int:
    """Return stacks that may be changed, with room for one more value, or `most` values.

    older, newer: words of an entry of each.
    """
    capacity = heap[at + CAPACITY]
    if heap[at + NEWER] < capacity or capacity == most:
        return owned(heap, journal, shapes, at, shared)
    more = min(2 * capacity, most)
    new = allocate(heap, heap[at + KIND], head + more * (older + newer))
    for word in range(DONE, head + capacity * older):
        heap[new + word] = heap[at + word]
    heap[new + CAPACITY] = more
    for word in range(capacity * newer):
        heap[new + head + more * older + word] = heap[at + head + capacity * older + word]
    return new


@kernel(borrows=True, linked=True)
def mark(
    heap: Words,
    journal: Words,
    shapes: Words,
    kind: int,
    at: int,
    shared: int,
    marked: int,
    size: int,
    ones: int,
    others: int,
    levels: int,
) -> int:
    """Return a histogram of marks that has got one more, or none (see `ExponentialHistogram`).

    A level holds the places of the last events of buckets of 1, 2, 4, ... events, in a ring with
    room for one more than there may be; ones, others: how many there may be of 1 event, of more.
    """
    each = max(ones, others) + 1
    if at == 0:
        at = allocate(heap, kind, BUCKETS + levels * (each + 2))
    else:
        at = owned(heap, journal, shapes, at, shared)
    keep(heap, journal, at + NUMBER, 2 * ONE)
    heap[at + NUMBER] += 1
    number = heap[at + NUMBER]
    top = levels - 1
    while top > 0 and heap[at + BUCKETS + 2 * top + 1] == 0:
        top -= 1
    rings = at + BUCKETS + 2 * levels
    level = at + BUCKETS + 2 * top
    if heap[level + 1] and heap[rings + top * each + heap[level]] <= number - size:
        keep(heap, journal, level, 2 * ONE)
        heap[at + TOTAL] -= 1 << top
        heap[level] = (heap[level] + 1) % each
        heap[level + 1] -= 1
    if not marked:
        return at
    heap[at + TOTAL] += 1
    place = number
    for step in range(levels):
        level = at + BUCKETS + 2 * step
        keep(heap, journal, level, 2 * ONE)
        last = rings + step * each + (heap[level] + heap[level + 1]) % each
        keep(heap, journal, last, ONE)
        heap[last] = place
        heap[level + 1] += 1
        if heap[level + 1] <= (ones if step == 0 else others):
            break
        place = heap[rings + step * each + (heap[level] + 1) % each]  # the newer of the two
        heap[level] = (heap[level] + 2) % each
        heap[level + 1] -= 2
    return at


@kernel(borrows=True, linked=True)
def marks(heap: Words, at: int, levels: int) -> int:
    """Return how many marks a histogram tells of."""
    top = levels - 1
    while top > 0 and heap[at + BUCKETS + 2 * top + 1] == 0:
        top -= 1
    if heap[at + BUCKETS + 2 * top + 1] == 0:
        return 0
    return heap[at + TOTAL] - (1 << top) // 2
