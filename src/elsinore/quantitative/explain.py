"""What a query is made of: its expression tree with rates, as text, Mermaid or SVG."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from elsinore.errors import ElsinoreError, did_you_mean, escaped
from elsinore.kernels import numba_is_installed
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Node,
    Split,
    Window,
)
from elsinore.quantitative.regex import name_of, written

Parts = Sequence[tuple[tuple[str, ...], tuple[Node, ...]]]  # attributes of keys, and stages

WIDTH, HEIGHT = 250, 44  # of a box in the picture, in pixels
GAP, DROP = 16, 36  # between boxes side by side, and between a box and those below it
MOST = 38  # characters in a line of a box


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the tree: what it is, its rate, and the nodes below it."""

    title: str
    rate: str
    below: tuple[Box, ...]


def explain(parts: Parts, format: str = "text") -> str:  # noqa: A002 - the word for it
    """Return the expression trees of queries one after another, with warnings in the text.

    Derived forms are shown by the name that the user wrote.

    >>> from elsinore.quantitative import atom, event, iterate
    >>> print(iterate(atom(event("M"), len), 0, max).explain())
    iterate from 0 by max: M*
    └─ atom M by len: M
    the machine runs in Python: len is no plain Python function
    """
    formats: dict[str, Callable[[Parts], str]] = {"text": _all, "mermaid": _mermaid, "svg": _svg}
    if format not in formats:
        raise ElsinoreError(
            f"Unknown format '{format}'. Formats: {', '.join(formats)}."
            f"{did_you_mean(format, formats)}"
        )
    return escaped(formats[format](parts))


def tree(node: Node) -> Box:
    """Return a node's expression tree."""
    form = node.form
    if form is None:
        return Box(_title(node), written(node.rate), tuple(map(tree, node.parts)))
    how = f" ({node.window.how})" if isinstance(node, Window) else ""
    return Box(form.name + how, written(node.rate), tuple(map(tree, form.parts)))


def _title(node: Node) -> str:
    match node:
        case Atom(predicate, op):
            return f"atom {predicate.name}" + ("" if op is None else f" by {name_of(op)}")
        case Constant(value):
            return f"constant {value!r}"
        case Split(_, op):
            return f"split by {name_of(op)}"
        case Iterate(_, init, step):
            return f"iterate from {init!r} by {name_of(step)}"
        case Either():
            return "either"
        case Combine((_,), op):
            return f"apply {name_of(op)}"
        case Combine(_, op):
            return f"combine by {name_of(op)}"
        case Window(_, window):
            return f"sliding {window} ({window.how})"
        case MapCollect(sync, key, _, _):
            return f"map_collect by {name_of(key)} at {sync.name}"
        case _:
            return type(node).__name__


def _stages(parts: Parts) -> list[Node]:
    return [stage for _, stages in parts for stage in stages]


def _all(parts: Parts) -> str:
    lines = []
    for place, (keys, stages) in enumerate(parts):
        if place:
            lines.append(">> over the values in order of time")
        if keys:
            lines.append(f"by {', '.join(keys)}")
        lines.append(_text(stages))
    return "\n".join(lines)


def _text(stages: tuple[Node, ...]) -> str:
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
    whys = _reasons(stages)
    whole = all(reason is None for reason in whys)
    for place, reason in enumerate(whys):
        subject = f"stage {place + 1}" if len(stages) > 1 else "the machine"
        how = (
            "is compiled where attributes are numbers, or texts that are only kept and compared"
            if whole
            else f"runs in Python: {reason or 'a later stage does'}"
        )
        lines.append(f"{subject} {how}")
    lines += [f"warning: {text}" for stage in stages for text in stage.warnings]
    return "\n".join(lines)


def _reasons(stages: tuple[Node, ...]) -> list[str | None]:
    """Return, for each stage, why it is not compiled; None where it is."""
    if not numba_is_installed():
        why = "Numba is not installed (pip install 'elsinore[compiled]')"
        return [why] * len(stages)
    from elsinore.quantitative.lowered import reasons  # noqa: PLC0415 - the compiler, where needed

    return reasons(stages)


def _mermaid(parts: Parts) -> str:
    lines = ["flowchart TB"]
    count = 0

    def add(box: Box) -> str:
        nonlocal count
        name, count = f"n{count}", count + 1
        lines.append(f'  {name}["{_safe(box.title)}<br/>{_safe(box.rate)}"]')
        for part in box.below:
            lines.append(f"  {name} --> {add(part)}")
        return name

    roots = [add(tree(stage)) for stage in _stages(parts)]
    lines += [
        f"  {before} ==>|values are items| {after}" for before, after in itertools.pairwise(roots)
    ]
    return "\n".join(lines) + "\n"


def _svg(parts: Parts) -> str:
    drawn: list[str] = []
    left, bottom = GAP, 0.0
    for place, stage in enumerate(_stages(parts)):
        box = tree(stage)
        width = _width(box)
        if place:
            drawn.append(_label(left + 10, GAP + HEIGHT / 2, "&gt;&gt;"))
            left += 30
        bottom = max(bottom, _draw(box, left, GAP, drawn))
        left += width + GAP
    size = f'width="{left:.0f}" height="{bottom + GAP:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {left:.0f} {bottom + GAP:.0f}" font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def _width(box: Box) -> int:
    below = sum(_width(part) for part in box.below) + GAP * max(0, len(box.below) - 1)
    return max(WIDTH, below)


def _draw(box: Box, left: float, top: float, drawn: list[str]) -> float:
    """Draw a box and what is below it; return how far down that reaches."""
    middle = left + _width(box) / 2
    drawn.append(
        f'<rect x="{middle - WIDTH / 2:.0f}" y="{top:.0f}" width="{WIDTH}" height="{HEIGHT}" '
        'rx="5" fill="#eef3fb" stroke="black"/>'
    )
    drawn.append(_label(middle, top + 18, escape(_cut(box.title))))
    drawn.append(_label(middle, top + 35, escape(_cut(box.rate)), 'fill="#1f4e9c"'))
    below = sum(_width(part) for part in box.below) + GAP * max(0, len(box.below) - 1)
    at, bottom = middle - below / 2, top + HEIGHT
    for part in box.below:
        width = _width(part)
        drawn.append(
            f'<path d="M{middle:.0f} {top + HEIGHT:.0f}L{at + width / 2:.0f} '
            f'{top + HEIGHT + DROP:.0f}" stroke="black" fill="none"/>'
        )
        bottom = max(bottom, _draw(part, at, top + HEIGHT + DROP, drawn))
        at += width + GAP
    return bottom


def _label(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" {style}>{text}</text>'


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


def _safe(text: str) -> str:
    return (
        text.replace("&", "#38;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    )
