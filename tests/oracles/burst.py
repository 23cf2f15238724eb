"""Bursts: runs of events of one type that queries could share (HAMLET, Definition 10).

The readable form of what the kernel does event by event; `graphlet` and `snapshot` go with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Burst:
    """Events of one type within one pane, as places in the stream, and whether it is complete.

    It is complete when no later event can be added to it.
    """

    type: str
    events: tuple[int, ...]
    complete: bool


def bursts(
    types: Iterable[str], kleene: str, others: frozenset[str], panes: Iterable[int] | None = None
) -> Iterator[Burst]:
    """Yield the bursts of events of type `kleene` in a stream given by its events' types.

    others: the other types in the patterns of the queries that share; an event of one of them
    completes a burst, and so does the end of a pane. panes: each event's pane, all one if left out.

    >>> [burst.events for burst in bursts("AACBBBBAACCC", "B", frozenset("AC"))]
    [(3, 4, 5, 6)]
    """
    pending: list[int] = []
    stream = list(types)
    numbers = [0] * len(stream) if panes is None else list(panes)
    for place, name in enumerate(stream):
        over = bool(pending) and numbers[place] != numbers[pending[-1]]
        if over or (pending and name in others):
            yield Burst(kleene, tuple(pending), True)
            pending = []
        if name == kleene:
            pending.append(place)
    if pending:
        yield Burst(kleene, tuple(pending), False)
