"""A template made into tables: each part of the header, and what it points to, is put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.evaluations.reach import LAST_BIT
from benchmarks.evaluations.tables import Header, Tables, bit_of
from elsinore.automata.positions import FREE, Ways
from elsinore.matches.engine.compiler import MatchCompiler
from elsinore.matches.operands import Layout
from elsinore.matches.registers import Register, RegisterKind, register_places
from elsinore.matches.stepping import Stepper, stepper_over
from elsinore.matches.template import START, Edge, MatchTemplate
from elsinore.model.kinds import Strategy
from elsinore.operators.conditions.code import Code, Program
from elsinore.operators.conditions.comparisons import NEIGHBOUR, Comparison, comparison_of

_COMPARED = {RegisterKind.LEAST, RegisterKind.GREATEST, RegisterKind.PRESENT}
_SUMS = {RegisterKind.SUM, RegisterKind.SUM_HIGH}
_STRATEGIES = {Strategy.ANY: 0, Strategy.NEXT: 1, Strategy.CONTIGUOUS: 2}

Pair = tuple[int, ...]  # a comparison of two neighbours (`checks.pair_holds`)


class _Table:
    """Integers that are put one behind the other, behind the header."""

    def __init__(self) -> None:
        self.integers = [0] * Header.SIZE

    def __setitem__(self, entry: Header, value: int) -> None:
        self.integers[entry] = value

    def __getitem__(self, entry: Header) -> int:
        return self.integers[entry]

    def put(self, values: Sequence[int]) -> int:
        """Put values in; return where they are."""
        self.integers.extend(values)
        return len(self.integers) - len(values)

    def put_list(self, values: Sequence[int]) -> int:
        """Put a list in, its length first; return where it is."""
        return self.put([len(values), *values])

    def put_lists(self, count: int, lists: Callable[[int], Sequence[int] | int]) -> int:
        """Put in a directory of `count` places of lists; a number stands for itself."""
        at = self.put([0] * count)
        for number in range(count):
            value = lists(number)
            self.integers[at + number] = value if isinstance(value, int) else self.put_list(value)
        return at


def _pair(comparison: Comparison | None) -> tuple[int, int, int, int] | None:
    """Return operator, kind and columns of a comparison by order with the event before, or None."""
    if comparison is None or comparison.register != NEIGHBOUR or comparison.shift:
        return None
    if comparison.operator not in {Code.LT, Code.LE, Code.GT, Code.GE}:
        return None
    return comparison.operator, int(comparison.is_whole), comparison.current, comparison.other


def build_tables(template: MatchTemplate, layout: Layout) -> Tables:
    """Return the tables of a template.

    Rows of the layout are given out for what its conditions and registers read.
    """
    compiler = MatchCompiler(template.registers, layout)
    for condition in template.conditions:
        compiler.add(condition)
    program = compiler.program
    pairs = [_pair(comparison_of(program, n)) for n in range(len(template.conditions))]
    near = [condition.reads_neighbours_only for condition in template.conditions]
    places = register_places(template.registers)
    table = _Table()
    _put_sizes(table, template)
    _put_edges(table, template, near)
    steppers: list[Stepper] = []
    steps = _put_aggregates(table, template, layout, program, places, steppers)
    updates = [_updates(template, state, layout, steps) for state in range(len(template.states))]
    table[Header.UPDATE_AT] = table.put_lists(len(updates), updates.__getitem__)
    _put_sets(table, template)
    _put_conditions(table, program, pairs)
    table[Header.WHOLES_AT] = table.put(program.wholes)
    return Tables(
        integers=np.array(table.integers, dtype=np.int64),
        constants=np.array(program.constants, dtype=np.float64),
        program=program,
        steppers=steppers,
    )


def _put_sizes(table: _Table, template: MatchTemplate) -> None:
    """Put in how many states and registers there are, and what holds of all of a template."""
    kinds = [register.kind for register in template.registers]
    places = register_places(template.registers)
    table[Header.STATES] = len(template.states)
    table[Header.EVENTS] = sum(kind.holds_event for kind in kinds)
    widths = [register.width for register in template.registers]
    table[Header.NUMBERS] = sum(widths) - table[Header.EVENTS]
    table[Header.STRATEGY] = _STRATEGIES[template.strategy]
    table[Header.DEFERRED] = int(template.waits)
    sums = [p for p, kind in zip(places, kinds, strict=True) if kind in _SUMS]
    table[Header.SUM_AT] = table.put_list(sums)


def _put_edges(table: _Table, template: MatchTemplate, near: Sequence[bool]) -> None:
    """Put in edges, what each asks, and where a match ends; `near` [condition]: of neighbours."""
    states, edges = len(template.states), template.edges
    at = table.put([-1] * ((states + 1) * states))
    table[Header.EDGE_AT] = at
    for number, edge in enumerate(edges):
        table.integers[at + (edge.source + 1) * states + edge.target] = number
    table[Header.NEAR_AT] = table.put_lists(
        len(edges), lambda n: [c for c in edges[n].checks if near[c]]
    )
    table[Header.CHECK_AT] = table.put_lists(
        len(edges), lambda n: [c for c in edges[n].checks if not near[c]]
    )
    table[Header.LATE_AT] = table.put_lists(len(edges), lambda n: edges[n].late)
    table[Header.HAS_LATE] = int(any(edge.late for edge in edges))
    table[Header.FINAL_AT] = table.put_list(template.final)
    table[Header.LOOKS_AT] = table.put([_looks(edge, near) for edge in edges])
    table[Header.WAY_AT] = table.put_lists(len(edges), lambda n: _ways(edges[n].ways))
    table[Header.UNLESS_AT] = table.put_lists(len(edges), lambda n: _ways(edges[n].unless))
    ways = {end.state: _ways(end.ways) for end in template.ends}
    table[Header.END_AT] = table.put_lists(states, lambda n: ways.get(n, -2))
    sources = {edge.source for edge in edges}
    table[Header.ENDS_AT] = table.put([int(state not in sources) for state in range(states)])


def _put_aggregates(
    table: _Table,
    template: MatchTemplate,
    layout: Layout,
    program: Program,
    places: Sequence[int],
    steppers: list[Stepper],
) -> dict[Register, int]:
    """Put in the aggregates that users define, add their steppers; return where each is."""
    steps: dict[Register, int] = {}
    initial: list[int] = []
    for place, register in zip(places, template.registers, strict=True):
        if register.aggregate is None:
            continue
        made, rows = stepper_over(register.aggregate, register.arguments, layout)
        steppers.append(made)
        steps[register] = table.put(
            [register.aggregate.width, len(rows), made.address, made.python_address, *rows]
        )
        for number, value in enumerate((register.aggregate.empty, *made.initial)):
            initial += [place + number, len(program.constants)]
            program.constants.append(value)
    table[Header.INIT_AT] = table.put_list(initial)
    return steps


def _updates(
    template: MatchTemplate,
    state: int,
    layout: Layout,
    steps: dict[Register, int],
) -> list[int]:
    """Return what an event in a state does to registers, as `Header.UPDATE_AT` tells it."""
    every = {state.variable for state in template.states}
    begins = {edge.target for edge in template.edges if edge.source == START}
    updates = []
    places = register_places(template.registers)
    for place, register in zip(places, template.registers, strict=True):
        if template.states[state].variable not in register.variables:
            continue
        is_first = register.kind is RegisterKind.FIRST and every <= {*register.variables}
        if is_first and state not in begins:  # the match's first event has been bound
            continue
        is_whole, row = False, -1
        if register.kind in _COMPARED:
            is_whole, row = layout.comparable(register.attribute or "")
        elif register.kind in _SUMS:
            row = layout.half(
                register.attribute or "", is_high=register.kind is RegisterKind.SUM_HIGH
            )
        elif register.aggregate is not None:
            row = steps[register]
        kind = RegisterKind.SUM if register.kind in _SUMS else register.kind
        updates += [int(kind), place, row, int(is_whole)]
    return updates


def _put_conditions(table: _Table, program: Program, pairs: Sequence[Pair | None]) -> None:
    """Put in the code of conditions, and those that compare two neighbours."""
    table[Header.CODE_AT] = table.put_lists(len(pairs), program.code_of)
    table[Header.PAIR_AT] = at = table.put([-1] * len(pairs))
    for number, pair in enumerate(pairs):
        if pair is not None:
            table.integers[at + number] = table.put(pair)


def _put_sets(table: _Table, template: MatchTemplate) -> None:
    """Put in which states follow which, as bits."""
    following = [0] * (len(template.states) + 1)
    before = [0] * (LAST_BIT + 1)
    for edge in template.edges:
        following[edge.source + 1] |= 1 << bit_of(edge.target)
        if edge.source != START:
            before[bit_of(edge.target)] |= 1 << bit_of(edge.source)
    table[Header.NEXT_AT] = table.put(following)
    table[Header.BEFORE_AT] = table.put(before)
    table[Header.ENDING] = sum({1 << bit_of(end.state) for end in template.ends})
    fits = len(template.states) <= LAST_BIT
    plain = {
        edge for edge in template.edges if not edge.checks and edge.ways == FREE and not edge.unless
    }
    table[Header.IS_PLAIN] = int(fits and len(plain) == len(template.edges))


def _looks(edge: Edge, near: Sequence[bool]) -> int:
    is_near = any(near[c] for c in edge.checks) or edge.ways != FREE or bool(edge.unless)
    return int(is_near) + 2 * any(not near[c] for c in edge.checks)


def _ways(ways: Ways) -> int | list[int]:
    """Return -1 where nothing is forbidden, else each way's negatives, their number first."""
    if frozenset() in ways:
        return -1
    return [value for way in sorted(ways, key=sorted) for value in (len(way), *sorted(way))]
