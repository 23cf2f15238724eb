"""Integers for texts that keep their order, whatever texts come later."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from elsinore.matches.arrays import Ints

STEP = 2**32  # between neighbours at first
HIGHEST = 2**62  # of codes, and -HIGHEST the lowest
FEW = 64  # texts put between others one by one


class TextCodes:
    """The texts that events have, and that conditions compare with, each with an integer.

    A new text gets an integer between those of its neighbours. If there is none left, all texts
    get new integers.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._sorted: list[str] = []
        self._constants: set[str] = set()

    def __len__(self) -> int:
        return len(self._codes)

    def learn(self, texts: Iterable[str]) -> tuple[Ints, Ints] | None:
        """Take in texts; return the old codes, ascending, and the new ones if codes changed.

        >>> codes = TextCodes()
        >>> codes.learn(["b", "d"])
        >>> codes.learn(["c"])
        >>> codes.code_of("b") < codes.code_of("c") < codes.code_of("d")
        True
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._codes]
        if not new:
            return None
        if len(new) <= FEW + len(self._sorted) // 64 and all(map(self._put, new)):
            return None
        before = [text for text in self._sorted if text in self._codes]
        old = np.array([self._codes[text] for text in before], np.int64)
        self._renumber(sorted({*self._sorted, *new}))
        return (old, self.encoded(before)) if before else None

    def encoded(self, texts: Iterable[str]) -> Ints:
        """Return the codes of texts that are known."""
        return np.array([self._codes[text] for text in texts], np.int64)

    def code_of(self, text: str) -> int:
        """Return the code of a constant, which is known from `pin` on."""
        return self._codes[text]

    def pin(self, texts: Iterable[str]) -> tuple[Ints, Ints] | None:
        """Take in constants of conditions, which are kept; return what `learn` returns."""
        constants = [text for text in texts if text not in self._constants]
        self._constants.update(constants)
        return self.learn(constants) if constants else None

    def keep(self, codes: Ints) -> None:
        """Forget all texts but those with some codes, and constants."""
        wanted = set(codes.tolist())
        self._sorted = [
            text for text in self._sorted if self._codes[text] in wanted or text in self._constants
        ]
        self._codes = {text: self._codes[text] for text in self._sorted}

    def _put(self, text: str) -> bool:
        """Put a text between its neighbours; return whether there is a code for it."""
        place = bisect_left(self._sorted, text)
        texts, codes = self._sorted, self._codes
        below = codes[texts[place - 1]] if place else None
        above = codes[texts[place]] if place < len(texts) else None
        if below is None:
            code = 0 if above is None else above - STEP
        else:
            code = below + STEP if above is None else (below + above) // 2
        if code == below or not -HIGHEST < code < HIGHEST:
            return False
        texts.insert(place, text)
        codes[text] = code
        return True

    def _renumber(self, texts: list[str]) -> None:
        """Give all texts, in their order, codes that are far apart."""
        step = min(STEP, HIGHEST // (len(texts) + 1))
        first = -step * (len(texts) // 2)
        self._sorted = texts
        self._codes = dict(zip(texts, range(first, first + step * len(texts), step), strict=True))
