"""Limits of an event that follow from those of later ones.

`c.time - a.time <= 5 minutes` bounds what lies between a and c as well, as times rise. Under ANY a
search that heeds it does not begin what cannot be completed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elsinore.matches.engine import tables as tb
from elsinore.matches.registers import RegisterKind
from elsinore.operators.conditions.comparisons import Comparison

_CHANGING = {
    RegisterKind.LATEST,
    RegisterKind.LEAST,
    RegisterKind.GREATEST,
    RegisterKind.LAG,
}


def implied_limits(
    program: tb.Program, comparisons: Sequence[Comparison | None]
) -> dict[int, list[int]]:
    """Return by edge the limits that each match which goes along it must keep later.

    They are limits relative to an event in a register that does not change until then.
    """
    edges = np.asarray(program.edges).view(np.recarray)
    lists = np.asarray(program.conditions.lists)
    checked = [set(lists[edge.far : edge.far_end].tolist()) for edge in edges]
    implied: dict[int, list[int]] = {}
    for number, comparison in enumerate(comparisons):
        if comparison is None or comparison.register < 0 or not comparison.is_upper_limit:
            continue
        keeping = {edge for edge, numbers in enumerate(checked) if number in numbers}
        if not keeping:
            continue
        changing = _changing_states(program, comparison.register)
        for edge in range(program.first_edges, len(edges)):
            target = int(edges[edge].target)
            if edge not in keeping and _must_keep(program, edges, target, keeping, changing):
                implied.setdefault(edge, []).append(number)
    return implied


def _changing_states(program: tb.Program, register: int) -> set[int]:
    """Return the states whose events a register holds from then on, whatever it held before."""
    updates = np.asarray(program.updates).view(np.recarray)
    states = np.asarray(program.states).view(np.recarray)
    return {
        number
        for number, state in enumerate(states)
        if any(
            update.kind in _CHANGING and update.register == register
            for update in updates[state.updates : state.updates_end]
        )
    }


def _must_keep(
    program: tb.Program, edges: np.recarray, state: int, keeping: set[int], changing: set[int]
) -> bool:
    """Return whether all ways to complete a match from a state go along one of some edges.

    False if the register changes on one of the ways before.
    """
    states = np.asarray(program.states).view(np.recarray)
    pending, seen = [state], {state}
    while pending:
        at = pending.pop()
        if at in changing or states[at].ends:
            return False
        for edge in range(states[at].edges, states[at].edges_end):
            target = int(edges[edge].target)
            if edge not in keeping and target not in seen:
                seen.add(target)
                pending.append(target)
    return True
