"""Drawing merged templates as a Mermaid flowchart, or as an SVG by Graphviz's program dot.

In graphs with many types, types in the same place share a box. The package graphviz-pure includes a
dot without system libraries; an installed `dot` works as well.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from elsinore.errors import SetupError
from elsinore.plan.explain import Arrow, TemplateGraph
from elsinore.plan.merged import coarsest_division

PACKAGE = "graphviz-pure"
MOST_NAMES = 3  # names of queries on one arrow; more of them are counted
MOST_IN_MERMAID = 4
LONGEST_NAMES = 30  # characters of these names
LONGEST_TYPE = 40  # characters of a type's name in its box
WIDER = "\u00a0" * 4  # around a title: the font of the reader may be wider than Helvetica
STYLE = """\
  graph [rankdir=LR, fontname="Helvetica", fontsize=12, nodesep=0.3, ranksep=0.45, pad=0.1]
  node [shape=box, style="rounded,filled", fillcolor="#eef3fb", margin="0.22,0.1",
        fontname="Helvetica", fontsize=12]
  edge [fontname="Helvetica", fontsize=10, arrowsize=0.7]"""
MOST_BOXES = 24  # of one graph; with more types, those in the same place become one box
MOST_DRAWN = 60  # boxes that are drawn of one graph: those in the most queries
MOST_GRAPHS = 20  # graphs of one picture
SHOWN_TYPES = 3  # types that a box of several names


def svg(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return an SVG with a frame for each graph, under its title.

    Doubled boxes end trends, arrows from a dot begin them, thick loops are Kleene sub-patterns of
    several queries; arrows have the names of their queries. Raises SetupError if dot is missing.
    """
    return svg_of_dot(dot(graphs))


def svg_of_dot(graph: str) -> str:
    """Return the SVG of a graph in Graphviz's language. Raises SetupError if dot is missing."""
    picture = subprocess.run(
        [_program(), "-Tsvg"], input=graph, capture_output=True, encoding="utf-8", check=True
    ).stdout
    return picture[picture.index("<svg") :]


def dot(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return the picture in Graphviz's language."""
    lines = ["digraph {", STYLE]
    for number, (title, graph) in enumerate(few_graphs(graphs)):
        boxes = {name: f"u{number}t{place}" for place, name in enumerate(graph.types)}
        lines += [
            f"  subgraph cluster_{number} {{",
            f"    label={quoted(WIDER + title + WIDER)}; labeljust=l; margin=14",
            '    style=rounded; color="#999999"',
            f'    u{number}start [shape=point, width=0.1, fillcolor=black, label=""]',
        ]
        for name, box in boxes.items():
            ends = 2 if name in graph.ends else 1
            lines.append(f"    {box} [label={quoted(_short(name))}, peripheries={ends}]")
        for name, queries in graph.starts.items():
            lines.append(f"    u{number}start -> {boxes[name]} [label={quoted(_names(queries))}]")
        for arrow in graph.arrows:
            width = 3 if arrow in graph.shared else 1
            lines.append(
                f"    {boxes[arrow.source]} -> {boxes[arrow.target]} "
                f"[label={quoted(_names(arrow.queries))}, penwidth={width}]"
            )
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _program() -> str:
    # this import loads the email package, which is slow
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        distribution_of_package = distribution(PACKAGE)
    except PackageNotFoundError:
        distribution_of_package = None
    for file in (distribution_of_package.files if distribution_of_package else None) or []:
        if file.name.partition(".")[0] == PACKAGE:
            return str(file.locate())
    installed = shutil.which("dot")
    if installed is None:
        raise SetupError(
            "The picture is laid out by Graphviz, which is not installed. Install it with: "
            "pip install 'elsinore[report]', or use the format mermaid."
        )
    return installed


def _names(queries: tuple[str, ...]) -> str:
    text = ", ".join(queries)
    if len(queries) <= MOST_NAMES and len(text) <= LONGEST_NAMES:
        return text
    return _short(text) if len(queries) == 1 else f"{len(queries):,} queries"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TYPE else f"{text[: LONGEST_TYPE - 3]}..."


def quoted(*lines: str) -> str:
    """Return lines as a literal string for Graphviz, with entities and escapes quoted."""
    escaped = [
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    ]
    return '"' + "\\n".join(line.replace("\n", " ") for line in escaped) + '"'


def mermaid(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return a Mermaid flowchart with a subgraph for each graph, under its title.

    Doubled boxes end trends, arrows from a dot begin them, thick loops are Kleene sub-patterns of
    several queries.
    """
    lines = ["flowchart LR"]
    for number, (title, graph) in enumerate(few_graphs(graphs)):
        boxes = {name: f"u{number}t{place}" for place, name in enumerate(graph.types)}
        lines.append(f'  subgraph u{number}["{mermaid_text(title)}"]')
        lines.append(f"    u{number}start(( ))")
        for name, box in boxes.items():
            shape = (
                f'[["{mermaid_text(name)}"]]' if name in graph.ends else f'["{mermaid_text(name)}"]'
            )
            lines.append(f"    {box}{shape}")
        for name, queries in graph.starts.items():
            lines.append(f"    u{number}start -->|{_mermaid_names(queries)}| {boxes[name]}")
        for arrow in graph.arrows:
            line = "==>" if arrow in graph.shared else "-->"
            names = _mermaid_names(arrow.queries)
            lines.append(f"    {boxes[arrow.source]} {line}|{names}| {boxes[arrow.target]}")
        lines.append("  end")
    return "\n".join(lines) + "\n"


def _mermaid_names(queries: tuple[str, ...]) -> str:
    text = ", ".join(queries[:MOST_IN_MERMAID])
    more = len(queries) - MOST_IN_MERMAID
    return f'"{mermaid_text(text)} and {more} more"' if more > 0 else f'"{mermaid_text(text)}"'


def mermaid_text(text: str) -> str:
    """Return a text for a label in quotes, with entities for characters that Mermaid reads."""
    return (
        text.replace("&", "#38;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    )


def few_graphs(graphs: Sequence[tuple[str, TemplateGraph]]) -> list[tuple[str, TemplateGraph]]:
    """Return graphs reduced for drawing, with titles that name omitted parts."""
    drawn = []
    for title, graph in graphs[:MOST_GRAPHS]:
        reduced = few_boxes(graph)
        hidden = len(reduced.types) - MOST_DRAWN
        if hidden > 0:
            heading = f"{title} ({hidden:,} more boxes are not drawn)"
            drawn.append((heading, _most_used(reduced)))
        else:
            drawn.append((title, reduced))
    left_out = len(graphs) - len(drawn)
    if left_out > 0:
        last_title, graph = drawn[-1]
        drawn[-1] = (f"{last_title} ({left_out:,} more operators are not drawn)", graph)
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
    types_by_place: dict[int, list[str]] = {}
    for name in graph.types:
        types_by_place.setdefault(place[name], []).append(name)
    box = {name: _box(names) for names in types_by_place.values() for name in names}
    return TemplateGraph(
        tuple(dict.fromkeys(box[name] for name in graph.types)),
        _joined(graph.starts, box),
        _joined(graph.ends, box),
        _between(graph.arrows, box),
        _between(graph.shared, box),
    )


def _between(arrows: Sequence[Arrow], box: Mapping[str, str]) -> tuple[Arrow, ...]:
    """Return the arrows between boxes for arrows between types."""
    queries_by_boxes: dict[tuple[str, str], dict[str, None]] = {}
    for arrow in arrows:
        queries = queries_by_boxes.setdefault((box[arrow.source], box[arrow.target]), {})
        queries.update(dict.fromkeys(arrow.queries))
    return tuple(Arrow(*ends, tuple(queries)) for ends, queries in queries_by_boxes.items())


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
    text = ", ".join(names[:SHOWN_TYPES])
    return f"{text} and {hidden:,} more" if hidden > 0 else text


def _joined(
    queries: Mapping[str, Iterable[str]], box: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    merged: dict[str, dict[str, None]] = {}
    for name, of_type in queries.items():
        merged.setdefault(box[name], {}).update(dict.fromkeys(of_type))
    return {name: tuple(several) for name, several in merged.items()}


def _most_used(graph: TemplateGraph) -> TemplateGraph:
    """Return the boxes that are in the most queries, and the arrows between them."""
    query_counts = dict.fromkeys(graph.types, 0)
    for arrow in graph.arrows:
        query_counts[arrow.target] += len(arrow.queries)
        query_counts[arrow.source] += len(arrow.queries)
    largest = set(sorted(query_counts, key=lambda name: -query_counts[name])[:MOST_DRAWN])
    return TemplateGraph(
        tuple(name for name in graph.types if name in largest),
        {name: queries for name, queries in graph.starts.items() if name in largest},
        {name: queries for name, queries in graph.ends.items() if name in largest},
        tuple(arrow for arrow in graph.arrows if {arrow.source, arrow.target} <= largest),
        tuple(arrow for arrow in graph.shared if arrow.source in largest),
    )
