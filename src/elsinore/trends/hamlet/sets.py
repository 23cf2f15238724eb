"""The states of a unit's templates, and which of them make up a sharing set.

A *fine node* is a state with a loop: a Kleene sub-pattern E+ (HAMLET, Definition 4). A *holder* is
a fine node in one window; windows of one length that are open at once lie side by side, in lanes.
Fine nodes that may share make up a *set* (Definition 5). All other states are coarse: of them sums
per window are kept, and no events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.model.expression import Expression
from elsinore.model.window import Window
from elsinore.plan.aggregates import Addend, Field, FieldKind
from elsinore.plan.sharing import SharingSet, loop_sets
from elsinore.plan.template import START, Adjacent, Template, contributes
from elsinore.trends.core.addends import NOTHING, ONE


@dataclass(slots=True)
class State:
    """A state of one query's template: what takes it, what may stand before it, what it adds."""

    query: int
    number: int
    type: str
    needs: frozenset[Expression]
    lacks: frozenset[Expression]
    start: bool
    before: list[int]  # the other states right before it, in the unit's numbering
    fine: bool
    adjacent: Adjacent | None
    linear: list[int]  # what an event adds to each field, the number of trends first
    ranked: list[int]  # what it is compared with for each extreme


@dataclass(frozen=True, slots=True)
class FineSet:
    """Fine nodes that may share, and what forms over their snapshots carry."""

    sharing: SharingSet
    members: list[int]  # states, in the unit's numbering
    slots: list[int]  # contributions that shared forms carry
    extreme_slots: list[int]


def states_of(
    templates: Sequence[Template],
    addends: Mapping[Addend, int],
    ranked: Mapping[tuple[FieldKind, str], int],
) -> list[State]:
    """Number the states of all templates."""
    offsets = np.cumsum([0] + [template.states for template in templates]).tolist()
    states: list[State] = []
    for query, template in enumerate(templates):
        for number in range(template.states):
            moves = [move for move in template.transitions if move.target == number]
            loops = [move for move in moves if move.source == number]
            first_move = moves[0]
            contributed = [
                _linear(entry, addends, template.query.window)
                if contributes(entry, first_move)
                else NOTHING
                for entry in template.aggregation.linear
            ]
            compared = [
                _extreme(entry, ranked) if contributes(entry, first_move) else -1
                for entry in template.aggregation.extremes
            ]
            states.append(
                State(
                    query=query,
                    number=number,
                    type=first_move.type,
                    needs=first_move.needs,
                    lacks=first_move.lacks,
                    start=any(move.source == START for move in moves),
                    before=sorted(
                        offsets[query] + move.source
                        for move in moves
                        if move.source not in {START, number}
                    ),
                    fine=bool(loops),
                    adjacent=loops[0].adjacent if loops else None,
                    linear=contributed,
                    ranked=compared,
                )
            )
    return states


def _linear(entry: Field, codes: Mapping[Addend, int], window: Window | None) -> int:
    if entry.kind is FieldKind.EVENTS:
        return ONE
    return codes[Addend.of(entry.kind, entry.attribute or "", window, entry.turn)]


def _extreme(entry: Field, codes: Mapping[tuple[FieldKind, str], int]) -> int:
    return codes[entry.kind, entry.attribute or ""]


def fine_sets(
    templates: Sequence[Template], states: Sequence[State], *, mixed: bool = False
) -> list[FineSet]:
    """Return the sets of the fine nodes among the states of all templates.

    mixed: nodes that compare events in different ways are in one.
    """
    places = {(state.query, state.number): place for place, state in enumerate(states)}
    made = []
    for sharing in loop_sets(templates, mixed=mixed):
        members = [places[member] for member in sharing.members]
        summed = [addend for m in members for addend in states[m].linear[1:] if addend != NOTHING]
        ranked = [addend for m in members for addend in states[m].ranked if addend >= 0]
        slots, extreme_slots = dict.fromkeys(summed), dict.fromkeys(ranked)
        made.append(FineSet(sharing, members, list(slots), list(extreme_slots)))
    return made
