"""The memory of `subsets`: links between events, the path under way, and the matches found."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import Field, Layout, Store

# Numbers of a step of `path`: the event's row and state, whether a match ends here that is not
# given out yet, where the next event that ends a match is listed, and the next after which it goes
# on.
AT, STATE, PENDING, ENDING, GOING = range(5)
# Rows of `links`: of an event the row, and where its class's moves are; from ENDER on, by state,
# where its list of events that end a match has those after the event, as many links to others, and
# as many lists, which are filled from the end.
ROW, MOVES, ENDER = range(3)
BOUND = 4  # rows of `found` before those of registers (`elsinore.matches.select`)

LINKED = Layout(
    "linked events",
    1,
    (
        Field("path", np.int64, ("depth", "entry")),
        Field("held", np.int64, ("depth", "register")),  # registers of events, after each step
        Field("found", np.int64, ("column", "match")),
        Field("numbers", np.float64, ("depth", "number")),  # registers of numbers
        Field("counted", np.float64, ("number", "match")),
        Field("ways", np.float64, ("event", "state")),
        Field("addends", np.float64, ("event", "number")),  # what each adds to a register
        Field("links", np.int32, ("link", "event")),
        Field("paths", np.int32, ("step", "pair")),
    ),
)


class LinkedRoom:
    """Room for so many matches at a time."""

    def __init__(self, *, states: int, events: int, numbers: int, matches: int) -> None:
        """`events` and `numbers`: how many registers hold either."""
        self.store = Store(
            LINKED, depth=64, entry=5, register=events, column=BOUND + events,
            match=matches, number=numbers, event=0, state=states, link=ENDER + 3 * states,
            step=4 * matches, pair=2,
        )  # fmt: skip

    @property
    def found(self) -> Any:
        """[row, match]: see `elsinore.matches.select`."""
        return self.store["found"]

    @property
    def counted(self) -> Any:
        """[register, match]."""
        return self.store["counted"]

    @property
    def paths(self) -> Any:
        """[step, 2]: rows and states."""
        return self.store["paths"]

    def for_events(self, events: int) -> None:
        """Make room for keys of up to so many events."""
        self.store.resize(event=events)

    def deepen(self) -> None:
        """Make room for matches of twice as many events; the one under way goes on."""
        self.store.grow(depth=self.store.sizes["depth"] + 1)

    def widen(self) -> None:
        """Make room for twice as many matches at a time."""
        self.store.grow(match=self.store.sizes["match"] + 1, step=self.store.sizes["step"] + 1)
