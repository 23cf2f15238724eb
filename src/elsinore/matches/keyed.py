# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The rows of events, key by key, as searches take them.

`keys` [key] says where a key's events begin and end, which is its first new one, and the times that
were (`PASSED`) and are (`REACHED`) known to be over: no event at or before them comes any more.
No match begins before `NEXT_ROW`, and none ends by time `QUIET`, if a query selects matches.
`integers` [row, event] holds times, classes and moments in the order of keys.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Ints
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
