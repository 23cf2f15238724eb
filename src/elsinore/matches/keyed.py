"""The rows of events, key by key, as searches take them.

`keys` [key] says where a key's events begin and end, which is its first new one, and the times that
were (`PASSED`) and are (`REACHED`) known to be over: no event at or before them comes any more.
No match begins before `NEXT_ROW`, and none ends by time `QUIET`, if a query selects matches.
`integers` [row, event] has times, classes and moments (`elsinore.matches.engine.codes`), by key.
"""

from __future__ import annotations

# columns of `keys`
FIRST_ROW, END_ROW, NEW_ROW, PASSED, REACHED, NEXT_ROW, QUIET = range(7)
KEY_COLUMNS = 7
FOREVER = 2**63 - 1  # reached where a key is over
NO_WINDOW = -1  # WITHIN of queries without a window
