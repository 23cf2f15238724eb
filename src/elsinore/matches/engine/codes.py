"""Constants of the tables and of the search, also for compiled code."""

from __future__ import annotations

from enum import IntEnum

Index = int  # a place among rows, nodes, edges and so on

TIME, CLASS, MOMENT = range(3)  # rows of the integers of events
BEGINS_AT, ENDS_AT, IN_WINDOW, PATH, BOUND = range(5)  # rows of `Search.match_rows`
BEGINS, WINDOW, ENDS = range(3)  # columns of `windows.due_windows`
LISTED_FIRST, LISTED_LAST, LISTED_COUNT, LISTED_EVENTS = range(4)  # rows of `Values.listed`
GRAPH_CURSOR = 0  # the cursor that is no frame's; that of frame n is n + 1


class Strategy(IntEnum):
    """Which events a match may skip."""

    ANY = 0
    NEXT = 1
    CONTIGUOUS = 2


class Selection(IntEnum):
    """Which matches are returned, by AFTER MATCH."""

    ALL = 0
    NEXT_EVENT = 1
    LAST_EVENT = 2


class Formula(IntEnum):
    """How an aggregate of one match is stepped: by a call, or by a formula of the engine."""

    CALL = 0
    VAR_POP = 1
    STDDEV_POP = 2
    VARIANCE = 3
    STDDEV = 4


class Status(IntEnum):
    """Why a search stopped."""

    DONE = 0
    FULL = 1  # there is no room for another match
    TOO_MANY = 2  # a window has too many matches
    LIMITED = 3  # all requested matches are written
    TOO_LONG = 4  # it has tried too many partial matches
    DEEP = 5  # there is no room for a match of so many events
    PAUSED = 6  # Python may check for Ctrl-C
    FAILED = 7  # an aggregate of the user's failed
