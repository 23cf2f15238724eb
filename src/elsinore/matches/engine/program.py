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
    Checks,
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
from elsinore.operators.conditions.code import Program as Code
from elsinore.operators.conditions.comparisons import Comparison, comparison_of
from elsinore.operators.conditions.tables import Conditions

if TYPE_CHECKING:
    from elsinore.matches.stepping import Stepper


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


def compile_template(template: MatchTemplate, layout: Layout) -> Compiled:
    """Return the program of a template, without classes and texts, which are set later.

    The layout assigns rows to the attributes that conditions and registers read.
    """
    compiler = MatchCompiler(template.registers, layout)
    for condition in template.conditions:
        compiler.add(condition)
    code = compiler.program
    comparisons = tuple(comparison_of(code, number) for number in range(len(code.starts) - 1))
    builder = _Builder(template, layout)
    rows = builder.rows()
    final = builder.checks.number(template.final)
    facts = {
        "conditions": Conditions(code, comparisons, builder.checks.values),
        "first_edges": builder.sources.count(START),
        "final": final,
        "has_filters": int(any(builder.filters)),
        "is_near": int(_is_near(template, builder.near)),
        **_facts(template),
    }
    return Compiled(tb.Program(rows, facts), code, comparisons, builder.aggregates.steppers)


class _Builder:
    """Makes the rows of a program's tables."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        self._template = template
        self._places = register_places(template.registers)
        self.near = [condition.reads_neighbours_only for condition in template.conditions]
        self.filters = [[] if template.is_negative else early for early in filters_of(template)]
        self.checks = Checks([number] for number in range(len(template.conditions)))
        self.aggregates = Aggregates(template, layout)
        self._updates = Updates(template, layout, self.aggregates)
        self._guards: list[tuple[int, ...]] = []
        self._ways: list[Range] = []
        self._negatives, self._relations, self._reads, self._deadlines = (Lists() for _ in range(4))
        self._edges = sorted(enumerate(template.edges), key=lambda numbered: numbered[1].source)
        self.sources = [edge.source for _, edge in self._edges]

    def rows(self) -> dict[str, list[Any]]:
        """Return the rows of all tables by their names."""
        template = self._template
        return {
            "edges": [self._edge(*numbered) for numbered in self._edges],
            "states": [self._state(number) for number in range(len(template.states))],
            "checks": self.checks.ranges,
            "guards": self._guards,
            "ways": self._ways,
            "negatives": self._negatives.values,
            "updates": self._updates.values,
            "relations": self._relations.values,
            "reads": self._reads.values,
            "deadlines": self._deadlines.values,
            "initials": initial_numbers(template, self._places, self.aggregates),
            "aggregates": self.aggregates.rows,
            "arguments": self.aggregates.arguments.values,
        }

    def _edge(self, number: int, edge: Edge) -> tuple[int, ...]:
        """Return a row of `tables.EDGE`."""
        near = self.near
        has_unless = edge.unless and self._template.uncertain is None
        return (
            edge.source,
            edge.target,
            self.checks.number(c for c in edge.checks if near[c]),
            self.checks.number(c for c in edge.checks if not near[c]),
            self.checks.number(edge.late),
            self._guard(edge.ways, edge.relations),
            self._guard(edge.unless) if has_unless else -1,
            int(_is_plain(edge, near)),
            self.checks.number(self.filters[number]),
            *(-1, -1, 0, 0),  # order, bucket and limits: `elsinore.matches.engine.lookups`
        )

    def _state(self, state: int) -> tuple[int, ...]:
        """Return a row of `tables.STATE`."""
        template = self._template
        ends = {end.state: end for end in template.ends}
        end = ends.get(state, End(state, FREE))
        first_edges = {
            edge.target: place
            for place, (_, edge) in enumerate(self._edges)
            if edge.source == START
        }
        begin = sum(source < state for source in self.sources)
        return (
            *(begin, begin + self.sources.count(state)),
            first_edges.get(state, -1),
            int(state in ends),
            self._guard(end.ways, end.relations),
            *self._updates.put(state),
            self.checks.number(self.filters[len(template.edges) + state]),
            *self._deadlines.put(
                (d.ticks, d.negative, self._places[d.register]) for d in end.deadlines
            ),
        )

    def _guard(self, ways: Ways, relations: Iterable[Relation] = ()) -> int:
        """Append a row of `tables.GUARD` and its lists; return its place."""
        begin = len(self._ways)
        self._ways += [self._negatives.put(sorted(way)) for way in sorted(ways, key=sorted)]
        related = self._relations.put(map(self._relation, relations))
        self._guards.append((int(frozenset() in ways), begin, len(self._ways), *related))
        return len(self._guards) - 1

    def _relation(self, relation: Relation) -> tuple[int, ...]:
        """Return a row of `tables.RELATION`."""
        checks = self.checks.number(relation.conditions)
        reads = self._reads.put(self._places[register] for register in relation.reads)
        # without bucket and limits (`elsinore.matches.engine.lookups`), and listed matches
        return relation.negative, checks, int(relation.is_late), *reads, -1, 0, 0, 0, 0


def _facts(template: MatchTemplate) -> dict[str, int]:
    """Return the fields of a program that describe the whole query."""
    after_match, suppress = template.query.after_match, template.query.suppress
    if template.is_negative:
        after_match = suppress = None
    return {
        "strategy": codes.Strategy[template.strategy.name],
        "is_uncertain": int(template.uncertain is not None),
        "is_deferred": int(template.waits),
        "decides_early": int(template.decides_early),
        "has_late": int(_has_late(template)),
        "ends_at_once": int(_ends_at_once(template)),
        "has_duplicates": int(template.duplicates and after_match is None),
        "selection": codes.Selection[after_match.name if after_match else "ALL"],
        "suppress": -1 if suppress is None else suppress.within,
    }


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
