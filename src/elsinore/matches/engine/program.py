"""The compilation of a template into the tables of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elsinore.automata.positions import FREE, Ways
from elsinore.matches.consistency import filters_of
from elsinore.matches.engine import codes
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.compiler import (
    Aggregates,
    Lists,
    MatchCompiler,
    Range,
    Updates,
    initial_numbers,
)
from elsinore.matches.operands import Layout
from elsinore.matches.registers import register_places
from elsinore.matches.relations import Relation
from elsinore.matches.template import START, Edge, End, MatchTemplate
from elsinore.model.kinds import AfterMatch, Strategy
from elsinore.operators.conditions.code import Program as Code
from elsinore.operators.conditions.comparisons import Comparison, comparison_of
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


@dataclass(frozen=True, slots=True)
class Compiled:
    """A template as a program, and the parts that Python reads.

    `comparisons` [condition] are the conditions that are one. `steppers` are those of the user's
    aggregates, in the order of their registers.
    """

    program: tb.Program
    code: Code
    comparisons: tuple[Comparison | None, ...]
    steppers: tuple[Stepper, ...]


class _Guards:
    """The guards of gaps: ways that must be free, and relations of the patterns in them."""

    def __init__(self, lists: Lists, places: Sequence[int]) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.ways: list[Range] = []
        self.negatives = Lists()
        self.relations = Lists()
        self.reads = Lists()
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
    """Return the program of a template, without classes and texts, which are set later.

    The layout assigns rows to the attributes that conditions and registers read.
    """
    compiler = MatchCompiler(template.registers, layout)
    for condition in template.conditions:
        compiler.add(condition)
    code = compiler.program
    comparisons = tuple(comparison_of(code, number) for number in range(len(code.starts) - 1))
    aggregates = Aggregates(template, layout)
    updates = Updates(template, layout, aggregates)
    lists = Lists()
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
    deadlines = Lists()
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
        "initials": initial_numbers(template, places, aggregates),
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
    return Compiled(program, code, comparisons, aggregates.steppers)


def _facts(template: MatchTemplate) -> dict[str, int]:
    """Return the fields of a program that describe the whole query."""
    selection = (
        codes.Selection.ALL if template.is_negative else SELECTIONS[template.query.after_match]
    )
    suppress = template.query.suppress
    return {
        "strategy": STRATEGIES[template.strategy],
        "is_deferred": int(template.waits),
        "decides_early": int(template.decides_early),
        "has_late": int(_has_late(template)),
        "ends_at_once": int(_ends_at_once(template)),
        "has_duplicates": int(template.duplicates and selection == codes.Selection.ALL),
        "selection": selection,
        "suppress": -1 if suppress is None or template.is_negative else suppress.within,
    }


def _states(
    template: MatchTemplate,
    ordered: Sequence[tuple[int, Edge]],
    lists: Lists,
    guards: _Guards,
    updates: Updates,
    filters: Sequence[Sequence[int]],
) -> list[tuple[int, ...]]:
    """Return the rows of `tables.STATE`; `ordered` are the edges by their sources."""
    sources = [edge.source for _, edge in ordered]
    first_edges = {
        edge.target: place for place, (_, edge) in enumerate(ordered) if edge.source == START
    }
    final = {end.state for end in template.ends}
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
                *lists.put(filters[state]),
            )
        )
    return states


def _ends(template: MatchTemplate) -> list[End]:
    """Return the end of each state; states in which no match ends have one without NOT."""
    ends = {end.state: end for end in template.ends}
    return [ends.get(state, End(state, FREE)) for state in range(len(template.states))]


def _is_plain(edge: Edge, near: Sequence[bool]) -> bool:
    """Return whether an edge has no checks of two neighbours."""
    return frozenset() in edge.ways and not edge.unless and not any(near[c] for c in edge.checks)


def _is_near(template: MatchTemplate, near: Sequence[bool]) -> bool:
    """Return whether all conditions compare neighbours only."""
    return (
        all(near[c] for edge in template.edges for c in edge.checks)
        and not template.final
        and not any(edge.late for edge in template.edges)
        and not template.relates_negatives
    )


def _ends_at_once(template: MatchTemplate) -> bool:
    """Return whether nothing is left to check when a match is complete."""
    begins = [edge.ways for edge in template.edges if edge.source == START]
    ends = [end.ways for end in template.ends]
    return (
        not (template.final or template.decides_early or _has_late(template))
        and template.uncertain is None
        and all(ways == FREE for ways in begins + ends)
    )


def _has_late(template: MatchTemplate) -> bool:
    """Return whether checks of single events wait until the match is complete."""
    return any(
        edge.late or (edge.source != START and any(relation.is_late for relation in edge.relations))
        for edge in template.edges
    )
