"""What kinds of query there are, and how a query selects events."""

from __future__ import annotations

from enum import Enum


class Strategy(Enum):
    """How many events a match may skip; the value is the spelling."""

    ANY = "SKIP TILL ANY MATCH"
    NEXT = "SKIP TILL NEXT MATCH"
    CONTIGUOUS = "CONTIGUOUS"


class AfterMatch(Enum):
    """Which match of those that begin with one event is returned; the value is the spelling.

    The longest of them: with NEXT_EVENT of each event, with LAST_EVENT of each that is after the
    last event of the match returned before.
    """

    NEXT_EVENT = "SKIP TO NEXT EVENT"
    LAST_EVENT = "SKIP PAST LAST EVENT"


class Kind(Enum):
    """Which engine answers a query."""

    TRENDS = "trends"  # aggregates over all trends
    MATCHES = "matches"  # the matches themselves
    QUANTITATIVE = "quantitative"  # values that a query written in Python computes
