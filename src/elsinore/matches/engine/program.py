"""A template as the tables of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from elsinore.matches.engine import tables as tb
from elsinore.matches.filters import filters_of
from elsinore.matches.registers import RegisterKind
from elsinore.matches.relations import Relation
from elsinore.matches.tables import Header, Tables
from elsinore.matches.template import START, Edge, End, MatchTemplate
from elsinore.model.kinds import AfterMatch, Strategy
from elsinore.operators.conditions.comparisons import Comparison
from elsinore.operators.conditions.tables import Conditions
from elsinore.plan.guards import FREE, Ways

STRATEGIES = {
    Strategy.ANY: tb.ANY,
    Strategy.NEXT: tb.NEXT,
    Strategy.CONTIGUOUS: tb.CONTIGUOUS,
}
SELECTIONS = {
    None: tb.ALL,
    AfterMatch.NEXT_EVENT: tb.NEXT_EVENT,
    AfterMatch.LAST_EVENT: tb.LAST_EVENT,
}
SUMS = {RegisterKind.SUM, RegisterKind.SUM_HIGH}

Range = tuple[int, int]


class _Lists:
    """Lists put one behind the other."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def put(self, values: Iterable[Any]) -> Range:
        """Append values; return their range."""
        begin = len(self.values)
        self.values.extend(values)
        return begin, len(self.values)


class _Ways:
    """The ways of edges and ends: which patterns under NOT each of them has."""

    def __init__(self) -> None:
        self.ways: list[Range] = []
        self.negatives = _Lists()

    def put(self, ways: Ways) -> Range:
        """Append ways; return their range."""
        begin = len(self.ways)
        self.ways += [self.negatives.put(sorted(way)) for way in sorted(ways, key=sorted)]
        return begin, len(self.ways)


def build_program(
    template: MatchTemplate,
    made: Tables,
    comparisons: Sequence[Comparison | None],
    *,
    is_negative: bool,
) -> tb.Program:
    """Return the program of a template; classes and texts are put in later.

    All matches of patterns under NOT count (`is_negative`).

    `made` are the template's tables of the engine that this one is to replace: the code of its
    conditions, and what states do to registers. `comparisons` are the conditions that are one.
    """
    near = [condition.reads_neighbours_only for condition in template.conditions]
    lists, ways, updates, relations = _Lists(), _Ways(), _Lists(), _Lists()
    ordered = sorted(enumerate(template.edges), key=lambda numbered: numbered[1].source)
    filters = [[] if is_negative else checked for checked in filters_of(template)]
    edges = [
        (
            edge.source,
            edge.target,
            *lists.put(c for c in edge.checks if near[c]),
            *lists.put(c for c in edge.checks if not near[c]),
            *lists.put(edge.late),
            int(frozenset() in edge.ways),
            *ways.put(edge.ways),
            *ways.put(edge.unless),
            int(_is_plain(edge, near)),
            *(-1, -1, 0, 0),  # order, bucket and limits: `elsinore.matches.engine.orders`
            *relations.put(_related(relation, lists) for relation in edge.relations),
            *lists.put(filters[number]),
        )
        for number, edge in ordered
    ]
    sources = [edge.source for _, edge in ordered]
    ends = {end.state: end for end in template.ends}
    has_leaves = _has_leaves(template)
    states = []
    for state in range(len(template.states)):
        end = ends.get(state, End(state, frozenset({frozenset()})))
        states.append(
            (
                *_span(sources, state),
                int(state in ends),
                int(frozenset() in end.ways),
                *ways.put(end.ways),
                *updates.put(_updates(made, state)),
                int(has_leaves and state in ends and end.ways == FREE and state not in sources),
                *relations.put(_related(relation, lists) for relation in end.relations),
                *lists.put(filters[len(ordered) + state]),
            )
        )
    final = lists.put(template.final)
    aggregates, arguments = _Lists(), _Lists()
    updates.values = [_with_aggregate(made, u, aggregates, arguments) for u in updates.values]
    return tb.Program(
        {
            "classes": tb.empty(tb.EVENT_CLASS, 0),
            "class_states": np.zeros(0, np.int32),
            "states": tb.table(tb.STATE, states),
            "edges": tb.table(tb.EDGE, edges),
            "conditions": Conditions(made.program, comparisons, lists.values),
            "ways": tb.table(tb.WAY, ways.ways),
            "negatives": tb.table(tb.CELL, ways.negatives.values),
            "updates": tb.table(tb.UPDATE, updates.values),
            "relations": tb.table(tb.RELATION, relations.values),
            "initials": tb.table(tb.INITIAL, _initials(made)),
            "aggregates": tb.table(tb.AGGREGATE, aggregates.values),
            "arguments": tb.table(tb.CELL, arguments.values),
        },
        {
            "first_edges": sources.count(START),
            "final": final[0],
            "final_end": final[1],
            "has_filters": int(any(filters)),
            "is_near": int(_is_near(template, near)),
            **_numbers(template, is_negative=is_negative),
        },
    )


def _numbers(template: MatchTemplate, *, is_negative: bool) -> dict[str, int]:
    """Return the numbers of a program that are about the whole query."""
    selection = tb.ALL if is_negative else SELECTIONS[template.query.after_match]
    suppress = template.query.suppress
    return {
        "strategy": STRATEGIES[template.strategy],
        "is_deferred": int(template.waits),
        "has_late": int(any(edge.late for edge in template.edges)),
        "has_late_relations": int(_has_late_relations(template)),
        "has_duplicates": int(template.duplicates and selection == tb.ALL),
        "selection": selection,
        "suppress": -1 if suppress is None or is_negative else suppress.within,
    }


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


def _related(relation: Relation, lists: _Lists) -> tuple[int, ...]:
    """Return a relation; its bucket and limits: `elsinore.matches.engine.orders`."""
    return (relation.negative, *lists.put(relation.conditions), int(relation.is_late), -1, 0, 0)


def _has_late_relations(template: MatchTemplate) -> bool:
    """Return whether NOTs between two events are looked at when the match is complete."""
    return any(
        relation.is_late
        for edge in template.edges
        if edge.source != START
        for relation in edge.relations
    )


def _has_leaves(template: MatchTemplate) -> bool:
    """Return whether matches are complete at once in states that nothing follows."""
    return (
        template.strategy is Strategy.ANY
        and not template.final
        and not any(edge.late for edge in template.edges)
        and not _has_late_relations(template)
        and all(edge.ways == FREE for edge in template.edges if edge.source == START)
        and all(
            register.aggregate is None and not register.kind.is_at_position
            for register in template.registers
        )
    )


def _list_at(made: Tables, at: int) -> list[int]:
    """Return a list of the tables, whose length comes first."""
    values: list[int] = made.integers[at + 1 : at + 1 + made.integers[at]].tolist()
    return values


def _initials(made: Tables) -> list[tuple[float, int]]:
    """Return what registers of numbers are before the first event, unless 0: sums are null."""
    sums = [(float("nan"), place) for place in _list_at(made, int(made.integers[Header.SUM_AT]))]
    listed = _list_at(made, int(made.integers[Header.INIT_AT]))
    return sums + [
        (float(made.constants[constant]), place)
        for place, constant in zip(listed[::2], listed[1::2], strict=True)
    ]


def _with_aggregate(
    made: Tables, update: tuple[int, ...], aggregates: _Lists, arguments: _Lists
) -> tuple[int, ...]:
    """Return an update of a register; that of an aggregate of the user's by its number."""
    kind, register, column, is_whole = update
    if kind != RegisterKind.USER:
        return update
    width, count, *addresses = made.integers[column : column + 4].tolist()
    rows = made.integers[column + 4 : column + 4 + count].tolist()
    begin, _ = aggregates.put([(*addresses, *arguments.put(rows), 1 + width)])
    return kind, register, begin, is_whole


def _span(sources: Sequence[int], state: int) -> Range:
    """Return the range of the edges that lead on from a state; `sources` are in order."""
    begin = sum(source < state for source in sources)
    return begin, begin + sum(source == state for source in sources)


def _updates(made: Tables, state: int) -> list[tuple[int, ...]]:
    """Return what an event in a state does to registers."""
    values = _list_at(made, int(made.integers[made.integers[Header.UPDATE_AT] + state]))
    return [tuple(values[place : place + 4]) for place in range(0, len(values), 4)]
