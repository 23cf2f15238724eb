"""The merged template as an SVG picture, types from left to right, no tool needed to draw it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from elsinore.plan.explain.graph import Arrow, TemplateGraph

BOX, GAP, HEIGHT = 120, 90, 40  # width of a box, room between two, height of a box; in pixels
LEFT = 90  # room for the arrows that begin trends
LEVEL = 26  # room for each arrow that leaps over boxes
MOST_NAMES = 3  # names of queries on one arrow


def svg(graphs: Sequence[tuple[str, TemplateGraph]]) -> str:
    """Return an SVG with a row for each graph, under its title.

    Doubled boxes end trends, arrows from the left begin them, thick loops are Kleene sub-patterns
    that several queries have; arrows carry the names of their queries.
    """
    rows: list[str] = []
    top = 10
    width = 0
    for title, graph in graphs:
        drawing, height = _row(graph, title, top)
        rows += drawing
        top += height
        width = max(width, LEFT + len(graph.types) * (BOX + GAP))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" '
        f'viewBox="0 0 {width} {top}" font-family="sans-serif" font-size="12">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z"/>'
        "</marker></defs>\n"
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def _row(graph: TemplateGraph, title: str, top: int) -> tuple[list[str], int]:
    """Draw one unit; return its elements and the height it takes."""
    place = {name: LEFT + number * (BOX + GAP) for number, name in enumerate(graph.types)}
    order = {name: number for number, name in enumerate(graph.types)}
    leaps = [
        a for a in graph.arrows if a.source != a.target and order[a.target] != order[a.source] + 1
    ]
    above = top + 30 + LEVEL * len(leaps) + 40
    middle = above + HEIGHT // 2
    drawn = [f'<text x="10" y="{top + 14}" font-weight="bold">{escape(title)}</text>']
    for name, x in place.items():
        drawn += _box(name, x, above, ends=name in graph.ends)
        if name in graph.starts:
            label = _names(graph.starts[name])
            drawn.append(_path(f"M{x - 45} {above + HEIGHT + 22}L{x} {middle + 12}", thick=False))
            drawn.append(_text(x - 45, above + HEIGHT + 36, label))
    for arrow in graph.arrows:
        x, target = place[arrow.source], place[arrow.target]
        if arrow.source == arrow.target:
            loop = f"M{x + 35} {above}C{x + 25} {above - 36} {x + 95} {above - 36} {x + 85} {above}"
            drawn.append(_path(loop, thick=arrow in graph.shared))
            drawn.append(_text(x + BOX // 2, above - 30, _names(arrow.queries)))
        elif arrow in leaps:
            drawn += _leap(arrow, x, target, top + 30 + LEVEL * leaps.index(arrow), above)
        else:
            drawn.append(_path(f"M{x + BOX} {middle}L{target} {middle}", thick=False))
            drawn.append(_text((x + BOX + target) // 2, middle - 6, _names(arrow.queries)))
    return drawn, above + HEIGHT + 60 - top


def _leap(arrow: Arrow, x: int, target: int, level: int, above: int) -> list[str]:
    """Draw an arrow over the boxes between its ends."""
    start, end = x + BOX - 12, target + 12
    way = f"M{start} {above}C{start} {level} {end} {level} {end} {above}"
    return [_path(way, thick=False), _text((start + end) // 2, level + 12, _names(arrow.queries))]


def _box(name: str, x: int, y: int, *, ends: bool) -> list[str]:
    shapes = [_rectangle(x, y, BOX, HEIGHT, "#eef3fb")]
    if ends:
        shapes.append(_rectangle(x + 4, y + 4, BOX - 8, HEIGHT - 8, "none"))
    return [*shapes, _text(x + BOX // 2, y + HEIGHT // 2 + 4, name)]


def _rectangle(x: int, y: int, width: int, height: int, fill: str) -> str:
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} rx="5" fill="{fill}" stroke="black"/>'


def _path(way: str, *, thick: bool) -> str:
    width = 3 if thick else 1
    return (
        f'<path d="{way}" fill="none" stroke="black" stroke-width="{width}" '
        'marker-end="url(#tip)"/>'
    )


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _names(queries: tuple[str, ...]) -> str:
    more = len(queries) - MOST_NAMES
    shown = ", ".join(queries[:MOST_NAMES])
    return f"{shown} +{more}" if more > 0 else shown
