"""The merged template as a Mermaid flowchart, and as an SVG laid out by Graphviz's program dot.

The package graphviz-pure brings one along that needs no system library; a `dot` that is installed
does as well.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from elsinore.errors import SetupError
from elsinore.plan.explain.graph import TemplateGraph, few_graphs

PACKAGE = "graphviz-pure"
MOST_NAMES = 3  # names of queries on one arrow; more of them are counted
MOST_IN_MERMAID = 4
LONGEST_NAMES = 30  # characters of these names
LONGEST_TYPE = 40  # characters of a type's name in its box
WIDER = "\u00a0" * 4  # beside a title: where it is read, its font may be wider than Helvetica
STYLE = """\
  graph [rankdir=LR, fontname="Helvetica", fontsize=12, nodesep=0.3, ranksep=0.45, pad=0.1]
  node [shape=box, style="rounded,filled", fillcolor="#eef3fb", margin="0.22,0.1",
        fontname="Helvetica", fontsize=12]
  edge [fontname="Helvetica", fontsize=10, arrowsize=0.7]"""


def svg(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return an SVG with a frame for each graph, under its title.

    Doubled boxes end trends, arrows from a dot begin them, thick loops are Kleene sub-patterns that
    several queries have; arrows carry the names of their queries. Raises SetupError where there is
    no program to lay it out.
    """
    picture = subprocess.run(
        [_program(), "-Tsvg"],
        input=dot(graphs),
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    return picture[picture.index("<svg") :]


def dot(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return the picture in Graphviz's language."""
    lines = ["digraph {", STYLE]
    for number, (title, graph) in enumerate(few_graphs(graphs)):
        boxes = {name: f"u{number}t{place}" for place, name in enumerate(graph.types)}
        lines += [
            f"  subgraph cluster_{number} {{",
            f"    label={_quoted(WIDER + title + WIDER)}; labeljust=l; margin=14",
            '    style=rounded; color="#999999"',
            f'    u{number}start [shape=point, width=0.1, fillcolor=black, label=""]',
        ]
        for name, box in boxes.items():
            ends = 2 if name in graph.ends else 1
            lines.append(f"    {box} [label={_quoted(_short(name))}, peripheries={ends}]")
        for name, queries in graph.starts.items():
            lines.append(f"    u{number}start -> {boxes[name]} [label={_quoted(_names(queries))}]")
        for arrow in graph.arrows:
            width = 3 if arrow in graph.shared else 1
            lines.append(
                f"    {boxes[arrow.source]} -> {boxes[arrow.target]} "
                f"[label={_quoted(_names(arrow.queries))}, penwidth={width}]"
            )
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _program() -> str:
    # loads what reads mail
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        brought = distribution(PACKAGE)
    except PackageNotFoundError:
        brought = None
    for file in (brought.files if brought else None) or []:
        if file.name.partition(".")[0] == PACKAGE:
            return str(file.locate())
    installed = shutil.which("dot")
    if installed is None:
        raise SetupError(
            "The picture is laid out by Graphviz, which is not installed. Install it with: "
            "pip install 'elsinore[report]', or take the format mermaid."
        )
    return installed


def _names(queries: tuple[str, ...]) -> str:
    shown = ", ".join(queries)
    if len(queries) <= MOST_NAMES and len(shown) <= LONGEST_NAMES:
        return shown
    return _short(shown) if len(queries) == 1 else f"{len(queries):,} queries"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TYPE else f"{text[: LONGEST_TYPE - 3]}..."


def _quoted(text: str) -> str:
    """Return a text as Graphviz takes it literally: its entities and escapes put out of action."""
    shown = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + shown.replace("\n", " ") + '"'


def mermaid(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return a Mermaid flowchart with a subgraph for each graph, under its title.

    Doubled boxes end trends, arrows from a dot begin them, thick loops are Kleene sub-patterns that
    several queries have.
    """
    lines = ["flowchart LR"]
    for number, (title, graph) in enumerate(few_graphs(graphs)):
        boxes = {name: f"u{number}t{place}" for place, name in enumerate(graph.types)}
        lines.append(f'  subgraph u{number}["{_escaped(title)}"]')
        lines.append(f"    u{number}start(( ))")
        for name, box in boxes.items():
            shape = f'[["{_escaped(name)}"]]' if name in graph.ends else f'["{_escaped(name)}"]'
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
    shown = ", ".join(queries[:MOST_IN_MERMAID])
    more = len(queries) - MOST_IN_MERMAID
    return f'"{_escaped(shown)} and {more} more"' if more > 0 else f'"{_escaped(shown)}"'


def _escaped(text: str) -> str:
    return (
        text.replace("&", "#38;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    )
