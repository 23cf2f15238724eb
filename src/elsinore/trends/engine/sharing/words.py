"""How an event is compared with the one before it, in words."""

from __future__ import annotations

from elsinore.language.render import render
from elsinore.model.expression import MIRRORED
from elsinore.plan.template import Cut, Reads


def in_words(reads: Reads) -> str:
    """Return how an event is compared with the one before it, after a space; "" if it is not."""
    ranges = [" AND ".join(map(_comparison, cuts)) for cuts in reads.ranges]
    parts = [" OR ".join(ranges)] if ranges else []
    parts += map(render, reads.conditions)
    return f" {' AND '.join(parts)}" if parts else ""


def _comparison(cut: Cut) -> str:
    """Return a cut as a comparison of the later event with the earlier one."""
    earlier = render(cut.previous)
    if cut.shift is not None:
        earlier += f" + {render(cut.shift)}"
    operator = MIRRORED.get(cut.operator, cut.operator).value
    text = f"{render(cut.current)} {operator} {earlier}"
    return text.replace("current.", "[i].").replace("previous.", "[i-1].")
