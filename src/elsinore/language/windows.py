"""Creating windows from the values of WITHIN, SLIDE, ORIGIN and SUPPRESS."""

from __future__ import annotations

import re

from elsinore.errors import QuerySemanticError
from elsinore.language.parts import Length
from elsinore.model.window import LONGEST, MOST_WINDOWS, Window

COUNTED_EVENTS = re.compile(r"\s*(\d+)\s+(?:events?|rows?)\s*", re.IGNORECASE)


def counted_events(text: str) -> int | None:
    """Return the number in a text such as "100 events"; None for other texts.

    >>> counted_events("100 events"), counted_events("100 seconds")
    (100, None)
    """
    match = COUNTED_EVENTS.fullmatch(text)
    return int(match[1]) if match else None


def window_of(within: Length, slide: Length | None, origin: Length | None) -> Window:
    """Return the window of three clauses; raise QuerySemanticError if they are incompatible."""
    values = {"WITHIN": within, "SLIDE": slide, "ORIGIN": origin}
    if within.events or (slide is not None and slide.events):
        return _of_events(within, slide, origin)
    return Window.from_microseconds(
        within.value,
        slide.value if slide else None,
        origin.value if origin else None,
        bare=frozenset(name for name, length in values.items() if length and length.bare),
        span=_faulty(within, slide, origin).span,
        zone=origin.zone if origin else None,
    )


def suppression_of(length: Length) -> Window:
    """Return the window of SUPPRESS, after a match, in which other matches are dropped."""
    bare = frozenset({"SUPPRESS"} if length.bare else ())
    return Window.from_microseconds(length.value, bare=bare, span=length.span, clause="SUPPRESS")


def _of_events(within: Length, slide: Length | None, origin: Length | None) -> Window:
    if origin is not None:
        raise QuerySemanticError(
            "ORIGIN is a time, and these windows count events: the first one begins with a key's "
            "first event. Leave ORIGIN out.",
            span=origin.span,
        )
    if slide is not None and within.events != slide.events:
        raise QuerySemanticError(
            "WITHIN and SLIDE are both lengths of time, or both numbers of events: WITHIN 100 "
            "EVENTS SLIDE 10 EVENTS.",
            span=slide.span,
        )
    return Window(
        within=int(within.value),
        slide=int(slide.value) if slide else None,
        span=_faulty(within, slide, origin).span,
        events=True,
    )


def _faulty(within: Length, slide: Length | None, origin: Length | None) -> Length:
    """Return the invalid length of a window, at which the error points."""
    if within.value <= 0 or within.value > LONGEST:
        return within
    if slide is not None and (slide.value > LONGEST or within.value > MOST_WINDOWS * slide.value):
        return slide
    return within if origin is None else origin
