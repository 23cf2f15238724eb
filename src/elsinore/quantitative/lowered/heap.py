# cython: infer_types=True
# mypy: disable-error-code="no-any-return"
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
A result below 0 tells machines that there was no room, or that Python says what is wrong.
"""

from __future__ import annotations

import cython
from cython import longlong, p_longlong

from elsinore.quantitative.lowered import objects
from elsinore.quantitative.lowered.objects import (
    BUCKETS,
    CAPACITY,
    COUNT,
    DONE,
    DOUBLES,
    END,
    ENTRIES,
    FILLED,
    FIRST,
    FREE,
    GONE,
    IN_ORDER,
    KIND,
    LISTED,
    LOWER,
    NEED,
    NEWER,
    NUMBER,
    RANKS,
    RING,
    RINGS,
    SHAPE,
    SHARED,
    SIZE,
    TABLE,
    TABLES,
    TEXTS,
    TOTAL,
    UPPER,
)

IS_COMPILED: bool = cython.compiled
LEAST = cython.declare(cython.longlong, objects.LEAST)
SCRATCH = cython.declare(cython.longlong, objects.SCRATCH)
BEGIN = cython.declare(cython.longlong, objects.BEGIN)
FACTOR = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)  # 2^64 by the golden ratio
CELLS = cython.declare(cython.longlong, 1 << 60)  # more than cells have places; its sign is theirs
GREATEST = cython.declare(cython.longlong, 0x7FFFFFFFFFFFFFFF)


@cython.cfunc
@cython.nogil
def allocate(heap: p_longlong, kind: longlong, size: longlong) -> longlong:
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


@cython.cfunc
@cython.nogil
def keep(heap: p_longlong, journal: p_longlong, at: longlong, size: longlong) -> longlong:
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
    return 0


def undo(heap: cython.longlong[::1], journal: cython.longlong[::1]) -> None:
    """Make all words what they were before the item."""
    with cython.nogil:
        used = journal[0]
        while used > LISTED:
            size = journal[used - 1]
            at = journal[used - 2]
            used -= size + 2
            for word in range(size):
                heap[at + word] = journal[used + word]
        journal[0] = LISTED


@cython.cfunc
@cython.nogil
def room(results: p_longlong, size: longlong) -> longlong:
    """Return the place for more words of results."""
    at = results[0]
    if at + size > results[END]:
        results[1] = size
        raise MemoryError
    results[0] = at + size
    return at


@cython.cfunc
@cython.nogil
def share(heap: p_longlong, journal: p_longlong, at: longlong) -> longlong:
    """Note that another object refers to one, which is copied then before it is changed."""
    if at != 0 and heap[at + SHARED] == 0:
        keep(heap, journal, at + SHARED, 1)
        heap[at + SHARED] = 1
    return at


@cython.cfunc
@cython.nogil
def owned(
    heap: p_longlong, journal: p_longlong, shapes: p_longlong, at: longlong, shared: longlong
) -> longlong:
    """Return an object that may be changed: itself, or a copy where it is shared."""
    if at == 0 or (not shared and heap[at + SHARED] == 0):
        return at
    size = heap[at + SIZE]
    copy = allocate(heap, heap[at + KIND], size)
    for word in range(SHARED + 1, size):
        heap[copy + word] = heap[at + word]
    shape = heap[at + KIND] * SHAPE
    _share_all(heap, journal, shapes, copy, shapes[shape + 3], shapes[shape + 4])
    if shapes[shape + 6]:
        start = _begin_of_elements(heap, shapes, copy)
        for entry in range(_number_of_elements(heap, shapes, copy)):
            place = start + entry * shapes[shape + 1]
            _share_all(heap, journal, shapes, place, shapes[shape + 5], shapes[shape + 6])
    return copy


@cython.cfunc
@cython.nogil
def _share_all(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    at: longlong,
    begin: longlong,
    number: longlong,
) -> longlong:
    for one in range(begin, begin + 3 * number, 3):
        flags = shapes[one + 1]
        if flags < 0 or heap[at + flags] & shapes[one + 2]:
            share(heap, journal, heap[at + shapes[one]])
    return 0


@cython.nogil
def _begin_of_elements(heap: p_longlong, shapes: p_longlong, at: longlong) -> longlong:
    """Return where an object's entries begin."""
    shape = heap[at + KIND] * SHAPE
    if shapes[shape] == TABLES:
        return at + ENTRIES + heap[at + CAPACITY]
    return at + RING + shapes[shape + 2]


@cython.nogil
def _number_of_elements(heap: p_longlong, shapes: p_longlong, at: longlong) -> longlong:
    """Return how many entries an object has."""
    shape = shapes[heap[at + KIND] * SHAPE]
    if shape == TABLES:
        return heap[at + COUNT]
    return heap[at + CAPACITY] if shape == RINGS else 0


# --- room ---------------------------------------------------------------------------------------


def compact(
    records: cython.longlong[::1],
    count: longlong,
    words: longlong,
    shapes: cython.longlong[::1],
    heap: cython.longlong[::1],
    fresh: cython.longlong[::1],
) -> None:
    """Copy what records refer to into another heap, and let the records refer to the copies."""
    old = cython.address(heap[0])
    new = cython.address(fresh[0])
    kinds = cython.address(shapes[0])
    with cython.nogil:
        for word in range(BEGIN):
            fresh[word] = 0
        fresh[FREE] = BEGIN
        for record in range(count):
            begin = record * words
            _move_all(old, new, kinds, cython.address(records[0]), begin, shapes[5], shapes[6])
        at: longlong = BEGIN
        while at < fresh[FREE]:
            shape = fresh[at + KIND] * SHAPE
            _move_all(old, new, kinds, new, at, shapes[shape + 3], shapes[shape + 4])
            if shapes[shape + 6]:
                start = _begin_of_elements(new, kinds, at)
                for entry in range(_number_of_elements(new, kinds, at)):
                    begin = start + entry * shapes[shape + 1]
                    _move_all(old, new, kinds, new, begin, shapes[shape + 5], shapes[shape + 6])
            at += fresh[at + SIZE]


@cython.nogil
def _move_all(
    heap: p_longlong,
    fresh: p_longlong,
    shapes: p_longlong,
    memory: p_longlong,
    at: longlong,
    begin: longlong,
    number: longlong,
) -> longlong:
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
    return 0


# --- tables -------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
def new_table(heap: p_longlong, kind: longlong, capacity: longlong, stride: longlong) -> longlong:
    """Return an empty table with room for half as many entries as its index has places."""
    at = allocate(heap, kind, ENTRIES + capacity + capacity // 2 * stride)
    heap[at + CAPACITY] = capacity
    return at


@cython.nogil
def _slot(heap: p_longlong, at: longlong, words: longlong, capacity: longlong) -> longlong:
    mixed: cython.ulonglong = 0
    for word in range(words):
        mixed = (mixed + cython.cast(cython.ulonglong, heap[at + word])) * FACTOR
        mixed ^= mixed >> 29
    return cython.cast(cython.longlong, mixed & cython.cast(cython.ulonglong, capacity - 1))


@cython.nogil
def find(heap: p_longlong, table: longlong, stride: longlong, words: longlong) -> longlong:
    """Return the place of the entry whose key lies in the scratch words, 0 where there is none."""
    capacity = heap[table + CAPACITY]
    start = table + ENTRIES + capacity
    slot = _slot(heap, SCRATCH, words, capacity)
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


@cython.nogil
def _free_slot(heap: p_longlong, table: longlong, at: longlong, words: longlong) -> longlong:
    """Return the word of the index for the entry at a place, whose key is new."""
    capacity = heap[table + CAPACITY]
    slot = _slot(heap, at, words, capacity)
    while heap[table + ENTRIES + slot] != 0:
        slot = (slot + 1) & (capacity - 1)
    return table + ENTRIES + slot


@cython.nogil
def _copy_entries(
    heap: p_longlong,
    table: longlong,
    new: longlong,
    stride: longlong,
    words: longlong,
    drops: longlong,
) -> longlong:
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
    return 0


@cython.cfunc
@cython.nogil
def with_room(
    heap: p_longlong, table: longlong, stride: longlong, words: longlong, drops: longlong
) -> longlong:
    """Return a table with room for one more entry; `drops`: without entries of the number 0."""
    capacity, count = heap[table + CAPACITY], heap[table + COUNT]
    if 2 * count < capacity:
        return table
    if not drops or 4 * heap[table + GONE] < count:
        capacity *= 2
    new = new_table(heap, heap[table + KIND], capacity, stride)
    _copy_entries(heap, table, new, stride, words, drops)
    return new


@cython.cfunc
@cython.nogil
def add_entry(
    heap: p_longlong, journal: p_longlong, table: longlong, stride: longlong, words: longlong
) -> longlong:
    """Add an entry of the key in the scratch words, for which there is room; return its place."""
    keep(heap, journal, table + COUNT, 1)
    heap[table + COUNT] += 1
    entry = heap[table + COUNT]
    at = table + ENTRIES + heap[table + CAPACITY] + (entry - 1) * stride
    for word in range(stride):
        heap[at + word] = 0
    for word in range(words):
        heap[at + word] = heap[SCRATCH + word]
    place = _free_slot(heap, table, at, words)
    keep(heap, journal, place, 1)
    heap[place] = entry
    return at


def placed_entry(
    heap: cython.longlong[::1],
    journal: cython.longlong[::1],
    table: longlong,
    stride: longlong,
    words: longlong,
) -> int:
    """Add an entry for Python, as `add_entry` does for machines."""
    return add_entry(cython.address(heap[0]), cython.address(journal[0]), table, stride, words)


# --- numbers of keys ----------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
def add_number(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    kind: longlong,
    table: longlong,
    shared: longlong,
    words: longlong,
    number: longlong,
) -> longlong:
    """Return a table in which the number of the key in the scratch words has changed by some."""
    stride = words + 1
    if table == 0:
        table = new_table(heap, kind, LEAST, stride)
    else:
        table = owned(heap, journal, shapes, table, shared)
    at = find(heap, table, stride, words)
    if at == 0:
        if number < 0:
            raise OverflowError  # what Python says of it is told by Python
        table = with_room(heap, table, stride, words, 1)
        at = add_entry(heap, journal, table, stride, words)
        keep(heap, journal, table + GONE, 1)
        heap[table + GONE] += 1
    keep(heap, journal, at + words, 1)
    keep(heap, journal, table + GONE, 1)
    heap[table + GONE] -= heap[at + words] == 0
    heap[at + words] += number
    heap[table + GONE] += heap[at + words] == 0
    return table


@cython.cfunc
@cython.nogil
def add_numbers(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    kind: longlong,
    table: longlong,
    shared: longlong,
    words: longlong,
    other: longlong,
    sign: longlong,
) -> longlong:
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
            shared = 0
    return table


@cython.nogil
def _place_of_text(shapes: p_longlong, number: longlong) -> longlong:
    """Return the place of a text in the order of texts (see `Texts.ranks`)."""
    at = shapes[RANKS]
    few = shapes[at]
    if number >= 0:
        return shapes[at + 1 + 2 * few + number]
    pair = at + 1
    while shapes[pair] != number:
        pair += 2
    return shapes[pair + 1]


@cython.nogil
def best(heap: p_longlong, shapes: p_longlong, table: longlong, of: longlong) -> longlong:
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
                one ^= (one >> 63) & GREATEST
                two ^= (two >> 63) & GREATEST
            elif of == TEXTS:
                one = _place_of_text(shapes, one)
                two = _place_of_text(shapes, two)
            if one < two:
                found = at
    return found


@cython.nogil
def at_rank(heap: p_longlong, table: longlong, fraction: cython.double) -> longlong:
    """Return the entry at rank floor(fraction * (n - 1)) of n values counted by cells; 0 for none.

    A cell's two words, a sign and a place, are taken as one number in their order; the least with
    enough values up to it is searched for by halves, so nothing is sorted or kept.
    """
    if table == 0:
        return 0
    start = table + ENTRIES + heap[table + CAPACITY]
    stop = start + 3 * heap[table + COUNT]
    total = 0
    low = GREATEST
    high = -low
    for at in range(start, stop, 3):
        if heap[at + 2] != 0:
            total += heap[at + 2]
            cell = heap[at] * CELLS + heap[at + 1]
            low, high = min(low, cell), max(high, cell)
    if total == 0:
        return 0
    rank = cython.cast(cython.longlong, fraction * (total - 1))
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


@cython.cfunc
@cython.nogil
def collected(
    heap: p_longlong,
    journal: p_longlong,
    threads: longlong,
    kind: longlong,
    words: longlong,
    told: longlong,
    stride: longlong,
    serial: longlong,
    dynamic: longlong,
) -> longlong:
    """Return a table without an index of the values that keys have after an item.

    words: of a key; told: where in an entry the serial number of its last value is, before the
    value; stride: of an entry; dynamic: whether values are objects.
    """
    table = heap[threads + TABLE]
    start = table + ENTRIES + heap[table + CAPACITY]
    number: longlong = 0
    for entry in range(heap[table + COUNT]):
        if heap[start + entry * stride + told] == serial:
            number += 1
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


@cython.cfunc
@cython.nogil
def indexed(
    heap: p_longlong, kind: longlong, table: longlong, stride: longlong, words: longlong
) -> longlong:
    """Return a table with the entries of another one, and an index, for `find`."""
    count = 0
    if table != 0:
        count = heap[table + COUNT]
    capacity: longlong = LEAST
    while capacity // 2 <= count:
        capacity *= 2
    new = new_table(heap, kind, capacity, stride)
    if table != 0:
        drops = 0
        if heap[table + CAPACITY] != 0 and words + 1 == stride:
            drops = 1  # a mapping of counts
        _copy_entries(heap, table, new, stride, words, drops)
    return new


# --- numbers in order ---------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
def _put(heap: p_longlong, journal: p_longlong, at: longlong, word: longlong) -> longlong:
    """Change a word that the journal tells of."""
    keep(heap, journal, at, 1)
    heap[at] = word
    return 0


@cython.cfunc
@cython.nogil
def _push(
    heap: p_longlong, journal: p_longlong, base: longlong, size: longlong, word: longlong
) -> longlong:
    """Add a word to a binary heap of so many words, whose greatest is the first."""
    place = size
    while place > 0 and heap[base + (place - 1) // 2] < word:
        _put(heap, journal, base + place, heap[base + (place - 1) // 2])
        place = (place - 1) // 2
    _put(heap, journal, base + place, word)
    return 0


@cython.cfunc
@cython.nogil
def _pop(heap: p_longlong, journal: p_longlong, base: longlong, size: longlong) -> longlong:
    """Take the greatest word out of a binary heap of so many; return it."""
    greatest = heap[base]
    size -= 1
    word = heap[base + size]
    place = 0
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


@cython.cfunc
@cython.nogil
def add_in_order(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    kind: longlong,
    at: longlong,
    shared: longlong,
    fraction: cython.double,
    word: longlong,
) -> longlong:
    """Return a collection with one more word, the one at the fraction of them in front.

    Words up to that one lie in a binary heap, the greatest first, and those above it in another
    one, bitwise inverted: so an item costs the logarithm of how many there are.
    """
    if at == 0:
        at = allocate(heap, kind, IN_ORDER + 2 * LEAST)
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
    most = cython.cast(cython.longlong, fraction * (lower + upper)) + 1  # of the lower ones then
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


@cython.nogil
def front_with(heap: p_longlong, at: longlong, fraction: cython.double, word: longlong) -> longlong:
    """Return the word in front of a collection with one more word, which is not put into it."""
    if at == 0:
        return word
    lower, upper = heap[at + LOWER], heap[at + UPPER]
    lows = at + IN_ORDER
    greatest = heap[lows]
    most = cython.cast(cython.longlong, fraction * (lower + upper)) + 1
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


@cython.cfunc
@cython.nogil
def new_window(
    heap: p_longlong, kind: longlong, head: longlong, stride: longlong, most: longlong
) -> longlong:
    """Return an empty window of at most so many values; stride: words for each."""
    capacity: longlong = min(LEAST, most)
    at = allocate(heap, kind, head + capacity * stride)
    heap[at + CAPACITY] = capacity
    return at


@cython.cfunc
@cython.nogil
def ring_with_room(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    at: longlong,
    shared: longlong,
    most: longlong,
    head: longlong,
    stride: longlong,
) -> longlong:
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


@cython.cfunc
@cython.nogil
def stacks_with_room(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    at: longlong,
    shared: longlong,
    most: longlong,
    head: longlong,
    older: longlong,
    newer: longlong,
) -> longlong:
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


@cython.cfunc
@cython.nogil
def mark(
    heap: p_longlong,
    journal: p_longlong,
    shapes: p_longlong,
    kind: longlong,
    at: longlong,
    shared: longlong,
    marked: longlong,
    size: longlong,
    ones: longlong,
    others: longlong,
    levels: longlong,
) -> longlong:
    """Return a histogram of marks that has got one more, or none (see `ExponentialHistogram`).

    A level holds the places of the last events of buckets of 1, 2, 4, ... events, in a ring with
    room for one more than there may be; ones, others: how many there may be of 1 event, of more.
    """
    each = max(ones, others) + 1
    if at == 0:
        at = allocate(heap, kind, BUCKETS + levels * (each + 2))
    else:
        at = owned(heap, journal, shapes, at, shared)
    keep(heap, journal, at + NUMBER, 2)
    heap[at + NUMBER] += 1
    number = heap[at + NUMBER]
    top = levels - 1
    while top > 0 and heap[at + BUCKETS + 2 * top + 1] == 0:
        top -= 1
    rings = at + BUCKETS + 2 * levels
    level = at + BUCKETS + 2 * top
    if heap[level + 1] and heap[rings + top * each + heap[level]] <= number - size:
        keep(heap, journal, level, 2)
        heap[at + TOTAL] -= 1 << top
        heap[level] = (heap[level] + 1) % each
        heap[level + 1] -= 1
    if not marked:
        return at
    heap[at + TOTAL] += 1
    place = number
    for step in range(levels):
        level = at + BUCKETS + 2 * step
        keep(heap, journal, level, 2)
        last = rings + step * each + (heap[level] + heap[level + 1]) % each
        keep(heap, journal, last, 1)
        heap[last] = place
        heap[level + 1] += 1
        if heap[level + 1] <= (ones if step == 0 else others):
            break
        place = heap[rings + step * each + (heap[level] + 1) % each]  # the newer of the two
        heap[level] = (heap[level] + 2) % each
        heap[level + 1] -= 2
    return at


@cython.nogil
def marks(heap: p_longlong, at: longlong, levels: longlong) -> longlong:
    """Return how many marks a histogram tells of."""
    top = levels - 1
    while top > 0 and heap[at + BUCKETS + 2 * top + 1] == 0:
        top -= 1
    if heap[at + BUCKETS + 2 * top + 1] == 0:
        return 0
    return heap[at + TOTAL] - (1 << top) // 2


# --- for machines -------------------------------------------------------------------------------


def addresses() -> dict[str, tuple[int, str]]:
    """Return where functions are that machines call, and their parameters.

    Those are `p` for pointers to words, `i` for whole numbers, `d` for doubles.
    """
    return {
        "allocate": (cython.cast(cython.size_t, cython.address(allocate)), "pii"),
        "keep": (cython.cast(cython.size_t, cython.address(keep)), "ppii"),
        "room": (cython.cast(cython.size_t, cython.address(room)), "pi"),
        "share": (cython.cast(cython.size_t, cython.address(share)), "ppi"),
        "owned": (cython.cast(cython.size_t, cython.address(owned)), "pppii"),
        "new_table": (cython.cast(cython.size_t, cython.address(new_table)), "piii"),
        "find": (cython.cast(cython.size_t, cython.address(find)), "piii"),
        "with_room": (cython.cast(cython.size_t, cython.address(with_room)), "piiii"),
        "add_entry": (cython.cast(cython.size_t, cython.address(add_entry)), "ppiii"),
        "add_number": (cython.cast(cython.size_t, cython.address(add_number)), "pppiiiii"),
        "add_numbers": (cython.cast(cython.size_t, cython.address(add_numbers)), "pppiiiiii"),
        "best": (cython.cast(cython.size_t, cython.address(best)), "ppii"),
        "at_rank": (cython.cast(cython.size_t, cython.address(at_rank)), "pid"),
        "add_in_order": (cython.cast(cython.size_t, cython.address(add_in_order)), "pppiiidi"),
        "front_with": (cython.cast(cython.size_t, cython.address(front_with)), "pidi"),
        "collected": (cython.cast(cython.size_t, cython.address(collected)), "ppiiiiiii"),
        "indexed": (cython.cast(cython.size_t, cython.address(indexed)), "piiii"),
        "new_window": (cython.cast(cython.size_t, cython.address(new_window)), "piiii"),
        "ring_with_room": (cython.cast(cython.size_t, cython.address(ring_with_room)), "pppiiiii"),
        "stacks_with_room": (
            cython.cast(cython.size_t, cython.address(stacks_with_room)),
            "pppiiiiii",
        ),
        "mark": (cython.cast(cython.size_t, cython.address(mark)), "pppiiiiiiii"),
        "marks": (cython.cast(cython.size_t, cython.address(marks)), "pii"),
    }
