"""The merged template as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.plan.explain.few import few_graphs
from elsinore.plan.explain.graph import TemplateGraph

MOST_NAMES = 4  # names of queries on one arrow


def mermaid(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return a Mermaid flowchart with a subgraph for each graph, under its title.

    Doubled boxes end trends, arrows from a dot begin them, thick loops are Kleene sub-patterns that
    several queries have.
    """
    lines = ["flowchart LR"]
    for number, (title, graph) in enumerate(few_graphs(graphs)):
        boxes = {name: f"u{number}t{place}" for place, name in enumerate(graph.types)}
        lines.append(f'  subgraph u{number}["{_safe(title)}"]')
        lines.append(f"    u{number}start(( ))")
        for name, box in boxes.items():
            shape = f'[["{_safe(name)}"]]' if name in graph.ends else f'["{_safe(name)}"]'
            lines.append(f"    {box}{shape}")
        for name, queries in graph.starts.items():
            lines.append(f"    u{number}start -->|{_names(queries)}| {boxes[name]}")
        for arrow in graph.arrows:
            line = "==>" if arrow in graph.shared else "-->"
            names = _names(arrow.queries)
            lines.append(f"    {boxes[arrow.source]} {line}|{names}| {boxes[arrow.target]}")
        lines.append("  end")
    return "\n".join(lines) + "\n"


def _names(queries: tuple[str, ...]) -> str:
    shown = ", ".join(queries[:MOST_NAMES])
    more = len(queries) - MOST_NAMES
    return f'"{_safe(shown)} and {more} more"' if more > 0 else f'"{_safe(shown)}"'


def _safe(text: str) -> str:
    return (
        text.replace("&", "#38;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    )
