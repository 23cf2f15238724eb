"""Breadth-first search for a shortest path in a graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from elsinore.errors import QuerySemanticError

Node = TypeVar("Node", bound=Hashable)
Label = TypeVar("Label")

SEARCH_LIMIT = 1_000_000  # nodes; a search that visits more raises an error


def shortest_path(
    starts: Iterable[Node],
    steps: Callable[[Node], Iterable[tuple[Label, Node]]],
    is_goal: Callable[[Node], bool],
) -> tuple[tuple[Node, ...], tuple[Label, ...]] | None:
    """Return the nodes and labels of a shortest path to a goal; None if no goal is reachable.

    Raises QuerySemanticError beyond `SEARCH_LIMIT` nodes.

    >>> shortest_path([1], lambda n: [("twice", 2 * n), ("less", n - 1)], lambda n: n == 3)
    ((1, 2, 4, 3), ('twice', 'twice', 'less'))
    """
    came_from: dict[Node, tuple[Node, Label] | None] = dict.fromkeys(starts)
    pending = deque(came_from)
    while pending:
        node = pending.popleft()
        if is_goal(node):
            return _path(node, came_from)
        for label, target in steps(node):
            if target not in came_from:
                if len(came_from) >= SEARCH_LIMIT:
                    raise QuerySemanticError(
                        f"Analysing the automaton of the pattern takes more than "
                        f"{SEARCH_LIMIT} steps. Use smaller {{n,m}} or fewer optional parts."
                    )
                came_from[target] = (node, label)
                pending.append(target)
    return None


def _path(
    node: Node, came_from: dict[Node, tuple[Node, Label] | None]
) -> tuple[tuple[Node, ...], tuple[Label, ...]]:
    nodes, labels = [node], []
    step = came_from[node]
    while step is not None:
        nodes.append(step[0])
        labels.append(step[1])
        step = came_from[step[0]]
    return tuple(reversed(nodes)), tuple(reversed(labels))
