"""The merged template as the paper draws it: each event type once, transitions labelled by queries.

(HAMLET, Section 3.1 and Figure 3. The engine's own merged template, `elsinore.plan.merged`, tells
apart states that this picture draws as one.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.model import pattern as pt
from elsinore.plan.guarded import GuardedTemplate


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
