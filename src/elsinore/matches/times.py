"""When events can be released, and when the windows that matches await end."""

from __future__ import annotations

import numpy as np

from elsinore.matches.arrays import EVER, NEVER, NO_WINDOW, Ints
from elsinore.matches.template import MatchTemplate
from elsinore.model.window import first_window


def needed_from(template: MatchTemplate, reached: Ints, longest: int) -> Ints:
    """Return the time from which on the events of keys may be in a later match of a template.

    reached: the times that keys have reached. longest: the longest interval of possible times.
    """
    within, slide, origin = template.window
    if within == NO_WINDOW:
        return reached - longest if template.is_local else np.full(len(reached), NEVER)
    if slide == 0:
        return np.asarray(reached - _reach_back(template, within, longest))
    # from the first window that is not over
    number = first_window(reached, within, slide, origin)
    return np.asarray(origin + number * slide - longest)


def release_time(template: MatchTemplate, last: int, longest: int) -> int | None:
    """Return the time from which a template does not need an event at `last`; None: never.

    longest: the longest interval of possible times.
    """
    window = template.query.window
    if window is None:
        return last + longest + 1 if template.is_local else None
    if window.slide is not None:
        return int(window.bounds(window.last(last))[1]) + longest
    return last + _reach_back(template, window.within, longest) + 1


def _reach_back(template: MatchTemplate, within: int, longest: int) -> int:
    """Return how long before the time that is reached an event may begin and still be needed.

    within: the length of windows that are relative to the match. longest: the longest interval of
    possible times. A match that waits does so until its window has passed from the last possible
    time of its first event, and its other events may begin before that one does.
    """
    if template.waits and template.depends_on_earlier:
        return 2 * (within + longest)  # NOT looks back from a match that waits
    return within + (2 if template.waits else 1) * longest


def waiting_times(
    template: MatchTemplate, passed: int, reached: int, longest: int
) -> tuple[int, int]:
    """Return the first and last time of events whose windows end from `passed` to `reached`.

    Or, without windows, of those whose deadlines do.
    """
    within, _, _ = template.window
    if within == NO_WINDOW:
        if reached == EVER:
            return NEVER, EVER
        if not template.decides_early:
            return EVER, NEVER
        within = template.deadline_ticks[-1]
    lowest = NEVER if passed < NEVER + within + longest else passed - within - longest
    return lowest, reached


def next_deadline(template: MatchTemplate, times: Ints, latest: Ints, passed: int) -> int | None:
    """Return when the first window ends that is open, or the first deadline passes.

    None if no match waits for either.

    `times` [event] are the first ones possible, `latest` the last ones.
    """
    if len(times) == 0:
        return None
    deadlines = [_first_end(template, times, latest, passed)]
    for ticks in template.deadline_ticks:
        waiting = times[times >= passed - ticks] if passed > NEVER else times
        deadlines.append(int(waiting.min()) + ticks + 1 if len(waiting) else None)
    return min((time for time in deadlines if time is not None), default=None)


def _first_end(template: MatchTemplate, times: Ints, latest: Ints, passed: int) -> int | None:
    """Return when the first window ends that is open; None without windows."""
    within, slide, origin = template.window
    if within == NO_WINDOW:
        return None
    if slide == 0:
        waiting = latest[latest > passed - within - 1] if passed > NEVER else latest
        return int(waiting.min()) + within + 1 if len(waiting) else None
    first = first_window(int(times.min()), within, slide, origin)
    if passed > NEVER:
        first = max(first, first_window(passed, within, slide, origin))
    return origin + first * slide + within if origin + first * slide <= latest.max() else None
