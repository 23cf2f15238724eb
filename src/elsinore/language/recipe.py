"""Cached parses: the sequence of rules that converts tokens of given types to nodes.

The grammar depends only on the types of tokens, not on their text: `SEQ(Request R, Travel T+)` and
`SEQ(Login a, Click b+)` have the same tree. A workload of ten thousand queries has a few dozen
forms of clauses. So each form is parsed once, into a *recipe*, the order in which rules are applied
to its tokens; other texts of the form only apply the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lark import Token, Tree

from elsinore.errors import Span

NOWHERE = Span(0, 0)  # the span of a rule without tokens
Rule = Callable[[Span, list[Any]], Any]


class Step(NamedTuple):
    """A rule and its operands: tokens by their index, or earlier steps as ~index.

    `first` and `last` are the indices of the tokens it covers; None if it covers none.
    """

    rule: Rule
    items: tuple[int, ...]
    first: int | None
    last: int | None


class Recipe(NamedTuple):
    """The steps from tokens to a clause's value, in the order of evaluation."""

    steps: tuple[Step, ...]
    result: int  # a token by its index, or a step as ~index

    def follow(self, tokens: Sequence[Token]) -> Any:
        """Apply the recipe to tokens of its form; raises the errors of the rules."""
        values: list[Any] = []
        for rule, items, first, last in self.steps:
            place = NOWHERE
            if first is not None and last is not None:
                place = Span(tokens[first].start_pos or 0, tokens[last].end_pos or 0)
            values.append(rule(place, [tokens[n] if n >= 0 else values[~n] for n in items]))
        return tokens[self.result] if self.result >= 0 else values[~self.result]


def recipe_of(tree: Tree[Token] | Token, rules: Callable[[str], Rule]) -> Recipe:
    r"""Return the recipe of a tree, whose tokens have their index as `start_pos`: 0, 1, 2, ...

    `rules` returns a rule's function of (place, items) by its name.

    >>> from lark import Lark
    >>> parser = Lark('start: "a" B "c"\nB: "b"', parser="lalr", propagate_positions=True)
    >>> recipe = recipe_of(parser.parse("abc"), {"start": print}.__getitem__)
    >>> [step[1:] for step in recipe.steps]
    [((1,), 0, 2)]
    """
    steps: list[Step] = []
    number: dict[int, int] = {}  # the step of a subtree, by its id
    pending: list[tuple[Tree[Token] | Token, bool]] = [(tree, False)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, Token):
            continue
        if not inside:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(node.children))
            continue
        first, last = None, None
        if not node.meta.empty:
            first, last = node.meta.start_pos, node.meta.end_pos - 1
        items = tuple(_item(child, number) for child in node.children)
        number[id(node)] = len(steps)
        steps.append(Step(rules(str(node.data)), items, first, last))
    return Recipe(tuple(steps), _item(tree, number))


def _item(node: Tree[Token] | Token, number: dict[int, int]) -> int:
    if isinstance(node, Token):
        return node.start_pos or 0
    return ~number[id(node)]
