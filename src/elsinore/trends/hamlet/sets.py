"""The states of a unit's templates, and which of them make up a sharing set.

A *fine node* is a state with a loop: a Kleene sub-pattern E+ (HAMLET, Definition 4). A *holder* is
a fine node in one window; windows of one length that are open at once lie side by side, in lanes.
Fine nodes that may share make up a *set* (Definition 5). All other states are coarse: of them sums
per window are kept, and no events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from elsinore.model.expression import Expression
from elsinore.plan.aggregates import Aggregation, Field, FieldKind
from elsinore.plan.sharing import aggregated
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


@dataclass(slots=True)
class SharingSet:
    """Fine nodes that may share.

    They are of one type and one kind of aggregates, and compare an event with the one before in one
    way, or in any of several `conditions`. Those of one group have equal local predicates: they
    take the same events.
    """

    type: str
    members: list[int]
    conditions: list[Adjacent | None] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)  # [member] -> its group
    slots: list[int] = field(default_factory=list)  # contributions that shared forms carry
    extreme_slots: list[int] = field(default_factory=list)
    types: frozenset[str] = frozenset()  # all types in its queries' patterns


def states_of(
    templates: Sequence[Template],
    addends: Mapping[tuple[FieldKind, str], int],
    ranked: Mapping[tuple[FieldKind, str], int],
) -> list[State]:
    """Number the states of all templates."""
    offsets = np.cumsum([0] + [template.states for template in templates]).tolist()
    found: list[State] = []
    for query, template in enumerate(templates):
        for number in range(template.states):
            moves = [move for move in template.transitions if move.target == number]
            loops = [move for move in moves if move.source == number]
            one = moves[0]
            contributed = [
                _linear(entry, addends) if contributes(entry, one) else NOTHING
                for entry in template.aggregation.linear
            ]
            compared = [
                _extreme(entry, ranked) if contributes(entry, one) else -1
                for entry in template.aggregation.extremes
            ]
            found.append(
                State(
                    query=query,
                    number=number,
                    type=one.type,
                    needs=one.needs,
                    lacks=one.lacks,
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
    return found


def _linear(entry: Field, codes: Mapping[tuple[FieldKind, str], int]) -> int:
    return ONE if entry.kind is FieldKind.EVENTS else codes[entry.kind, entry.attribute or ""]


def _extreme(entry: Field, codes: Mapping[tuple[FieldKind, str], int]) -> int:
    return codes[entry.kind, entry.attribute or ""]


def sharing_sets(
    states: Sequence[State], aggregations: Sequence[Aggregation], *, mixed: bool = False
) -> list[SharingSet]:
    """Put the fine nodes into sets that may share, as `elsinore.plan.sharing` says.

    mixed: those that compare events in different ways too, by snapshots at events (HAMLET,
    Definition 9).
    """
    found: dict[object, SharingSet] = {}
    types: dict[int, set[str]] = defaultdict(set)
    for state in states:
        types[state.query].add(state.type)
    for place, state in enumerate(states):
        if not state.fine:
            continue
        how = None if mixed else state.adjacent
        key = (state.type, how, aggregated(aggregations[state.query]))
        one = found.setdefault(key, SharingSet(state.type, []))
        one.members.append(place)
        if state.adjacent not in one.conditions:
            one.conditions.append(state.adjacent)
    for one in found.values():
        told: dict[object, int] = {}
        for member in one.members:
            state = states[member]
            one.groups.append(told.setdefault((state.needs, state.lacks), len(told)))
            one.types |= types[state.query]
            for what in state.linear[1:]:
                if what != NOTHING and what not in one.slots:
                    one.slots.append(what)
            for what in state.ranked:
                if what >= 0 and what not in one.extreme_slots:
                    one.extreme_slots.append(what)
    return list(found.values())


def set_name(one: SharingSet) -> str:
    """Return the sub-pattern of a set, such as Travel+."""
    how = one.conditions[0]
    if how is None or len(one.conditions) > 1:
        return f"{one.type}+"
    return f"{one.type}+ [i].{how.current} {how.operator.value} [i-1].{how.previous}"
