"""Patterns of match queries drawn recursively, and streams with matches of a pattern.

NOT stands in every position and inside NOT, quantifiers on events and on groups, OR anywhere.
"""

from __future__ import annotations

import itertools

from elsinore.model import pattern as pt
from support.drawn import Drawn

TYPES = "AAABBBCCD"
QUANTIFIERS = ((1, None),) * 6 + ((0, None), (0, 1)) * 2 + ((2, 2), (1, 2), (0, 2), (2, None))
DEEPEST = 3  # SEQ, OR and NOT in one another


def patterns(drawn: Drawn) -> pt.Pattern:
    """Draw a pattern that matches at least one event."""
    while True:
        pattern = _Patterns(drawn).sequence(0)
        if not pt.nullable(pattern):
            return pattern


class _Patterns:
    """Draws the parts of a pattern, each event with a different variable."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._names = iter("abcdefghjklmnopqrstuvwxyz")
        self._left = drawn.number(2, 5)  # events of the whole, or of what is under NOT
        self._negations = drawn.one((0, 1, 1, 2, 2, 3))

    def sequence(self, depth: int) -> pt.Pattern:
        """Draw a SEQ, or its only part."""
        parts: list[pt.Pattern] = []
        for _ in range(self._drawn.number(1, 3)):
            if self._is(0.3) and self._negations > 0:
                parts.append(self.negation(depth))
            parts.append(self.part(depth))
            if self._left <= 0:
                break
        if self._is(0.3) and self._negations > 0:
            parts.append(self.negation(depth))
        return parts[0] if len(parts) == 1 else pt.Sequence(tuple(parts))

    def part(self, depth: int) -> pt.Pattern:
        """Draw a member of a SEQ: an event or a group, with or without a quantifier."""
        choice = self._drawn.number(0, 10)
        if choice == 10 and self._negations > 0:
            return self.repetition(depth)
        if depth >= DEEPEST or self._left <= 1 or choice <= 6:
            return self._quantified(self.event(), 0.5)
        if choice <= 7:
            if self._left >= 2 and self._is(0.4):
                return self._permutation()
            branches = tuple(self._branch(depth + 1) for _ in range(2))
            return self._quantified(pt.Disjunction(branches), 0.4)
        group = self.sequence(depth + 1)
        return self._quantified(group, 1.0) if isinstance(group, pt.Sequence) else group

    def _permutation(self) -> pt.Permutation:
        """Draw events in any order, each with or without a quantifier, one with NOT behind it."""
        parts = [self._quantified(self.event(), 0.3) for _ in range(min(self._left, 3))]
        parts += [self.event()] if len(parts) < 2 else []
        if self._negations > 0 and self._is(0.4):
            inside = pt.Sequence((self.event(), self.negation(DEEPEST), self.event()))
            parts[0] = inside
        return pt.Permutation(tuple(parts))

    def repetition(self, depth: int) -> pt.Pattern:
        """Draw rounds of a repeated event with a NOT at one side.

        An event may belong to the round before or begin a new one, and NOT decides which.
        """
        event = pt.Kleene(self.event(), *self._drawn.one(((1, 2), (1, 3), (1, None), (0, 2))))
        parts = [event, self.negation(depth)]
        if self._drawn.whether():
            parts.reverse()
        rounds = self._drawn.one(((2, 2), (1, 3), (2, None)))
        return pt.Kleene(pt.Sequence(tuple(parts)), *rounds)

    def negation(self, depth: int) -> pt.Negation:
        """Draw a NOT: its pattern may begin and end with NOT, and have NOT between its events."""
        self._negations -= 1
        events_left, self._left = self._left, self._drawn.number(1, 2)
        negated = self.sequence(depth + 1)
        if pt.nullable(negated):
            negated = self.event()
        self._left = events_left
        return pt.Negation(negated)

    def event(self) -> pt.Event:
        """Draw an event, with a new variable."""
        self._left -= 1
        return pt.Event(self._drawn.one(TYPES), next(self._names))

    def _branch(self, depth: int) -> pt.Pattern:
        """Draw a branch of OR: NOT stands in a SEQ only."""
        if self._is(0.6):
            return self._quantified(self.event(), 0.3)
        return self.sequence(depth)

    def _quantified(self, pattern: pt.Pattern, share: float) -> pt.Pattern:
        if not self._is(share):
            return pattern
        return pt.Kleene(pattern, *self._drawn.one(QUANTIFIERS))

    def _is(self, share: float) -> bool:
        return self._drawn.number(0, 99) < 100 * share


def word(drawn: Drawn, pattern: pt.Pattern) -> list[str]:
    """Draw the types of events that match a pattern; some include events that a NOT forbids."""
    match pattern:
        case pt.Event():
            return [pattern.type]
        case pt.Sequence(parts):
            return [kind for part in parts for kind in word(drawn, part)]
        case pt.Disjunction(parts):
            return word(drawn, drawn.one(parts))
        case pt.Permutation(parts):
            order = drawn.one(list(itertools.permutations(parts)))
            return [kind for part in order for kind in word(drawn, part)]
        case pt.Kleene(inner, least, most):
            rounds = drawn.number(least, least + 2 if most is None else most)
            return [kind for _ in range(rounds) for kind in word(drawn, inner)]
        case pt.Negation(inner):
            return word(drawn, inner) if drawn.number(0, 2) == 0 else []
        case _:
            raise TypeError(pattern)
