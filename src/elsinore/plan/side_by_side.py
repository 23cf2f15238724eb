"""Two automata side by side: pairs of states, and the steps that both take with one event."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import TypeVar

from elsinore.automata.nfa import closure
from elsinore.plan.template import START

Pair = tuple[int, int]
BEGIN: Pair = (START, START)
Label = TypeVar("Label")


def product_of(
    left: Iterable[tuple[int, int, Label]],
    right: Iterable[tuple[int, int, Label]],
    met: Callable[[Label, Label], Label | None],
    begins: AbstractSet[Pair],
    ends: AbstractSet[Pair],
) -> tuple[list[Pair], list[tuple[Pair, Pair, Label]]]:
    """Return the pairs of states that lead from `begins` to `ends`, and the steps between them.

    left, right: steps, each with its source and its target. met: the step that two are together.
    The pair of START with START is not among the pairs.
    """
    leaving: tuple[dict[int, list[tuple[int, Label]]], ...] = ({}, {})
    for by_source, moves in zip(leaving, (left, right), strict=True):
        for source, target, label in moves:
            by_source.setdefault(source, []).append((target, label))
    pairs = dict.fromkeys(sorted(begins))
    pending = list(pairs)
    steps = []
    while pending:
        pair = pending.pop()
        both = (by_source.get(state, ()) for by_source, state in zip(leaving, pair, strict=True))
        for (target, label), (beside, along) in itertools.product(*both):
            step = met(label, along)
            if step is not None:
                steps.append((pair, (target, beside), step))
                if (target, beside) not in pairs:
                    pairs[target, beside] = None
                    pending.append((target, beside))
    useful = closure(ends & pairs.keys(), ((target, source) for source, target, _ in steps))
    kept = [step for step in steps if step[1] in useful]
    return sorted(useful - {BEGIN}), kept
