"""RETURN of a match query: how each column is computed (SASE++, Section 2.1: new events).

An item is an attribute of one event of the match, an aggregate of a variable's events, a list of
them, or an expression over these. The planner chooses registers for them;
`elsinore.matches.columns` computes the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from elsinore.errors import QuerySemanticError, UnsupportedError
from elsinore.language import column_name, render
from elsinore.matches.aggregates import no_function
from elsinore.matches.registers import RegisterKind, Registers, Slot, aggregate_of, over
from elsinore.matches.registers import slot_attribute as slotted
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.clauses import ReturnItem
from elsinore.model.expression import AGGREGATES, Attribute, Call, Expression, Reference
from elsinore.model.query import Query
from elsinore.operators.conditions.code import Moment


class ColumnKind(Enum):
    """How a column of the result is computed."""

    VALUE = "value"  # an attribute of the event in a register
    COUNT = "count"  # the count in a register
    COMPUTED = "computed"  # an expression over registers and their events
    LIST = "list"  # an attribute of all events of some variables
    EVENTS = "events"  # all attributes of all events of some variables
    MATCH_NUMBER = "match number"  # MATCH_NUMBER(), counted for each key


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the result: its name, how it is computed, and its inputs.

    `expression` reads slots of the complete match; `variables` are those of the events in a list,
    `fields` the attributes of whole events.
    """

    name: str
    kind: ColumnKind
    expression: Expression | None = None
    register: int = -1
    attribute: str | None = None
    variables: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it reads."""
        read = [self.attribute] if self.attribute is not None else [*self.fields]
        if self.expression is not None:
            read += [leaf.name for leaf in ex.attributes(self.expression) if leaf.name is not None]
        return tuple(dict.fromkeys(read))


# Aggregates whose value is a register, and the kinds of their columns.
_DIRECT = {
    "MIN": (RegisterKind.LEAST, ColumnKind.VALUE),
    "MAX": (RegisterKind.GREATEST, ColumnKind.VALUE),
    "COUNT": (RegisterKind.PRESENT, ColumnKind.COUNT),
}


def returned(
    query: Query, registers: Registers, attributes: tuple[str, ...] = ()
) -> tuple[Column, ...]:
    """Return the columns of a match query without those of grouping attributes.

    `attributes` are those of events, for lists of whole events. Raises QuerySemanticError if it is
    not clear which event an item is of, or two columns have one name; UnsupportedError for
    expressions that are not supported.
    """
    columns = []
    names = set(query.group_by) | ({"window_start", "window_end"} if is_windowed(query) else set())
    for item in query.returns:
        if isinstance(item.expression, ex.Column) and item.expression.name in query.group_by:
            continue
        column = _column(query, item, registers, attributes)
        if column.name in names:
            raise QuerySemanticError(
                f"Two columns of the result are named '{column.name}': give one an alias with AS.",
                span=item.expression.span,
                query=query.name,
            )
        names.add(column.name)
        columns.append(column)
    return tuple(columns)


def is_windowed(query: Query) -> bool:
    """Return whether windows do not depend on matches: WITHIN with SLIDE."""
    return query.window is not None and query.window.slide is not None


@dataclass(frozen=True, slots=True)
class _Scope:
    """An item of RETURN, its query and the registers of the template."""

    query: Query
    item: ReturnItem
    registers: Registers

    @property
    def positive(self) -> set[str]:
        """The variables that a match binds: all but those under NOT."""
        return {event.variable for event in pt.positive_events(self.query.pattern)}

    def variables(self, leaf: Attribute) -> tuple[str, ...]:
        """Return the variables of the match that an attribute may be of."""
        named = variables_named(self.query.pattern, leaf.variable)
        return tuple(variable for variable in named if variable in self.positive)


def _column(
    query: Query, item: ReturnItem, registers: Registers, attributes: tuple[str, ...]
) -> Column:
    name, scope = column_name(item), _Scope(query, item, registers)
    match item.expression:
        case ex.Column(attribute):
            every = tuple(sorted(scope.positive))
            first = registers.number(RegisterKind.FIRST, every)
            return Column(name, ColumnKind.VALUE, register=first, attribute=attribute)
        case Attribute(_, attribute, Reference.ALL):
            every = scope.variables(item.expression)
            if attribute is None:
                return Column(name, ColumnKind.EVENTS, variables=every, fields=attributes)
            return Column(name, ColumnKind.LIST, attribute=attribute, variables=every)
        case Call("EVENT_IDS", arguments):
            read = next((node.name for node in arguments if isinstance(node, ex.Column)), "id")
            every = tuple(sorted(scope.positive))
            return Column(name, ColumnKind.LIST, attribute=read, variables=every)
        case Call("MATCH_NUMBER"):
            return Column(name, ColumnKind.MATCH_NUMBER)
        case Attribute() as leaf:
            slot = _slot(query, leaf, scope.variables(leaf), registers)
            return Column(name, ColumnKind.VALUE, register=slot.register, attribute=slot.attribute)
        case Call("MIN" | "MAX" | "COUNT" as function, (argument,)) as call:
            every = scope.variables(_operand(query, call))
            over_what = registers.argument(argument)
            kind, made = _DIRECT[function]
            kind = RegisterKind.COUNT if function == "COUNT" and over_what is None else kind
            number = registers.number(kind, every, over_what)
            return Column(name, made, register=number, attribute=over_what)

    return Column(name, ColumnKind.COMPUTED, expression=_resolved(scope, item.expression))


def _resolved(scope: _Scope, node: Expression) -> Expression:
    """Return an expression over slots of the complete match.

    Raises QuerySemanticError or UnsupportedError for nodes that cannot be computed.
    """
    query, registers = scope.query, scope.registers
    match node:
        case Attribute():
            return slotted(_slot(query, node, scope.variables(node), registers))
        case Call(function) if function in AGGREGATES or function in registers.aggregates:
            every = scope.variables(_operand(query, node))
            return aggregate_of(registers, node, every, Moment.FINAL)
        case Call("CONFIDENCE"):
            number = registers.number(RegisterKind.CONFIDENCE, ())
            return slotted(Slot(Moment.FINAL, number))
        case Call("MATCH_NUMBER" | "EVENT_IDS"):
            raise QuerySemanticError(
                f"{node.name} is a column of its own: nothing is computed with it.",
                span=node.span or query.span,
                query=query.name,
            )
        case Call(function) if function not in ex.BETWEEN_EVENTS:
            raise QuerySemanticError(
                no_function(node.name, registers.aggregates),
                span=node.span or query.span,
                query=query.name,
            )
        case ex.Column():
            raise UnsupportedError(
                f"RETURN: {render(node)} is not supported yet. Return what it is computed of.",
                span=node.span or scope.item.expression.span or query.span,
                query=query.name,
            )
    return ex.with_children(node, tuple(_resolved(scope, part) for part in ex.children(node)))


def _slot(query: Query, leaf: Attribute, variables: tuple[str, ...], registers: Registers) -> Slot:
    """Return the slot of an attribute of one event of a complete match."""
    several = len(variables) > 1 or bool(pt.kleene_variables(query.pattern).intersection(variables))
    name = leaf.variable
    if leaf.reference in {Reference.NTH, Reference.FROM_LAST}:
        return Slot(Moment.FINAL, registers.at(leaf, variables), leaf.name)
    if leaf.reference is Reference.FIRST:
        kind = RegisterKind.FIRST
    elif leaf.reference is Reference.LAST or (leaf.reference is Reference.PLAIN and not several):
        kind = RegisterKind.LATEST
    else:
        attribute = leaf.name or "x"
        raise QuerySemanticError(
            f"'{name}' may be bound to several events of a match: say which is meant, as "
            f"{name}[1].{attribute} or {name}[{name}.LEN].{attribute}, or what of all of them, as "
            f"{name}[].{attribute} or MAX({name}[].{attribute}).",
            span=leaf.span or query.span,
            query=query.name,
        )
    return Slot(Moment.FINAL, registers.number(kind, variables), leaf.name)


def _operand(query: Query, call: Call) -> Attribute:
    """Return the operand of an aggregate, which is over all events of a variable."""
    events_or_why = over(call)
    if isinstance(events_or_why, str):
        raise QuerySemanticError(events_or_why, span=call.span or query.span, query=query.name)
    leaf = ex.attributes(call)[0]
    if leaf.reference is not Reference.ALL:
        raise QuerySemanticError(
            f"An aggregate of a match is over all events of a variable: write "
            f"{leaf.variable}[]{'.' + leaf.name if leaf.name else ''}.",
            span=leaf.span or query.span,
            query=query.name,
        )
    return leaf


def group_column(query: Query, name: str) -> str:
    """Return the name of a grouping attribute in the result: its alias in RETURN, if any."""
    for item in query.returns:
        if isinstance(item.expression, ex.Column) and item.expression.name == name and item.alias:
            return item.alias
    return name
