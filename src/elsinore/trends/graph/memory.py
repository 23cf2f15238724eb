"""The memory of a sweep over the keys of some queries: its header, and arenas with all sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import most_at_once
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph.records import ENTRY, HEADER, NONE
from elsinore.trends.graph.steps import Lanes
from elsinore.trends.graph.sweep import EDGE, FROM, HIGH, KEY, UP_TO
from elsinore.trends.graph.windows import Wanted
from elsinore.trends.keyed import Doubles, Ints

# bytes that the windows of a sweep's keys may take: other keys have another sweep
MOST_BYTES = 2**26


class Memory(NamedTuple):
    """A sweep's header, and arenas with its words and all sums."""

    headers: NDArray[Any]  # one of them
    ints: Ints
    doubles: Doubles


def header_of(
    lanes: Lanes, wanted: Wanted, keys: int, *, by_time: bool
) -> tuple[NDArray[Any], int]:
    """Return the header of a sweep, and how many of so many keys it may be of."""
    headers = np.zeros(1, dtype=HEADER)
    header = headers[0]
    width, ranks = lanes.lanes * lanes.fields, lanes.lanes * lanes.extremes
    header["states"], header["lanes"], header["cells"] = lanes.states, lanes.lanes, lanes.cells
    header["fields"], header["extremes"] = lanes.fields, lanes.extremes
    header["width"], header["ranks"] = width, ranks
    header["contiguous"] = lanes.contiguous
    once = 1 if wanted.within == FOREVER else most_at_once(wanted.within, wanted.step)
    header["overlap"], header["within"] = once, wanted.within
    header["every"], header["origin"] = wanted.step, wanted.origin
    header["tail"] = by_time or not lanes.at_once
    rows = 1 + int(header["tail"])  # of sums of each state: what is kept, and what waits
    header["int_slot"] = 1 + 4 * lanes.states + ranks + rows * lanes.cells * lanes.extremes
    header["double_slot"] = width + rows * lanes.cells * lanes.fields
    if header["tail"]:
        header["double_slot"] += lanes.cells
    elif not ranks:
        header["int_slot"] = 1 + 2 * lanes.states
    header["held"] = ENTRY + lanes.entry * lanes.extremes
    header["int_entry"] = int(header["held"]) + 2 * lanes.held
    header["double_entry"] = lanes.entry * (lanes.fields + 1)
    size = 8 * int(header["int_slot"] + header["double_slot"]) * once
    return headers, max(1, min(keys, MOST_BYTES // size))


def memory_of(lanes: Lanes, headers: NDArray[Any], keys: range, first: Ints, last: Ints) -> Memory:
    """Return the memory of a sweep over some keys, whose windows `first` to `last` are wanted.

    In the arenas come words, scratch, keys, slots and entries, in this order.
    """
    headers = headers.copy()
    header = headers[0]
    slots = len(keys) * int(header["overlap"])
    header["scratch"] = len(lanes.words)
    header["at_keys"] = len(lanes.words) + lanes.scratch * lanes.extremes
    header["first_key"], header["keys"] = keys.start, len(keys)
    header["int_slots"] = int(header["at_keys"]) + len(keys) * KEY
    header["double_slots"] = lanes.scratch * lanes.fields
    header["int_entries"] = int(header["int_slots"]) + slots * int(header["int_slot"])
    header["double_entries"] = int(header["double_slots"]) + slots * int(header["double_slot"])
    header["unused"] = NONE
    ints = np.zeros(int(header["int_entries"]), dtype=np.int64)
    ints[: len(lanes.words)] = lanes.words
    of_keys = ints[int(header["at_keys"]) : int(header["int_slots"])].reshape(-1, KEY)
    of_keys[:, EDGE] = NEVER
    of_keys[:, HIGH] = -1
    of_keys[:, FROM] = first[keys.start : keys.stop]
    of_keys[:, UP_TO] = last[keys.start : keys.stop]
    memory = Memory(headers, ints, np.zeros(int(header["double_entries"])))
    return with_room(memory, slots if lanes.apart else 0)


def with_room(memory: Memory, entries: int) -> Memory:
    """Return the memory with room for so many more entries, and for those of one event."""
    header = memory.headers[0]
    entries += int(header["states"] * header["overlap"])
    header["room"] += entries
    ints = np.zeros(entries * int(header["int_entry"]), dtype=np.int64)
    doubles = np.zeros(entries * int(header["double_entry"]))
    return Memory(
        memory.headers,
        np.concatenate((memory.ints, ints)),
        np.concatenate((memory.doubles, doubles)),
    )
