"""Chains of AND and OR as trees of small depth: conditions are evaluated by recursion."""

from __future__ import annotations

from elsinore.model.expression import Binary, Expression, Operator


def balanced(operator: Operator, left: Expression, right: Expression) -> Expression:
    """Return AND or OR of two conditions; a chain of n becomes a tree with a depth of ~2 log n.

    >>> from functools import partial, reduce
    >>> from elsinore.language.parts import depth
    >>> from elsinore.model.expression import Attribute, children
    >>> depth(reduce(partial(balanced, Operator.OR), [Attribute("item", "a")] * 1024), children)
    15
    """
    match left, right:
        case Binary(chain, first, last), _ if chain == operator and _is_deeper(
            operator, first, last
        ):
            return Binary(operator, first, balanced(operator, last, right))
        case _, Binary(chain, first, last) if chain == operator and _is_deeper(
            operator, last, first
        ):
            return Binary(operator, balanced(operator, left, first), last)
    return Binary(operator, left, right)


def _is_deeper(operator: Operator, chain: Expression, other: Expression) -> bool:
    return _chain_depth(operator, chain) > _chain_depth(operator, other)


def _chain_depth(operator: Operator, node: Expression) -> int:
    """Return the length of the longer outer edge of a tree of one operator."""
    left = right = node
    depth_left = depth_right = 0
    while isinstance(left, Binary) and left.operator == operator:
        left, depth_left = left.left, depth_left + 1
    while isinstance(right, Binary) and right.operator == operator:
        right, depth_right = right.right, depth_right + 1
    return max(depth_left, depth_right)
