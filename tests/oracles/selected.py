"""Which matches AFTER MATCH and SUPPRESS return, of all matches of a query."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.model.kinds import AfterMatch
from elsinore.model.query import Query
from oracles.matches import Happening, Match


def selected(
    query: Query,
    events: Sequence[Happening],
    matches: Sequence[Match],
    *,
    ordered: bool,
    waits: bool,
) -> list[list[Match]]:
    """Return for each returned match those that may be returned in its place: they are as long.

    waits: matches are final when their window has passed, not with their last event.
    """
    by_key: dict[object, list[Match]] = {}
    for match in matches:
        first = events[match.steps[0][0]].attributes
        same = tuple(first.get(name) for name in query.equivalence)
        by_key.setdefault((match.group, same), []).append(match)
    returned = []
    for of_key in by_key.values():
        candidates = _by_end(of_key, waits=waits)
        if query.after_match is not None:
            candidates = _longest(query, events, of_key, ordered=ordered)
        quiet = None
        for candidate in candidates:
            end = events[candidate[0].steps[-1][0]].time
            if query.suppress is not None and quiet is not None and end <= quiet:
                continue
            returned.append(candidate)
            if query.suppress is not None:
                quiet = end + query.suppress.within
    return returned


def _by_end(matches: Sequence[Match], *, waits: bool) -> list[list[Match]]:
    """Return matches in the order in which they become final, equal ones together."""
    groups: dict[tuple[int, int], list[Match]] = {}
    for match in matches:
        groups.setdefault((match.steps[0][0], match.steps[-1][0]), []).append(match)
    if waits:
        return [groups[key] for key in sorted(groups)]
    # those with equal ends are one after another: one of them, at most, is returned
    return [groups[key] for key in sorted(groups, key=lambda key: (key[1], -key[0]))]


def _longest(
    query: Query, events: Sequence[Happening], matches: Sequence[Match], *, ordered: bool
) -> list[list[Match]]:
    """Return the longest matches that begin with each event, those skipped left out."""
    groups: dict[int, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.steps[0][0], []).append(match)
    kept: list[list[Match]] = []
    last: int | None = None
    for first in sorted(groups):
        if query.after_match is AfterMatch.LAST_EVENT and last is not None:
            is_after = first > last if ordered else events[first].time > events[last].time
            if not is_after:
                continue
        length = max((match.steps[-1][0], len(match.steps)) for match in groups[first])
        kept.append([m for m in groups[first] if (m.steps[-1][0], len(m.steps)) == length])
        last = length[0]
    return kept
