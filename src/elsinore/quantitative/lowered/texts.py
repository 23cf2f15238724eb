"""Texts in compiled code: numbers that are equal where the texts are.

Compiled code may keep texts, compare them for equality, count them and keep values by them; what
asks for more runs in Python. A text gets the next number when it is first met; one that a function
spells out has a number below 0 that follows from the text alone, so that compiled code, which is
kept on disk, may hold it.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from elsinore.arrow import to_arrow, to_numpy
from elsinore.quantitative.lowered.whole import INTEGER

TRUTH = llvm.IntType(1)
DIGEST = 7  # bytes of a number that follows from a text


class Text(types.Type):  # type: ignore[misc]
    """The type of texts."""

    def __init__(self) -> None:
        super().__init__(name="Text")


@register_model(Text)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, INTEGER)


TEXT = Text()


def number_of(text: str) -> int:
    """Return the number, below 0, of a text that a function spells out."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
    return -1 - int.from_bytes(digest, "little")


@intrinsic  # type: ignore[untyped-decorator]
def text_of(_: Any, word: Any) -> Any:
    """Return the text with a number."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return context.cast(builder, given[0], signature.args[0], types.int64)

    return TEXT(word), code


@intrinsic  # type: ignore[untyped-decorator]
def text_number(_: Any, text: Any) -> Any:
    """Return the number of a text."""
    if text != TEXT:
        return None
    return types.int64(text), lambda context, builder, signature, given: given[0]


# --- equality -----------------------------------------------------------------------------------


def _is_text(kind: Any) -> bool:
    inner = kind.type if isinstance(kind, types.Optional) else kind
    return inner == TEXT or kind == types.none or isinstance(kind, types.StringLiteral)


@type_callable(operator.eq)  # type: ignore[untyped-decorator]
@type_callable(operator.ne)  # type: ignore[untyped-decorator]
def _equality(_: Any) -> Any:
    """Return the type of comparing texts, of which some may be missing or be spelled out."""

    def compared(left: Any, right: Any) -> Any:
        both = left, right
        texts = [a for a in both if a == TEXT or (isinstance(a, types.Optional) and a.type == TEXT)]
        return types.boolean if texts and all(map(_is_text, both)) else None

    return compared


def _parts(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, Any]:
    """Return whether there is a text, and its number."""
    if isinstance(kind, types.StringLiteral):
        return TRUTH(1), INTEGER(number_of(kind.literal_value))
    if kind == types.none:
        return TRUTH(0), INTEGER(0)
    if isinstance(kind, types.Optional):
        optional = context.make_helper(builder, kind, value)
        return optional.valid, builder.select(optional.valid, optional.data, INTEGER(0))
    return TRUTH(1), value


def _equal(context: Any, builder: Any, given: Any, values: Any) -> Any:
    (left_is, left), (right_is, right) = (
        _parts(context, builder, kind, value)
        for kind, value in zip(given.args, values, strict=True)
    )
    alike = builder.icmp_signed("==", left_is, right_is)
    return builder.and_(alike, builder.icmp_signed("==", left, right))


def _unequal(context: Any, builder: Any, given: Any, values: Any) -> Any:
    return builder.not_(_equal(context, builder, given, values))


MAYBE = types.Optional(TEXT)
for _first in (TEXT, MAYBE, types.StringLiteral, types.NoneType):
    for _second in (TEXT, MAYBE, types.StringLiteral, types.NoneType):
        if TEXT in {_first, _second} or MAYBE in {_first, _second}:
            lower_builtin(operator.eq, _first, _second)(_equal)
            lower_builtin(operator.ne, _first, _second)(_unequal)


# --- in Python ----------------------------------------------------------------------------------


class Texts:
    """The texts that were met, and their numbers.

    >>> texts = Texts(["view"])
    >>> numbers = texts.numbers(pa.array(["a", "b", None, "a", "view"]))
    >>> numbers.tolist()[:4], int(numbers[4]) == number_of("view")
    ([0, 1, 0, 0], True)
    >>> texts.texts(numbers[1:]).to_pylist()
    ['b', 'a', 'a', 'view']
    """

    def __init__(self, spelled_out: Iterable[str] = ()) -> None:
        self._spelled_out = {number_of(text): text for text in spelled_out}
        self._numbers = {text: number for number, text in self._spelled_out.items()}
        self._met: list[str] = []

    def __len__(self) -> int:
        return len(self._met)

    def number(self, text: str) -> int:
        """Return the number of a text."""
        number = self._numbers.setdefault(text, len(self._met))
        if number == len(self._met):
            self._met.append(text)
        return number

    def text(self, number: int) -> str:
        """Return the text with a number."""
        return self._spelled_out[number] if number < 0 else self._met[number]

    def numbers(self, column: pa.Array) -> Any:
        """Return the numbers of a column of texts; any number for what is null."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        known = [0 if text is None else self.number(text) for text in column.dictionary.to_pylist()]
        if not known:
            return np.zeros(len(column), np.int64)
        return np.array(known, np.int64)[to_numpy(column.indices, 0)]

    def texts(self, numbers: Any) -> pa.Array:
        """Return a column of the texts with some numbers."""
        present, places = np.unique(numbers, return_inverse=True)
        return to_arrow([self.text(number) for number in present.tolist()], pa.string()).take(
            to_arrow(places)
        )

    def places(self, numbers: Any) -> Any:
        """Return numbers that are in the order of the texts with some numbers."""
        present, places = np.unique(numbers, return_inverse=True)
        shown = [self.text(number) for number in present.tolist()]
        order = np.empty(len(shown), np.int64)
        order[sorted(range(len(shown)), key=shown.__getitem__)] = np.arange(len(shown))
        return order[places]

    def ranks(self) -> Any:
        """Return words that tell the places of all texts in their order.

        Those of the texts that are spelled out come first, after their number, as pairs of number
        and place; then those of the texts 0, 1, ...
        """
        every = np.array([*self._spelled_out, *range(len(self._met))], np.int64)
        places, few = self.places(every), len(self._spelled_out)
        pairs = np.stack([every[:few], places[:few]], axis=1).reshape(-1)
        return np.concatenate([[few], pairs, places[few:]])
