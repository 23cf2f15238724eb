"""How tokens of given types become nodes: read once, followed for all texts of that form.

The grammar looks at the types of tokens alone, never at their text: `SEQ(Request R, Travel T+)` and
`SEQ(Login a, Click b+)` have one tree. A workload of ten thousand queries has a few dozen forms of
clauses, so a form is parsed once, into the order in which its rules make nodes of its tokens, and
each text of the form only follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree

from elsinore.errors import Span

NOWHERE = Span(0, 0)  # where a rule stands that covers no token


@dataclass(frozen=True, slots=True)
class Step:
    """A rule and what it is made of: tokens by their index, or earlier steps as ~index.

    `first` and `last` are the indices of the tokens it covers; None where it covers none.
    """

    rule: str
    items: tuple[int, ...]
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """The steps from tokens to a clause's value, each after those it is made of."""

    steps: tuple[Step, ...]
    result: int  # a token by its index, or a step as ~index

    def follow(self, tokens: Sequence[Token], rules: Callable[[str], Callable[..., Any]]) -> Any:
        """Return the value for tokens of this form.

        rules: gives a rule's function of (place, items) by its name. Raises what that raises.
        """
        made: list[Any] = []
        for step in self.steps:
            items = [tokens[item] if item >= 0 else made[~item] for item in step.items]
            made.append(rules(step.rule)(_place(tokens, step), items))
        return tokens[self.result] if self.result >= 0 else made[~self.result]


def recipe_of(tree: Tree[Token] | Token) -> Recipe:
    r"""Return how a tree is made; its tokens stand at their index: `start_pos` 0, 1, 2, ...

    >>> from lark import Lark
    >>> parser = Lark('start: "a" B "c"\nB: "b"', parser="lalr", propagate_positions=True)
    >>> recipe_of(parser.parse("abc")).steps
    (Step(rule='start', items=(1,), first=0, last=2),)
    """
    steps: list[Step] = []
    number: dict[int, int] = {}  # of a subtree, by its identity
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
        steps.append(Step(str(node.data), items, first, last))
    return Recipe(tuple(steps), _item(tree, number))


def _item(node: Tree[Token] | Token, number: dict[int, int]) -> int:
    if isinstance(node, Token):
        return node.start_pos or 0
    return ~number[id(node)]


def _place(tokens: Sequence[Token], step: Step) -> Span:
    if step.first is None or step.last is None:
        return NOWHERE
    return Span(tokens[step.first].start_pos or 0, tokens[step.last].end_pos or 0)
