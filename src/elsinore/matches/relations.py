"""What a NOT forbids only in relation to the match: `SEQ(A a, NOT C c) WHERE c.ref = a.id`.

An event between the two neighbours of the gap excludes the match if it fulfils the NOT's own
conditions and all those that relate it to variables which the match binds. A repeated variable
stands for its event right after the gap, or else for its latest one. Relations to events that come
later than the gap are checked when the match is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.errors import QuerySemanticError
from elsinore.matches.conditions import Condition, Conditions
from elsinore.matches.registers import RegisterKind, Slot, slot_attribute
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Expression, Reference
from elsinore.model.query import Query
from elsinore.operators.conditions.code import Moment
from elsinore.plan.guards import Ways
from elsinore.plan.predicates import place_of
from elsinore.plan.related import related_variables


@dataclass(frozen=True, slots=True)
class Relation:
    """The conditions that relate the event of a NOT, by its number, to a match.

    They read it as the current event, and the event after the gap as the previous one. `is_late`:
    they are checked when the match is complete.
    """

    negative: int
    conditions: tuple[int, ...]
    is_late: bool


class Relations:
    """The relations of a pattern's NOTs, resolved for its edges and ends."""

    def __init__(
        self, query: Query, whole: pt.Pattern, negatives: Sequence[pt.Pattern], owner: Conditions
    ) -> None:
        self._query, self._whole, self._owner = query, whole, owner
        self._predicates: dict[int, list[Expression]] = {}
        numbers = {
            negative.variable: number
            for number, negative in enumerate(negatives)
            if isinstance(negative, pt.Event)
        }
        for predicate in query.where if whole is query.pattern else ():
            for variable in related_variables(query, predicate):
                self._predicates.setdefault(numbers[variable], []).append(predicate)
        self._is_repeated = any(
            isinstance(node, pt.Negation)
            for kleene in pt.walk(whole)
            if isinstance(kleene, pt.Kleene)
            for node in pt.walk(kleene)
        )

    def before(
        self, ways: Ways, later: str | None, *, begins: bool = False
    ) -> tuple[Relation, ...]:
        """Return the relations of the NOTs before an event bound to `later`; None: at the end.

        `begins`: the match begins with that event.
        """
        return tuple(
            self._relation(number, later, begins=begins)
            for number in sorted({number for way in ways for number in way})
            if number in self._predicates
        )

    def _relation(self, number: int, later: str | None, *, begins: bool) -> Relation:
        conditions = [
            self._condition(predicate, later, begins=begins)
            for predicate in self._predicates[number]
        ]
        is_late = any(condition.bound_finally for condition in conditions)
        if is_late and not begins and self._is_repeated:
            raise QuerySemanticError(
                "This NOT stands in a repeated group: relate it to events before the gap, or to "
                "the one right after it.",
                span=place_of(self._predicates[number][0]),
                query=self._query.name,
            )
        numbers = tuple(self._owner.number_of(condition) for condition in conditions)
        return Relation(number, numbers, is_late)

    def _condition(self, predicate: Expression, later: str | None, *, begins: bool) -> Condition:
        """Return a condition for the event of a NOT before one bound to `later`, or at the end.

        What is bound after that event is read when the match is complete.
        """
        bound: set[int] = set()
        bound_finally: set[int] = set()
        owner = self._owner

        def slot(leaf: Attribute) -> Expression:
            variables = owner.variables(leaf.variable)
            if not variables:
                return slot_attribute(Slot(Moment.CURRENT, attribute=leaf.name))
            is_first = leaf.reference is Reference.FIRST
            if later in variables and leaf.reference in {Reference.PLAIN, Reference.CURRENT}:
                return slot_attribute(Slot(Moment.PREVIOUS, attribute=leaf.name))
            kind = RegisterKind.FIRST if is_first else RegisterKind.LATEST
            register = owner.registers.number(kind, variables)
            is_known = later is None or (
                not begins
                and leaf.reference is not Reference.LAST
                and later not in variables
                and owner.is_earlier(variables, later)
            )
            (bound if is_known else bound_finally).add(register)
            moment = Moment.BEFORE if is_known else Moment.FINAL
            return slot_attribute(Slot(moment, register, leaf.name))

        resolved = ex.with_attributes(predicate, slot)
        return Condition(
            resolved, tuple(sorted(bound)), (), tuple(sorted(bound_finally)), predicate
        )
