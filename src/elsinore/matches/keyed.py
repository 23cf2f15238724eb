# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The rows of events, key by key, as searches take them.

`keys` [key] says where a key's events begin and end, which is its first new one, and the times that
were (`PASSED`) and are (`REACHED`) known to be over: no event at or before them comes any more.
No match begins before `NEXT_ROW`, and none ends by time `QUIET`, if a query selects matches.
`integers` [row, event] holds times, classes and moments in the order of keys.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Bytes, Ints
from elsinore.model import window

TIME, CLASS, MOMENT = 0, 1, 2  # rows of `integers` (`elsinore.matches.operands`)
# columns of `keys`
FIRST_ROW, END_ROW, NEW_ROW, PASSED, REACHED, NEXT_ROW, QUIET = range(7)
KEY_COLUMNS = 7
FOREVER = 2**63 - 1  # reached where a key is over

first_window = kernel(inline=True, borrows=True)(window.first_window)


@kernel(borrows=True, linked=True)
def first_at(integers: Ints, begin: int, end: int, value: int) -> int:
    """Return the first event from `begin` to `end` with a time of at least `value`, else `end`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if integers[TIME, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(borrows=True)
def window_ends(keys: Ints, integers: Ints, within: int, ends: Ints, ready: Bytes) -> None:
    """Fill `ends` with the last event of the window that begins with each event.

    Windows are `within` time units long, below 0: of the whole key. `ready` is 1 for those that
    have passed by now and had not before.
    """
    for key in range(len(keys)):
        last, end = keys[key, FIRST_ROW], keys[key, END_ROW]
        for event in range(keys[key, FIRST_ROW], end):
            if within < 0:
                ends[event] = end - 1
                ready[event] = 1 if keys[key, REACHED] == FOREVER else 0
                continue
            until = integers[TIME, event] + within
            last = max(last, event)
            while last + 1 < end and integers[TIME, last + 1] <= until:
                last += 1
            ends[event] = last
            ready[event] = 1 if keys[key, PASSED] <= until < keys[key, REACHED] else 0


@kernel(borrows=True)
def slides(
    keys: Ints, integers: Ints, within: int, slide: int, origin: int, fits: Bytes, rows: Ints
) -> int:
    """Fill `rows` with event, window and the window's last event, where `fits` [event] is 1.

    Windows are those that hold the event, have passed by now and had not before. Returns how many
    there are, also where `rows` has no room for them.
    """
    count = 0
    for key in range(len(keys)):
        for event in range(keys[key, FIRST_ROW], keys[key, END_ROW]):
            if fits[event] == 0:
                continue
            number = first_window(integers[TIME, event], within, slide, origin)
            while origin + number * slide <= integers[TIME, event]:
                over = origin + number * slide + within
                if over > keys[key, REACHED]:
                    break
                if over > keys[key, PASSED]:
                    if count < len(rows):
                        rows[count, 0], rows[count, 1] = event, number
                        rows[count, 2] = first_at(integers, event, keys[key, END_ROW], over) - 1
                    count += 1
                number += 1
    return count
