"""What a NOT forbids only in relation to the match: `SEQ(A a, NOT C c) WHERE c.ref = a.id`.

Events between the two neighbours of the gap exclude the match if they fulfil the NOT's own
conditions and all those that relate them to variables which the match binds. A repeated variable of
the match stands for its event right after the gap, or else for its latest one; one under NOT for
each of its events. Relations to events that come later than the gap are checked when the match is
complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.automata.positions import Ways
from elsinore.errors import QuerySemanticError
from elsinore.matches.conditions import Condition, Conditions
from elsinore.matches.registers import RegisterKind, Slot, slot_attribute
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Expression, Reference
from elsinore.model.query import Query
from elsinore.operators.conditions.code import Moment
from elsinore.plan.predicates import place_of
from elsinore.plan.related import positive_variables, related_negatives

_UNDER_NOT = {Reference.FIRST: RegisterKind.FIRST, Reference.LAST: RegisterKind.LATEST}


@dataclass(frozen=True, slots=True)
class Relation:
    """The conditions that relate the events of a NOT, by its number, to a match.

    They read the event after the gap as the previous one, and the event of a NOT of one event as
    the current one. Several events are read in the registers `reads`, into which those of one match
    of the NOT after the other are put. `is_late`: they are checked when the match is complete.
    """

    negative: int
    conditions: tuple[int, ...]
    is_late: bool
    reads: tuple[int, ...] = ()


class Relations:
    """The relations of a pattern's NOTs, resolved for its edges and ends."""

    def __init__(
        self, query: Query, whole: pt.Pattern, negatives: Sequence[pt.Pattern], owner: Conditions
    ) -> None:
        self._query, self._whole, self._owner = query, whole, owner
        self._negatives = negatives
        self._predicates: dict[int, list[Expression]] = {}
        for predicate in query.where if whole is query.pattern else ():
            for negative in related_negatives(query, predicate):
                number = negatives.index(negative)
                self._predicates.setdefault(number, []).append(predicate)
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
        reads: dict[int, None] = {}
        conditions = [
            self._condition(predicate, self._negatives[number], reads, later, begins=begins)
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
        return Relation(number, numbers, is_late, tuple(reads))

    def _condition(
        self,
        predicate: Expression,
        negative: pt.Pattern,
        reads: dict[int, None],
        later: str | None,
        *,
        begins: bool,
    ) -> Condition:
        """Return a condition for the events of a NOT before one bound to `later`, or at the end.

        What is bound after that event is read when the match is complete. Registers of events under
        NOT are added to `reads`.
        """
        bound: set[int] = set()
        bound_finally: set[int] = set()
        owner = self._owner

        def slot(leaf: Attribute) -> Expression:
            variables = owner.variables(leaf.variable)
            if not variables and isinstance(negative, pt.Event):
                return slot_attribute(Slot(Moment.CURRENT, attribute=leaf.name))
            if not variables:
                under_not = positive_variables(self._query, leaf.variable, negative)
                kind = _UNDER_NOT.get(leaf.reference, RegisterKind.EACH)
                register = owner.registers.number(kind, under_not)
                reads[register] = None
                bound.add(register)
                return slot_attribute(Slot(Moment.BEFORE, register, leaf.name))
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
