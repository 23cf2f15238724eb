"""What `explain` says about trend queries: their templates, paths and windows.

A merged template is shown as the paper draws it (HAMLET, Section 3.1 and Figure 3): each event type
once, transitions labelled by queries. The engine's template (`elsinore.plan.merged`) distinguishes
states that this picture draws as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.model import pattern as pt
from elsinore.model.query import Query
from elsinore.model.window import length_in_words, windows_in_words
from elsinore.plan.panes import can_combine
from elsinore.plan.paths import Path, Way
from elsinore.plan.template import Template
from elsinore.plan.trends import TrendUnit
from elsinore.words import count, listed

MOST_NAMES = 20  # of queries or types that are listed at once
WHOLE_STREAM = "the whole stream"


@dataclass(frozen=True, slots=True)
class Arrow:
    """Events of `source` may come right before events of `target` in trends of `queries`."""

    source: str
    target: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateGraph:
    """Event types, the queries that begin and end with each, and the arrows between them."""

    types: tuple[str, ...]
    starts: dict[str, tuple[str, ...]]
    ends: dict[str, tuple[str, ...]]
    arrows: tuple[Arrow, ...]
    # the Kleene sub-patterns E+ that several queries have (HAMLET, Definition 4)
    shared: tuple[Arrow, ...] = ()


def template_graph(templates: Sequence[Template]) -> TemplateGraph:
    """Return the merged template of some queries, types in order of first occurrence."""
    types: dict[str, None] = {}
    starts: dict[str, dict[str, None]] = {}
    ends: dict[str, list[str]] = {}
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    repeated: dict[str, list[str]] = {}
    for event in (
        event for planned in templates for event in pt.positive_events(planned.query.pattern)
    ):
        types[event.type] = None
    for template in templates:
        name = template.query.name
        pairs = sorted(template.neighbours(), key=lambda pair: (pair[1], pair[0] or ""))
        for before, after in pairs:
            if before is None:
                starts.setdefault(after, {})[name] = None
            else:
                arrows.setdefault((before, after), {})[name] = None
        for looping in sorted(template.loops()):
            repeated.setdefault(looping, []).append(name)
        for last in sorted(template.end_types()):
            ends.setdefault(last, []).append(name)
    return TemplateGraph(
        tuple(types),
        {name: tuple(queries) for name, queries in starts.items()},
        {name: tuple(queries) for name, queries in ends.items()},
        tuple(Arrow(*pair, tuple(queries)) for pair, queries in arrows.items()),
        tuple(
            Arrow(name, name, tuple(queries))
            for name, queries in repeated.items()
            if len(queries) > 1
        ),
    )


def path_in_words(path: Path, way: Way) -> str:
    """Return a query's path and the reason for it as one phrase.

    >>> path_in_words(Path.GRAPH, Way("its own list of events", "NOT forbids events in between"))
    'graph path (its own list of events), because NOT forbids events in between'
    """
    return f"{path.value} path ({way.method}), because {way.reason}"


def way_in_words(way: Way, queries: int = 1) -> str:
    """Return how one or more queries are run, and the reason for it.

    >>> way_in_words(Way("an index over its own events", "NOT forbids events in between"), 2)
    'an index over their own events (NOT forbids events in between)'
    """
    method = way.method.replace("trends built one by one", "building trends one by one")
    if queries > 1:
        method = method.replace("its own", "their own")
    return f"{method} ({way.reason})"


def unit_facts(unit: TrendUnit) -> dict[str, Any]:
    """Return the facts about a unit's templates, as plain data."""
    graph = template_graph(unit.members)
    predicates = {
        p for template in unit.members for of_type in template.predicates.values() for p in of_type
    }
    return {
        "predicates": len(predicates),
        "path": unit.path.value,
        "states": sum(_sizes(unit)),
        "nodes": len(unit.merged.nodes),
        "pane": _pane(unit),
        "not_combined_because": can_combine(unit),
        "shared_kleene": [
            {"type": arrow.source, "queries": list(arrow.queries)} for arrow in graph.shared
        ],
        "queries": [
            _query_facts(template, size, unit.path, why)
            for template, size, why in zip(unit.members, _sizes(unit), unit.why, strict=True)
        ],
    }


def unit_lines(unit: dict[str, Any]) -> list[str]:
    """Return the facts about a unit in words."""
    lines = []
    panes = f"panes of {unit['pane']}"
    if unit["pane"] == WHOLE_STREAM:
        panes = f"one pane, {WHOLE_STREAM}"
    if unit["path"] == Path.COARSE.value:
        lines.append(
            f"  Merged template: {count(unit['nodes'], 'state', 'states')} "
            f"({unit['states']:,} before merging); {panes}."
        )
    else:
        states = count(unit["states"], "state", "states")
        lines.append(f"  Single events are kept; templates with {states}; {panes}.")
    why = unit["not_combined_because"]
    combined = "are not combined before the shuffle"
    if not why:
        combined = "are combined before the shuffle, where that pays"
    lines.append(
        f"  On Spark, events of the same key and pane {combined}{f': {why}' if why else ''}."
    )
    spread = unit["not_spread_because"]
    lines.append(
        "  On Spark, the data of a key "
        + ("goes to one partition" if spread else "is spread over partitions by windows")
        + (f": {spread}." if spread else ".")
    )
    lines += [
        f"  {shared['type']}+ occurs in {listed(shared['queries'], MOST_NAMES)}."
        for shared in unit["shared_kleene"]
    ]
    lines.append(
        f"  {count(unit['classes'], 'class', 'classes')} of events, from "
        f"{count(unit['predicates'], 'local predicate', 'local predicates')} on "
        f"{listed(unit['types'], MOST_NAMES) if unit['types'] else 'the whole stream'}."
    )
    for query in unit["queries"]:
        lines += ["", f"  {query['name']}: {query['path']}"]
        if query["start_types"] and query["end_types"]:
            begins, ends = listed(query["start_types"]), listed(query["end_types"])
            lines.append(f"    begins with {begins}, ends with {ends}")
        else:
            lines.append("    matches nothing: its conditions contradict one another")
        for name, before in query["predecessor_types"].items():
            if before:
                lines.append(f"    before {name}: {listed(before)}")
        lines.append(f"    {query['windows']}")
        lines += [f"    warning: {warning}" for warning in query["warnings"]]
    return lines


def _sizes(unit: TrendUnit) -> list[int]:
    """Return how many states each query has, as the engine keeps them if it does."""
    return [len(template.states) for template in unit.templates or unit.members]


def _query_facts(template: Template, states: int, used: Path, why: Way) -> dict[str, Any]:
    query = template.query
    types = sorted({after for _, after in template.neighbours()})
    ambiguous = template.ambiguous and template.sides == 1
    path = path_in_words(used, why)
    if ambiguous:
        path += "; determinized, because the pattern is ambiguous and a trend counts once"
    return {
        "name": query.name,
        "path": path,
        "determinized": ambiguous,
        "states": states,
        "start_types": sorted(template.start_types()),
        "end_types": sorted(template.end_types()),
        "predecessor_types": {name: sorted(template.predecessor_types(name)) for name in types},
        "windows": windows_in_words(query.window),
        "warnings": list(query_warnings(query)) + list(template.warnings),
    }


def query_warnings(query: Query) -> tuple[str, ...]:
    """Return warnings about what is legal in a query but may surprise."""
    window = None if query.window is None else query.window.original or query.window
    if window is not None and window.step > window.within:
        gap = length_in_words(window, window.step - window.within)
        gaps = f"SLIDE is longer than WITHIN: windows hop and leave gaps of {gap}, whose events "
        return (gaps + "are in no window.",)
    return ()


def _pane(unit: TrendUnit) -> str:
    windows = [
        template.query.window for template in unit.members if template.query.window is not None
    ]
    if not windows:
        return WHOLE_STREAM
    originals = [window.original or window for window in windows]
    return length_in_words(originals[0], math.gcd(*(window.pane for window in originals)))
