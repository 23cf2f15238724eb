"""Expression trees of queries, with rates, as text, Mermaid or SVG."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from elsinore.errors import ElsinoreError, did_you_mean, escaped
from elsinore.quantitative.nodes import Node, Window, form_of

Parts = Sequence[tuple[tuple[str, ...], tuple[Node, ...]]]  # attributes of keys, and stages

MOST = 38  # characters in a line of a box of a picture


@dataclass(frozen=True, slots=True)
class Box:
    """A node of an expression tree: its combinator, its rate, and the nodes below it."""

    title: str
    rate: str
    below: tuple[Box, ...]


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


def tree(node: Node) -> Box:
    """Return a node's expression tree, in the combinators that the user wrote."""
    form = form_of(node)
    algorithm = f" ({node.window.how})" if isinstance(node, Window) else ""
    return Box(form.title + algorithm, str(node.rate), tuple(map(tree, form.parts)))


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

    def add(box: Box, first: str, indent: str) -> None:
        lines.append(f"{first}{box.title}: {box.rate}")
        for place, part in enumerate(box.below):
            final = place == len(box.below) - 1
            add(part, indent + ("└─ " if final else "├─ "), indent + ("   " if final else "│  "))

    for place, stage in enumerate(stages):
        if len(stages) > 1:
            lines.append(f"{'>> ' if place else ''}stage {place + 1}")
        add(tree(stage), "", "")
    lines += [f"warning: {text}" for stage in stages for text in stage.warnings]
    return lines


def _mermaid(parts: Parts) -> str:
    from elsinore.operators.pictures import mermaid_text  # noqa: PLC0415 - loads the planner

    def label(box: Box) -> str:
        return f'["{mermaid_text(box.title)}<br/>{mermaid_text(box.rate)}"]'

    lines = _drawing(parts, label, "{} --> {}", "{} ==>|values are items| {}")
    return "\n".join(["flowchart TB", *lines]) + "\n"


def _svg(parts: Parts) -> str:
    from elsinore.operators.pictures import STYLE, quoted, svg_of_dot  # noqa: PLC0415

    def label(box: Box) -> str:
        return f" [label={quoted(_cut(box.title), _cut(box.rate))}]"

    stage_arrow = '{} -> {} [label=">>", penwidth=2, arrowhead=normal, constraint=false]'
    lines = _drawing(parts, label, "{} -> {}", stage_arrow)
    head = ["digraph {", STYLE, "  graph [rankdir=TB]", "  edge [arrowhead=none]"]
    return svg_of_dot("\n".join([*head, *lines, "}"]))


def _drawing(
    parts: Parts, label: Callable[[Box], str], arrow: str, stage_arrow: str
) -> Iterator[str]:
    """Yield a line for each box of the trees, for each arrow to a box below, and between stages."""
    lines: list[str] = []
    numbers = itertools.count()

    def add(box: Box) -> str:
        name = f"n{next(numbers)}"
        lines.append(f"{name}{label(box)}")
        for part in box.below:
            lines.append(arrow.format(name, add(part)))
        return name

    roots = [add(tree(stage)) for _, stages in parts for stage in stages]
    lines += [stage_arrow.format(*stages) for stages in itertools.pairwise(roots)]
    return (f"  {line}" for line in lines)


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"
