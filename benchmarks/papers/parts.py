"""Which parts of a figure are measured, and what is kept of a measurement that is interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from elsinore.errors import InputError, did_you_mean

Parts = Mapping[str, Sequence[str]]
"""The names of a figure's parts by their sort, such as its systems and its panels."""

INTERRUPTED = "Interrupted: the rest was not measured."


def check_parts(parts: Parts, only: Sequence[str]) -> None:
    """Raise InputError for a part that a figure does not have."""
    names = list(dict.fromkeys(name for of_sort in parts.values() for name in of_sort))
    for part in only:
        if part not in names:
            raise InputError(
                f"The figure has no part '{part}'. Parts: {', '.join(names)}."
                f"{did_you_mean(part, names)}"
            )


def is_chosen(name: str, of_sort: Sequence[str], only: Sequence[str]) -> bool:
    """Return whether a part is measured: if `only` names no part of its sort, all of them are.

    >>> is_chosen("b", ["a", "b"], []), is_chosen("b", ["a", "b"], ["a"])
    (True, False)
    >>> is_chosen("b", ["a", "b"], ["another sort's"])
    True
    """
    named = [part for part in only if part in of_sort]
    return not named or name in named


@contextmanager
def interruptible(notes: list[str]) -> Iterator[None]:
    """Measure until it ends or is interrupted; add a note in the latter case."""
    try:
        yield
    except KeyboardInterrupt:
        notes.append(INTERRUPTED)
