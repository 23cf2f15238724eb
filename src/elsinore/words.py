"""Numbers and names as they stand in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun; the default plural ends in s.

    >>> count(1, "query", "queries"), count(1200, "row")
    ('1 query', '1,200 rows')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return names as a list in words; beyond `most` only their number.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    if most is not None and len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
