"""The compilation of a template into the tables of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elsinore.automata.positions import FREE, Ways
from elsinore.matches.aggregates import FORMULAS, UserAggregate
from elsinore.matches.consistency import filters_of
from elsinore.matches.engine import codes
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.compiler import MatchCompiler
from elsinore.matches.operands import Layout
from elsinore.matches.registers import Register, RegisterKind, register_places
from elsinore.matches.relations import Relation
from elsinore.matches.template import START, Edge, End, MatchTemplate
from elsinore.model.kinds import AfterMatch, Strategy
from elsinore.operators.conditions.code import Program as Code
from elsinore.operators.conditions.comparisons import NEIGHBOUR, Comparison, comparison_of
from elsinore.operators.conditions.tables import Conditions

if TYPE_CHECKING:
    from elsinore.matches.stepping import Stepper

STRATEGIES = {
    Strategy.ANY: codes.Strategy.ANY,
    Strategy.NEXT: codes.Strategy.NEXT,
    Strategy.CONTIGUOUS: codes.Strategy.CONTIGUOUS,
}
SELECTIONS = {
    None: codes.Selection.ALL,
    AfterMatch.NEXT_EVENT: codes.Selection.NEXT_EVENT,
    AfterMatch.LAST_EVENT: codes.Selection.LAST_EVENT,
}
SUMS = {RegisterKind.SUM, RegisterKind.SUM_HIGH}
COMPARED = {RegisterKind.LEAST, RegisterKind.GREATEST, RegisterKind.PRESENT}

Range = tuple[int, int]
Update = tuple[int, int, int, int, int, int]  # the fields of `tables.UPDATE`


@dataclass(frozen=True, slots=True)
class Compiled:
    """A template as a program, and what it was made from.

    `comparisons` [condition] are the conditions that are one. `steppers` are those of the user's
    aggregates, in the order of their registers. `known`: registers of events, by place, that hold
    the first (0) or the last row (1) of every match, and are not updated.
    """

    program: tb.Program
    code: Code
    comparisons: tuple[Comparison | None, ...]
    steppers: tuple[Stepper, ...]
    known: dict[int, int]


class _Lists:
    """Lists put one behind the other."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def put(self, values: Iterable[Any]) -> Range:
        """Append values; return their range."""
        begin = len(self.values)
        self.values.extend(values)
        return begin, len(self.values)


class _Guards:
    """What NOT forbids in the gaps of matches: ways, and relations of the patterns in them."""

    def __init__(self, lists: _Lists, places: Sequence[int]) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.ways: list[Range] = []
        self.negatives = _Lists()
        self.relations = _Lists()
        self.reads = _Lists()
        self._lists = lists  # of conditions
        self._places = places  # of registers

    def put(self, ways: Ways, relations: Iterable[Relation] = ()) -> int:
        """Append a guard; return its place."""
        begin = len(self.ways)
        self.ways += [self.negatives.put(sorted(way)) for way in sorted(ways, key=sorted)]
        related = self.relations.put(map(self._relation, relations))
        self.rows.append((int(frozenset() in ways), begin, len(self.ways), *related))
        return len(self.rows) - 1

    def _relation(self, relation: Relation) -> tuple[int, ...]:
        """Return a row of `tables.RELATION`."""
        conditions = self._lists.put(relation.conditions)
        reads = self.reads.put(self._places[register] for register in relation.reads)
        # bucket and limits: `elsinore.matches.engine.lookups`; matches: `listed`
        return relation.negative, *conditions, int(relation.is_late), -1, 0, 0, *reads, 0, 0


def compile_template(template: MatchTemplate, layout: Layout) -> Compiled:
    """Return the program of a template; classes and texts are put in later.

    Rows of the layout are given to what its conditions and registers read.
    """
    compiler = MatchCompiler(template.registers, layout)
    for condition in template.conditions:
        compiler.add(condition)
    code = compiler.program
    comparisons = tuple(comparison_of(code, number) for number in range(len(code.starts) - 1))
    known = known_rows(template, comparisons)
    aggregates = _Aggregates(template, layout)
    updates = _Updates(template, layout, known, aggregates)
    lists = _Lists()
    places = register_places(template.registers)
    guards = _Guards(lists, places)
    near = [condition.reads_neighbours_only for condition in template.conditions]
    ordered = sorted(enumerate(template.edges), key=lambda numbered: numbered[1].source)
    filters = [[] if template.is_negative else checked for checked in filters_of(template)]
    edges = [
        (
            edge.source,
            edge.target,
            *lists.put(c for c in edge.checks if near[c]),
            *lists.put(c for c in edge.checks if not near[c]),
            *lists.put(edge.late),
            guards.put(edge.ways, edge.relations),
            guards.put(edge.unless) if edge.unless and template.uncertain is None else -1,
            int(_is_plain(edge, near)),
            *(-1, -1, 0, 0),  # order, bucket and limits: `elsinore.matches.engine.lookups`
            *lists.put(filters[number]),
        )
        for number, edge in ordered
    ]
    sources = [edge.source for _, edge in ordered]
    deadlines = _Lists()
    of_states = [
        deadlines.put((d.ticks, d.negative, places[d.register]) for d in ends.deadlines)
        for ends in _ends(template)
    ]
    states = [
        (*state, *of_state)
        for state, of_state in zip(
            _states(template, ordered, lists, guards, updates, filters[len(edges) :]),
            of_states,
            strict=True,
        )
    ]
    final = lists.put(template.final)
    rows: dict[str, list[Any]] = {
        "states": states,
        "edges": edges,
        "guards": guards.rows,
        "ways": guards.ways,
        "negatives": guards.negatives.values,
        "updates": updates.values,
        "relations": guards.relations.values,
        "reads": guards.reads.values,
        "deadlines": deadlines.values,
        "initials": _initials(template, places, aggregates),
        "aggregates": aggregates.rows,
        "arguments": aggregates.arguments.values,
    }
    facts = {
        "conditions": Conditions(code, comparisons, lists.values),
        "first_edges": sources.count(START),
        "final": final[0],
        "final_end": final[1],
        "has_filters": int(any(filters) and template.uncertain is None),
        "is_uncertain": int(template.uncertain is not None),
        "is_near": int(_is_near(template, near)),
        **_facts(template),
    }
    program = tb.Program(rows, facts)
    by_place = {places[number]: row for number, row in known.items()}
    return Compiled(program, code, comparisons, aggregates.steppers, by_place)


def _facts(template: MatchTemplate) -> dict[str, int]:
    """Return the fields of a program that are about the whole query."""
    selection = (
        codes.Selection.ALL if template.is_negative else SELECTIONS[template.query.after_match]
    )
    suppress = template.query.suppress
    return {
        "strategy": STRATEGIES[template.strategy],
        "is_deferred": int(template.waits),
        "decides_early": int(template.decides_early),
        "has_late": int(_has_late(template)),
        "has_duplicates": int(template.duplicates and selection == codes.Selection.ALL),
        "selection": selection,
        "suppress": -1 if suppress is None or template.is_negative else suppress.within,
    }


def _states(
    template: MatchTemplate,
    ordered: Sequence[tuple[int, Edge]],
    lists: _Lists,
    guards: _Guards,
    updates: _Updates,
    filters: Sequence[Sequence[int]],
) -> list[tuple[int, ...]]:
    """Return the rows of `tables.STATE`; `ordered` are the edges by their sources."""
    sources = [edge.source for _, edge in ordered]
    first_edges = {
        edge.target: place for place, (_, edge) in enumerate(ordered) if edge.source == START
    }
    final = {end.state for end in template.ends}
    has_leaves = _has_leaves(template)
    states: list[tuple[int, ...]] = []
    for state, end in enumerate(_ends(template)):
        begin = sum(source < state for source in sources)
        states.append(
            (
                *(begin, begin + sources.count(state)),
                first_edges.get(state, -1),
                int(state in final),
                guards.put(end.ways, end.relations),
                *updates.put(state),
                int(has_leaves and state in final and end.ways == FREE and state not in sources),
                *lists.put(filters[state]),
            )
        )
    return states


def _ends(template: MatchTemplate) -> list[End]:
    """Return the end of each state; one without NOT where no match ends."""
    ends = {end.state: end for end in template.ends}
    return [ends.get(state, End(state, FREE)) for state in range(len(template.states))]


def _is_plain(edge: Edge, near: Sequence[bool]) -> bool:
    """Return whether nothing between two neighbours is checked at an edge."""
    return frozenset() in edge.ways and not edge.unless and not any(near[c] for c in edge.checks)


def _is_near(template: MatchTemplate, near: Sequence[bool]) -> bool:
    """Return whether all conditions compare neighbours only."""
    return (
        all(near[c] for edge in template.edges for c in edge.checks)
        and not template.final
        and not any(edge.late for edge in template.edges)
        and not template.relates_negatives
    )


def _has_late(template: MatchTemplate) -> bool:
    """Return whether something about single events is checked when the match is complete."""
    return any(
        edge.late or (edge.source != START and any(relation.is_late for relation in edge.relations))
        for edge in template.edges
    )


def _has_leaves(template: MatchTemplate) -> bool:
    """Return whether matches are complete at once in states that nothing follows."""
    return (
        template.strategy is Strategy.ANY
        and not template.final
        and not template.decides_early
        and not _has_late(template)
        and all(edge.ways == FREE for edge in template.edges if edge.source == START)
        and all(
            register.aggregate is None and not register.position for register in template.registers
        )
    )


# --- registers


class _Aggregates:
    """The aggregates in Python: their rows of `tables.AGGREGATE`, and their steppers."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.arguments = _Lists()
        self.steppers: tuple[Stepper, ...] = ()
        self.numbers: dict[Register, int] = {}
        # registers that take over states from one another have one stepper, which keeps the states
        by_arguments: dict[tuple[UserAggregate, tuple[str, ...]], tuple[Stepper, list[int]]] = {}
        for register in template.registers:
            if register.aggregate is None:
                continue
            from elsinore.matches.stepping import stepper_over  # noqa: PLC0415 - few queries need it

            read = register.aggregate, register.arguments
            if read not in by_arguments:
                by_arguments[read] = stepper_over(*read, layout)
            made, rows = by_arguments[read]
            self.steppers += (made,)
            self.numbers[register] = len(self.rows)
            arguments = self.arguments.put(rows)
            width = 1 + register.aggregate.width
            name = register.aggregate.name
            formula = codes.Formula[name] if name in FORMULAS else codes.Formula.CALL
            row = made.address, made.python_address, *arguments, width, int(formula)
            self.rows.append(row)


def _initials(
    template: MatchTemplate, places: Sequence[int], aggregates: _Aggregates
) -> list[tuple[float, int]]:
    """Return what registers of numbers are before the first event, unless 0: sums are null."""
    nothing = float("nan")
    initials = []
    for place, register in zip(places, template.registers, strict=True):
        if register.kind in SUMS:
            initials.append((nothing, place))
        elif register.aggregate is not None:
            state = aggregates.steppers[aggregates.numbers[register]].initial
            values = enumerate((register.aggregate.empty, *state))
            initials += [(value, place + at) for at, value in values]
    return initials


class _Updates:
    """What events do to registers, by the state that they are in."""

    def __init__(
        self,
        template: MatchTemplate,
        layout: Layout,
        known: dict[int, int],
        aggregates: _Aggregates,
    ) -> None:
        self.values: list[Update] = []
        self._template = template
        self._layout = layout
        self._known = known
        self._aggregates = aggregates
        self._places = register_places(template.registers)

    def put(self, state: int) -> Range:
        """Append the updates of a state; return their range."""
        begin = len(self.values)
        template = self._template
        every = {state.variable for state in template.states}
        begins = {edge.target for edge in template.edges if edge.source == START}
        for number, register in enumerate(template.registers):
            if template.states[state].variable not in register.variables:
                continue
            if number in self._known:  # nothing reads it before the match is complete
                continue
            is_upper = register.kind is RegisterKind.SUM_HIGH
            if is_upper and not self._layout.has_halves(register.attribute or ""):
                continue  # it stays null: the other half has the whole sum
            is_first = register.kind is RegisterKind.FIRST and every <= {*register.variables}
            if is_first and state not in begins:  # the match's first event has been bound
                continue
            self.values.append(self._update(number, register))
        return begin, len(self.values)

    def _update(self, number: int, register: Register) -> Update:
        is_whole, column = False, -1
        attribute = register.attribute or ""
        if register.kind in COMPARED:
            is_whole, column = self._layout.comparable(attribute)
        elif register.kind in SUMS:
            column = self._layout.half(attribute, is_high=register.kind is RegisterKind.SUM_HIGH)
        elif register.aggregate is not None:
            column = self._aggregates.numbers[register]
        kind = RegisterKind.SUM if register.kind in SUMS else register.kind
        if register.nearest > 1:
            kind = RegisterKind.LAG if kind.holds_event else RegisterKind.MOVED
        source, width = self._source(number, register)
        return int(kind), self._places[number], column, int(is_whole), source, width

    def _source(self, number: int, register: Register) -> tuple[int, int]:
        """Return the place of the register that one takes over from, and how many values.

        One that aggregates the latest event alone begins anew: its source is its own place.
        """
        if register.neighbour is None:
            source = self._places[number]
        else:
            source = self._places[self._template.registers.index(register.neighbour)]
        if register.kind is RegisterKind.NTH or not register.position:
            return source, 0
        return source, 1 if register.aggregate is None else 1 + register.aggregate.width


def known_rows(template: MatchTemplate, comparisons: Sequence[Comparison | None]) -> dict[int, int]:
    """Return the registers, by number, that need no update: see `Compiled.known`."""
    if not compares_neighbours(template, comparisons):
        return {}
    rows = {n: known_row(template, register) for n, register in enumerate(template.registers)}
    return {number: row for number, row in rows.items() if row is not None}


def known_row(template: MatchTemplate, register: Register) -> int | None:
    """Return which row of a match a register always holds: 0 its first, 1 its last; else None.

    That is when the match is complete: before it, a register of the last row may hold others.
    """
    bound = {n for n, s in enumerate(template.states) if s.variable in register.variables}
    begins = {edge.target for edge in template.edges if edge.source == START}
    later = {edge.target for edge in template.edges if edge.source != START}
    if register.kind is RegisterKind.LATEST and bound >= {end.state for end in template.ends}:
        return 1
    if register.kind is RegisterKind.FIRST or not bound & later:  # of one event the first and last
        is_one = register.kind in {RegisterKind.FIRST, RegisterKind.LATEST}
        return 0 if is_one and bound >= begins else None
    return None


def compares_neighbours(template: MatchTemplate, comparisons: Sequence[Comparison | None]) -> bool:
    """Return whether only comparisons of neighbouring events decide how a match continues."""
    checks = [comparisons[check] for edge in template.edges for check in edge.checks]
    return (
        not (template.duplicates or template.final or template.negatives)
        and template.uncertain is None
        and not template.query.collapsed
        and all(
            register.aggregate is None and not register.position for register in template.registers
        )
        and all(not edge.late and edge.ways == FREE for edge in template.edges)
        and all(end.ways == FREE for end in template.ends)
        and all(not edge.checks for edge in template.edges if edge.source == START)
        and all(check is not None and check.register == NEIGHBOUR for check in checks)
    )
