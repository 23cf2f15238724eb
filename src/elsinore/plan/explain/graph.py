"""The merged template as the paper draws it: each event type once, transitions labelled by queries.

(HAMLET, Section 3.1 and Figure 3. The engine's own merged template, `elsinore.plan.merged`, tells
apart states that this picture draws as one.) Of many types, those in the same place are one box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elsinore.model import pattern as pt
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.merged import coarsest_division

MOST_BOXES = 24  # of one graph; beyond it types in the same place become one box
MOST_DRAWN = 60  # boxes of one graph that are drawn at all, those of the most queries
MOST_GRAPHS = 20  # graphs of one picture
SHOWN_TYPES = 3  # types that a box of several names


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


def template_graph(templates: Sequence[GuardedTemplate]) -> TemplateGraph:
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


def few_graphs(graphs: Sequence[tuple[str, TemplateGraph]]) -> list[tuple[str, TemplateGraph]]:
    """Return the graphs as they are drawn, with titles that say what is left out."""
    drawn = []
    for title, graph in graphs[:MOST_GRAPHS]:
        shown = few_boxes(graph)
        hidden = len(shown.types) - MOST_DRAWN
        if hidden > 0:
            heading = f"{title} ({hidden:,} more boxes are not drawn)"
            drawn.append((heading, _most_used(shown)))
        else:
            drawn.append((title, shown))
    left_out = len(graphs) - len(drawn)
    if left_out > 0:
        last, graph = drawn[-1]
        drawn[-1] = (f"{last} ({left_out:,} more operators are not drawn)", graph)
    return drawn


def few_boxes(graph: TemplateGraph) -> TemplateGraph:
    """Return the graph with one box for all types in the same place, if it has many types.

    Two types are in the same place if both begin, end and repeat or not, and the types before and
    after them are in the same places (the coarsest such division, by refinement).

    >>> types = tuple(f"X{n}" for n in range(30))
    >>> arrows = tuple(Arrow(name, "B", (f"q{name}",)) for name in types)
    >>> starts = {name: ("q" + name,) for name in types}
    >>> few_boxes(TemplateGraph((*types, "B"), starts, {"B": ("q",)}, arrows)).types
    ('X0, X1, X2 and 27 more', 'B')
    """
    if len(graph.types) <= MOST_BOXES:
        return graph
    place = _places(graph)
    together: dict[int, list[str]] = {}
    for name in graph.types:
        together.setdefault(place[name], []).append(name)
    box = {name: _box(names) for names in together.values() for name in names}
    return TemplateGraph(
        tuple(dict.fromkeys(box[name] for name in graph.types)),
        _joined(graph.starts, box),
        _joined(graph.ends, box),
        _between(graph.arrows, box),
        _between(graph.shared, box),
    )


def _between(arrows: Sequence[Arrow], box: Mapping[str, str]) -> tuple[Arrow, ...]:
    """Return the arrows between boxes that arrows between types make."""
    joined: dict[tuple[str, str], dict[str, None]] = {}
    for arrow in arrows:
        queries = joined.setdefault((box[arrow.source], box[arrow.target]), {})
        queries.update(dict.fromkeys(arrow.queries))
    return tuple(Arrow(*ends, tuple(queries)) for ends, queries in joined.items())


def _places(graph: TemplateGraph) -> dict[str, int]:
    loops = {arrow.source for arrow in graph.arrows if arrow.source == arrow.target}
    before: dict[str, list[str]] = {name: [] for name in graph.types}
    after: dict[str, list[str]] = {name: [] for name in graph.types}
    for arrow in graph.arrows:
        if arrow.source != arrow.target:
            before[arrow.target].append(arrow.source)
            after[arrow.source].append(arrow.target)
    names, index = graph.types, {name: number for number, name in enumerate(graph.types)}
    labels = [(name in graph.starts, name in graph.ends, name in loops) for name in names]

    def surroundings(places: Sequence[int], number: int) -> tuple[frozenset[int], ...]:
        beside = before[names[number]], after[names[number]]
        return tuple(frozenset(places[index[name]] for name in several) for several in beside)

    return dict(zip(names, coarsest_division(labels, surroundings), strict=True))


def _box(names: Sequence[str]) -> str:
    hidden = len(names) - SHOWN_TYPES
    shown = ", ".join(names[:SHOWN_TYPES])
    return f"{shown} and {hidden:,} more" if hidden > 0 else shown


def _joined(
    queries: Mapping[str, Iterable[str]], box: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    merged: dict[str, dict[str, None]] = {}
    for name, of_type in queries.items():
        merged.setdefault(box[name], {}).update(dict.fromkeys(of_type))
    return {name: tuple(several) for name, several in merged.items()}


def _most_used(graph: TemplateGraph) -> TemplateGraph:
    """Return the boxes of the most queries, and what is between them."""
    used = dict.fromkeys(graph.types, 0)
    for arrow in graph.arrows:
        used[arrow.target] += len(arrow.queries)
        used[arrow.source] += len(arrow.queries)
    kept = set(sorted(used, key=lambda name: -used[name])[:MOST_DRAWN])
    return TemplateGraph(
        tuple(name for name in graph.types if name in kept),
        {name: queries for name, queries in graph.starts.items() if name in kept},
        {name: queries for name, queries in graph.ends.items() if name in kept},
        tuple(arrow for arrow in graph.arrows if {arrow.source, arrow.target} <= kept),
        tuple(arrow for arrow in graph.shared if arrow.source in kept),
    )
