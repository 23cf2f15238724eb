"""The kinds of queries, and the strategies by which they select events."""

from __future__ import annotations

from enum import Enum


class Strategy(Enum):
    """How many events a match may skip; the value is the spelling."""

    ANY = "SKIP TILL ANY MATCH"
    NEXT = "SKIP TILL NEXT MATCH"
    CONTIGUOUS = "CONTIGUOUS"


class AfterMatch(Enum):
    """The events from which the longest match is returned; the value is the spelling.

    NEXT_EVENT: from every event. LAST_EVENT: from events after the end of the previous match.
    """

    NEXT_EVENT = "SKIP TO NEXT EVENT"
    LAST_EVENT = "SKIP PAST LAST EVENT"


class Kind(Enum):
    """The kinds of queries, each answered by one engine."""

    TRENDS = "trends"  # aggregates over all trends
    MATCHES = "matches"  # the matches themselves
    QUANTITATIVE = "quantitative"  # values that a query written in Python computes
