"""Which conditions remove events from the sets of rows in collapsed form, and which are postponed.

All matches of a row begin with one event. Conditions on neighbours, NOT, and conditions that read
no earlier event but the first decide which events are on a path to a match. Any other condition
depends on the events that a match selects, and is *postponed* (SASE++, Section 5.1): whoever
expands the row has to check it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.automata.positions import FREE
from elsinore.matches.conditions import Condition
from elsinore.matches.registers import RegisterKind, slot_of
from elsinore.matches.template import START, MatchTemplate
from elsinore.model import expression as ex
from elsinore.operators.conditions.code import Moment


def needs_paths(template: MatchTemplate) -> bool:
    """Return whether the sets of a row depend on more than conditions on single events.

    A condition that is checked only where a state follows itself, such as `b[i].v > b[i-1].v` in
    `SEQ(A a, B+ b, C c)`, removes nothing: what leads to the first of these events leads to each of
    them, and what follows the last one may follow each. Unless a match begins in the state: then it
    begins with one event.
    """
    begins = [edge.target for edge in template.edges if edge.source == START]
    variables = {template.states[state].variable for state in begins}
    if template.duplicates or len(variables) < len(begins):
        return True
    ways = [edge.ways for edge in template.edges] + [end.ways for end in template.ends]
    if any(way != FREE for way in ways):
        return True
    looked_at = [known_conditions(template, state) for state in begins]
    return any(
        template.conditions[number].reads_neighbours_only or any(k[number] for k in looked_at)
        for edge in template.edges
        if edge.source != edge.target or edge.target in begins
        for number in edge.checks
    )


def postponed(template: MatchTemplate) -> frozenset[int]:
    """Return the conditions that whoever expands a row has to check."""
    begins = [edge.target for edge in template.edges if edge.source == START]
    known = np.min([known_conditions(template, state) for state in begins], axis=0)
    return frozenset(
        number
        for number, condition in enumerate(template.conditions)
        if not (condition.reads_neighbours_only or known[number])
    )


def known_conditions(template: MatchTemplate, begin: int) -> NDArray[np.uint8]:
    """Return 1 for conditions that read no earlier event but the first, in state `begin`.

    Those that read neighbours alone are always checked, and are 0.
    """
    variable = template.states[begin].variable
    later = {template.states[e.target].variable for e in template.edges if e.source != START}
    first = set()
    for number, register in enumerate(template.registers):
        if variable in register.variables and (
            register.kind is RegisterKind.FIRST
            or (register.kind is RegisterKind.LATEST and not later.intersection(register.variables))
        ):
            first.add(number)

    def is_known(condition: Condition) -> bool:
        slots = [slot_of(leaf) for leaf in ex.attributes(condition.expression)]
        read = {*condition.bound, *condition.unbound}
        read |= {slot.register for slot in slots if slot.moment is Moment.BEFORE}
        is_late = condition.bound_finally or any(s.moment is Moment.FINAL for s in slots)
        return bool(read) and not is_late and read <= first

    return np.array([is_known(condition) for condition in template.conditions], dtype=np.uint8)
