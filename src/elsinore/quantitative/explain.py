"""Expression trees of queries, with rates, as text, Mermaid or SVG."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from elsinore.errors import ElsinoreError, did_you_mean, escaped
from elsinore.quantitative.nodes import Node, Window, form_of

Parts = Sequence[tuple[tuple[str, ...], tuple[Node, ...]]]  # attributes of keys, and stages

MOST = 38  # characters in a line of a box of a picture


def explain(parts: Parts, format: str = "text") -> str:  # noqa: A002 - the word for it
    """Return the expression trees of queries; as text also how they run, and warnings.

    Derived forms are shown by the name that the user wrote.

    >>> from elsinore.quantitative import atom, event, iterate
    >>> print(iterate(atom(event("M"), len), 0, max).explain())
    iterate(0, max): M*
    └─ atom(M, len): M
    """
    formats: dict[str, Callable[[Parts], str]] = {"text": _text, "mermaid": _mermaid, "svg": _svg}
    if format not in formats:
        raise ElsinoreError(
            f"Unknown format '{format}'. Formats: {', '.join(formats)}."
            f"{did_you_mean(format, formats)}"
        )
    return escaped(formats[format](parts))


def _title(node: Node) -> str:
    """Return a node's combinator as the user wrote it, and how a window is kept up."""
    return form_of(node).title + (f" ({node.window.how})" if isinstance(node, Window) else "")


def _text(parts: Parts) -> str:
    lines = []
    for place, (keys, stages) in enumerate(parts):
        if place:
            lines.append(">> over the values in order of time")
        if keys:
            lines.append(f"by {', '.join(keys)}")
        lines += _lines(stages)
    return "\n".join(lines)


def _lines(stages: tuple[Node, ...]) -> list[str]:
    """Return the trees of a pipeline, how its stages run, and warnings."""
    lines: list[str] = []

    def add(node: Node, first: str, indent: str) -> None:
        lines.append(f"{first}{_title(node)}: {node.rate}")
        parts = form_of(node).parts
        for place, part in enumerate(parts):
            final = place == len(parts) - 1
            add(part, indent + ("└─ " if final else "├─ "), indent + ("   " if final else "│  "))

    for place, stage in enumerate(stages):
        if len(stages) > 1:
            lines.append(f"{'>> ' if place else ''}stage {place + 1}")
        add(stage, "", "")
    lines += [f"warning: {text}" for stage in stages for text in stage.warnings]
    return lines


def _mermaid(parts: Parts) -> str:
    from elsinore.operators.pictures import mermaid_text  # noqa: PLC0415 - loads the planner

    def label(node: Node) -> str:
        return f'["{mermaid_text(_title(node))}<br/>{mermaid_text(str(node.rate))}"]'

    lines = _drawing(parts, label, "{} --> {}", "{} ==>|values are items| {}")
    return "\n".join(["flowchart TB", *lines]) + "\n"


def _svg(parts: Parts) -> str:
    from elsinore.operators.pictures import STYLE, quoted, svg_of_dot  # noqa: PLC0415

    def label(node: Node) -> str:
        return f" [label={quoted(_cut(_title(node)), _cut(str(node.rate)))}]"

    stage_arrow = '{} -> {} [label=">>", penwidth=2, arrowhead=normal, constraint=false]'
    lines = _drawing(parts, label, "{} -> {}", stage_arrow)
    head = ["digraph {", STYLE, "  graph [rankdir=TB]", "  edge [arrowhead=none]"]
    return svg_of_dot("\n".join([*head, *lines, "}"]))


def _drawing(
    parts: Parts, label: Callable[[Node], str], arrow: str, stage_arrow: str
) -> Iterator[str]:
    """Yield a line for each node of the trees, for each arrow to a part, and between stages."""
    lines: list[str] = []
    numbers = itertools.count()

    def add(node: Node) -> str:
        name = f"n{next(numbers)}"
        lines.append(f"{name}{label(node)}")
        for part in form_of(node).parts:
            lines.append(arrow.format(name, add(part)))
        return name

    roots = [add(stage) for _, stages in parts for stage in stages]
    lines += [stage_arrow.format(*stages) for stages in itertools.pairwise(roots)]
    return (f"  {line}" for line in lines)


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"
