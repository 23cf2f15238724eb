"""The memory of `chains` and `subsets`: links of events, partial matches, and the matches found."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import Field, Layout, Store

DEPTH = 64  # events that a match may have at first
SPREAD = 1 << 12  # partial matches that grow at a time, and matches that these come to
# Numbers of a step of `path`: the event's row and state, and the next event to go on with.
AT, STATE, GOING = range(3)
# Rows of `links`: of an event the row, and where its class's moves are; in `subsets`, from NEXT on,
# by state, the next event that leads on to a match.
ROW, MOVES, NEXT = range(3)
BOUND = 4  # rows of `found` before those of registers (`elsinore.matches.select`)

LINKED = Layout(
    "linked events",
    1,
    (
        Field("path", np.int64, ("depth", "entry")),
        Field("held", np.int64, ("depth", "register")),  # registers of events, after each step
        # Lists of partial matches, by state: where they begin and end, and end before an event;
        # their registers; of each the one that it goes on from, and the event that it does with.
        Field("begins", np.int64, ("list",)),
        Field("filled", np.int64, ("list",)),
        Field("until", np.int64, ("list",)),
        Field("holds", np.int64, ("list", "register", "partial")),
        Field("sums", np.float64, ("list", "number", "partial")),
        Field("origins", np.int32, ("list", "partial", "pair")),
        Field("found", np.int64, ("column", "match")),
        Field("numbers", np.float64, ("depth", "number")),  # registers of numbers
        Field("counted", np.float64, ("number", "match")),
        Field("ways", np.float64, ("event", "state")),
        Field("partials", np.float64, ("event", "state")),
        Field("addends", np.float64, ("event", "number")),  # what each adds to a register
        Field("links", np.int32, ("link", "event")),
        Field("paths", np.int32, ("step", "pair")),
    ),
)


class LinkedRoom:
    """Room for so many matches at a time."""

    def __init__(
        self, *, states: int, links: int, events: int, numbers: int, matches: int, partials: int
    ) -> None:
        """`events` and `numbers`: how many registers hold either; `links` of an event."""
        self.store = Store(
            LINKED, depth=DEPTH, entry=3, register=events, column=BOUND + events,
            match=matches, number=numbers, event=0, state=states, link=links,
            step=4 * matches, pair=2, list=states + 1, partial=partials,
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
