"""Conditions of a match query: when each of them is evaluated, and what it reads.

- A condition on one event is *local*: events are classified by it before they reach the engine.
- A condition that reads `b[b.LEN]` or `b[]` is evaluated when the match is complete.
- Any other condition is evaluated when an event is selected for one of its variables. That event
  is the current one (`b[i]`, or `b` alone); other variables mean their latest event, `b[1]` the
  first, `b[i-1]` the previous neighbour, `b[1..i-1]` all earlier events, and `b[i-3..i-1]` up to
  three of them. A condition that reads earlier events does not apply if there are none.
- A condition that reads a variable which the match does not bind does not apply. Only `COUNT(a[])`
  needs no event: it is 0.
- A condition on two variables alone means the same as for trends: if the earlier variable is
  repeated and the two may be neighbours, it compares neighbours; an event bound to a single
  variable is compared with all later events. In a repeated group, events of one round are compared.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass

from elsinore.errors import QuerySemanticError
from elsinore.matches.aggregates import Aggregates
from elsinore.matches.registers import (
    RegisterKind,
    Registers,
    Slot,
    aggregate_of,
    slot_attribute,
    slot_of,
)
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import (
    AGGREGATES,
    Attribute,
    Call,
    Expression,
    Reference,
)
from elsinore.model.query import Query
from elsinore.operators.conditions.code import Moment
from elsinore.plan.between import goes_back, is_local
from elsinore.plan.predicates import place_of

LATE = frozenset({Reference.LAST, Reference.ALL, Reference.NTH, Reference.FROM_LAST})
RANGES = frozenset({Reference.ALL, Reference.EARLIER, Reference.RECENT})
SINGLE = frozenset({Reference.PLAIN, Reference.CURRENT})
INDEXED = frozenset(
    {
        *(Reference.CURRENT, Reference.PREVIOUS, Reference.BACK),
        *(Reference.EARLIER, Reference.RECENT),
    }
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition whose operands are slots.

    It applies to an event, or a match, only if the registers `bound` contain an event before it,
    `bound_finally` at the end, and those in `unbound` contain none before it; else it is true.
    """

    expression: Expression
    bound: tuple[int, ...]
    unbound: tuple[int, ...]
    bound_finally: tuple[int, ...]
    source: Expression  # as written in the query

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it reads."""
        return tuple(leaf.name for leaf in ex.attributes(self.expression) if leaf.name is not None)

    @property
    def reads_neighbours_only(self) -> bool:
        """Whether it reads the current and the previous event alone."""
        moments = {slot_of(leaf).moment for leaf in ex.attributes(self.expression)}
        return moments <= {Moment.CURRENT, Moment.PREVIOUS} and not (self.bound or self.unbound)


class _DoesNotApplyError(Exception):
    """A condition does not apply to an event."""


class Conditions:
    """The conditions of one whole pattern, resolved for its edges."""

    def __init__(
        self,
        query: Query,
        whole: pt.Pattern,
        pairs: frozenset[tuple[str, str]],
        aggregates: Aggregates | None = None,
    ) -> None:
        """Select the conditions on variables of `whole`; `pairs` are possible neighbours."""
        self.registers = Registers(aggregates)
        self._query = query
        self._whole = whole
        self._pairs = pairs
        self._variables = {event.variable for event in pt.positive_events(whole)}
        self._kleene = pt.kleene_variables(whole)
        self._conditions: dict[Condition, int] = {}
        self._applied: set[Expression] = set()
        self.predicates = tuple(
            predicate
            for predicate in query.where
            if not is_local(predicate) and self._is_of_pattern(predicate)
        )

    @property
    def all(self) -> tuple[Condition, ...]:
        """The conditions of edges and of the match, by number."""
        return tuple(self._conditions)

    def of_edge(self, before: str | None, later: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the conditions of an event bound to `later` after one bound to `before`.

        First those evaluated when it is selected, then those evaluated when the match is complete.
        """
        checks: dict[int, None] = {}
        late: dict[int, None] = {}
        for predicate in self.predicates:
            if self._is_of_match(predicate):
                continue
            numbers = late if self._is_late(predicate) else checks
            for condition in self._of_event(predicate, before, later):
                self._applied.add(predicate)
                numbers[self.number_of(condition)] = None
        return tuple(checks), tuple(late)

    def of_match(self) -> tuple[int, ...]:
        """Return the conditions on the whole match."""
        predicates = [p for p in self.predicates if self._is_of_match(p)]
        self._applied.update(predicates)
        resolved = [_Resolved(self, predicate).condition() for predicate in predicates]
        return tuple(dict.fromkeys(self.number_of(condition) for condition in resolved))

    def number_of(self, condition: Condition) -> int:
        """Return the number of a condition; equal conditions have one number."""
        return self._conditions.setdefault(condition, len(self._conditions))

    def refuse_unapplied(self) -> None:
        """Raise QuerySemanticError for conditions that apply to no event of a match."""
        for predicate in self.predicates:
            if predicate in self._applied:
                continue
            names = list(dict.fromkeys(leaf.variable for leaf in ex.attributes(predicate)))
            raise QuerySemanticError(
                f"No event of a match is one that this condition is about: {' and '.join(names)} "
                "do not come after one another as it asks. Compare an event with earlier ones of "
                "the same round of a repeated group.",
                span=place_of(predicate),
                query=self._query.name,
            )

    # --- variables

    def variables(self, name: str) -> tuple[str, ...]:
        """Return the variables of this pattern that a name denotes."""
        return tuple(v for v in variables_named(self._query.pattern, name) if v in self._variables)

    def _is_of_pattern(self, predicate: Expression) -> bool:
        """Return whether all variables of a condition are in this pattern.

        Conditions on two patterns relate a NOT to the match (`elsinore.matches.relations`).
        """
        return all(self.variables(leaf.variable) for leaf in ex.attributes(predicate))

    def _is_late(self, predicate: Expression) -> bool:
        return any(attribute.reference in LATE for attribute in ex.attributes(predicate))

    def _is_of_match(self, predicate: Expression) -> bool:
        """Return whether a condition is about the match as a whole."""
        return self._is_late(predicate) and not self._iterating(predicate)

    def _iterating(self, predicate: Expression) -> list[str]:
        """Return the names that denote each event of a repeated variable in turn."""
        return [
            leaf.variable
            for leaf in ex.attributes(predicate)
            if leaf.reference in INDEXED
            or (leaf.reference is Reference.PLAIN and self.is_kleene(leaf.variable))
        ]

    def is_aggregate(self, name: str) -> bool:
        """Return whether a function is an aggregate, of the language or of the user."""
        return name in AGGREGATES or name in self.registers.aggregates

    def is_kleene(self, name: str) -> bool:
        """Return whether a name may denote several events of a match."""
        variables = self.variables(name)
        return len(variables) > 1 or bool(self._kleene.intersection(variables))

    def always_binds(self, variables: tuple[str, ...]) -> bool:
        """Return whether every match has an event of one of some variables."""
        return pt.always_binds(self._whole, frozenset(variables))

    # --- resolving

    def _of_event(self, predicate: Expression, before: str | None, later: str) -> list[Condition]:
        """Return the conditions for an event bound to `later` after one bound to `before`.

        A condition on two variables compares each variable that the name of the earlier one
        denotes: neighbours, if it is repeated and the two may be neighbours.
        """
        read = ex.attributes(predicate)
        names = list(dict.fromkeys(attribute.variable for attribute in read))
        pairs: list[tuple[str, str] | None] = [None]
        if len(names) == 2 and {attribute.reference for attribute in read} <= SINGLE:
            pairs = [
                (earlier_name, earlier)
                for earlier_name, later_name in itertools.permutations(names)
                for earlier in self.variables(earlier_name)
                if later in self.variables(later_name)
                and (before == earlier or not self._are_neighbours(earlier, later))
            ]
        triggers = self._iterating(predicate) if self._is_late(predicate) else names
        if not any(later in self.variables(name) for name in triggers):
            return []
        conditions: dict[Condition, None] = {}
        for pair in pairs:
            with contextlib.suppress(_DoesNotApplyError):
                conditions[_Resolved(self, predicate, before, later, pair).condition()] = None
        return list(conditions)

    def _are_neighbours(self, earlier: str, later: str) -> bool:
        """Return whether a repeated variable is compared only with a neighbour of `later`."""
        return earlier in self._kleene and (earlier, later) in self._pairs

    def is_earlier(self, variables: tuple[str, ...], later: str) -> bool:
        """Return whether some of the variables may come before `later` in one round."""
        return any(not goes_back(self._whole, variable, later) for variable in variables)

    def is_always_later(self, name: str, other: str) -> bool:
        """Return whether the events of a name come after those of another one in each round."""
        return all(
            goes_back(self._whole, v, w)
            for v in self.variables(name)
            for w in self.variables(other)
        )


class _Resolved:
    """One condition, resolved for an event bound to `later` after one bound to `before`.

    Without `later` it is resolved for the whole match. `pair`, of two events that are compared, is
    the name that stands for the earlier one, and the variable that this is bound to.
    """

    def __init__(
        self,
        owner: Conditions,
        predicate: Expression,
        before: str | None = None,
        later: str | None = None,
        pair: tuple[str, str] | None = None,
    ) -> None:
        self._owner = owner
        self._predicate = predicate
        self._before = before
        self._later = later
        self._pair = pair
        self._late = owner._is_late(predicate)
        self._bound: set[int] = set()
        self._unbound: set[int] = set()
        self._finally: set[int] = set()

    def condition(self) -> Condition:
        """Return the condition; raises _DoesNotApplyError if it does not apply to such an event."""
        expression = self._resolve(self._predicate)
        return Condition(
            expression,
            tuple(sorted(self._bound)),
            tuple(sorted(self._unbound)),
            tuple(sorted(self._finally)),
            self._predicate,
        )

    def _resolve(self, node: Expression) -> Expression:
        match node:
            case Attribute():
                return slot_attribute(self._slot(node))
            case Call(name) if self._owner.is_aggregate(name):
                return self._aggregate(node)
            case _:
                return ex.with_children(node, tuple(map(self._resolve, ex.children(node))))

    def _slot(self, leaf: Attribute) -> Slot:
        owner, later, name = self._owner, self._later, leaf.name
        variables = owner.variables(leaf.variable)
        number = owner.registers.number
        match leaf.reference:
            case Reference.LAST:
                register = number(RegisterKind.LATEST, variables)
                self._finally.add(register)
                return Slot(Moment.FINAL, register, name)
            case Reference.NTH | Reference.FROM_LAST:
                register = owner.registers.at(leaf, variables)
                self._finally.add(register)
                return Slot(Moment.FINAL, register, name)
            case Reference.BACK:
                if later not in variables or self._before not in variables:
                    raise _DoesNotApplyError
                register = owner.registers.at(leaf, variables)
                self._bound.add(register)
                return Slot(Moment.BEFORE, register, name)
            case Reference.FIRST:
                register = number(RegisterKind.FIRST, variables)
                if self._late:
                    self._finally.add(register)
                    return Slot(Moment.FINAL, register, name)
                if later in variables and not self._iterates(leaf.variable):
                    self._unbound.add(register)  # the first event itself
                    return Slot(Moment.CURRENT, attribute=name)
                return self._before_slot(register, variables, name)
            case Reference.PREVIOUS:
                if later not in variables or self._before not in variables:
                    raise _DoesNotApplyError
                return Slot(Moment.PREVIOUS, attribute=name)
            case _:
                if self._pair is not None and self._pair[0] == leaf.variable:
                    variables = (self._pair[1],)
                elif later in variables:
                    return Slot(Moment.CURRENT, attribute=name)
                if self._late and not owner.is_kleene(leaf.variable):
                    register = number(RegisterKind.LATEST, variables)
                    self._finally.add(register)
                    return Slot(Moment.FINAL, register, name)
                if later is None or not owner.is_earlier(variables, later):
                    raise _DoesNotApplyError
                if self._before in variables:
                    return Slot(Moment.PREVIOUS, attribute=name)
                register = number(RegisterKind.LATEST, variables)
                return self._before_slot(register, variables, name)

    def _before_slot(self, register: int, variables: tuple[str, ...], name: str | None) -> Slot:
        if self._later is None or not self._owner.is_earlier(variables, self._later):
            raise _DoesNotApplyError
        self._bound.add(register)
        return Slot(Moment.BEFORE, register, name)

    def _iterates(self, name: str) -> bool:
        """Return whether the condition reads other events of a variable than its first one."""
        return any(
            attribute.variable == name and attribute.reference in INDEXED | SINGLE
            for attribute in ex.attributes(self._predicate)
        )

    def _aggregate(self, call: Call) -> Expression:
        leaf = ex.attributes(call)[0]  # all of them are of one variable (`over`)
        variables = self._owner.variables(leaf.variable)
        if leaf.reference is Reference.ALL:
            moment = Moment.FINAL
            if call.name not in ex.COUNTS and not self._owner.always_binds(variables):
                self._finally.add(self._owner.registers.number(RegisterKind.FIRST, variables))
        else:  # EARLIER, RECENT: it is about events that have one of these
            if self._later not in variables:
                raise _DoesNotApplyError
            moment = Moment.BEFORE
            if leaf.nearest > 1:
                self._bound.add(self._owner.registers.back(leaf.nearest, variables))
            else:
                self._bound.add(self._owner.registers.number(RegisterKind.FIRST, variables))
        return aggregate_of(self._owner.registers, call, variables, moment)
