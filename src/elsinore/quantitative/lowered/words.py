"""Typed values as words of 64 bits: how compiled code reads and writes them, and Python does.

A number is a word, and so is a text (`texts`); a tuple the words of its parts; an optional value a
truth value and the value.
What grows (`Dynamic`) is one word, its place in the heap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from elsinore.quantitative.lowered.functions import CannotCompile, as_named_tuple
from elsinore.quantitative.lowered.texts import TEXT, number_of, text_number, text_of
from elsinore.quantitative.lowered.whole import DOUBLE, GREATEST, INTEGER, fits, refuse_if

RESULTS = "O"  # what the words of results are called
SCALARS = {types.int64, types.float64, types.boolean, TEXT}
NUMBERS = types.boolean, types.int64, types.float64  # each has the values of those before it


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A type of values that grow, which lie in the heap."""


@dataclass(frozen=True, slots=True)
class Numbers(Dynamic):
    """A number for each key: what `counts` accumulates."""

    key: Any

    def __str__(self) -> str:
        return f"mapping from {self.key} to numbers"


@dataclass(frozen=True, slots=True)
class Ordered(Dynamic):
    """Numbers, of which the one at a fraction of them in order is asked for."""

    value: Any
    fraction: float

    def __str__(self) -> str:
        return f"collection of {self.value} in order"


@dataclass(frozen=True, slots=True)
class Collected(Dynamic):
    """A value for each key: what `map_collect` gives."""

    key: Any
    value: Any

    def __str__(self) -> str:
        return f"mapping from {self.key} to {self.value}"


@dataclass(frozen=True, slots=True)
class Threads(Dynamic):
    """The threads of keys, of the `map_collect` with a number."""

    number: int


@dataclass(frozen=True, slots=True)
class Panes(Dynamic):
    """The last values of a window, of a type, and an accumulator.

    how: "ring" (values and the accumulator) or "stacks"; number: of the window.
    """

    number: int
    how: str
    accumulator: Any
    value: Any
    size: int


@dataclass(frozen=True, slots=True)
class Marks(Dynamic):
    """A histogram of marks among the last values."""

    size: int
    eps: float


@intrinsic  # type: ignore[untyped-decorator]
def some(_: Any, value: Any) -> Any:
    """Return an optional value that is there."""
    if not isinstance(value, types.Optional):
        return value(value), lambda context, builder, signature, given: given[0]

    def code(context: Any, builder: Any, _: Any, given: Any) -> Any:
        return context.cast(builder, given[0], value, value.type)

    return value.type(value), code


@intrinsic  # type: ignore[untyped-decorator]
def word_of(_: Any, value: Any) -> Any:
    """Return the bits of a double as a word."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number = context.cast(builder, given[0], signature.args[0], types.float64)
        return builder.bitcast(number, INTEGER)

    return types.int64(value), code


@intrinsic  # type: ignore[untyped-decorator]
def key_of(_: Any, value: Any) -> Any:
    """Return the bits of a double that is a key: neither NaN nor -0.0, which Python tells."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number = context.cast(builder, given[0], signature.args[0], types.float64)
        word = builder.bitcast(number, INTEGER)
        odd = builder.fcmp_unordered("uno", number, number)
        zero = builder.icmp_signed("==", word, llvm.Constant(INTEGER, -(1 << 63)))
        refuse_if(context, builder, builder.or_(odd, zero))
        return word

    return types.int64(value), code


@intrinsic  # type: ignore[untyped-decorator]
def double_of(_: Any, word: Any) -> Any:
    """Return the double that a word has the bits of."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number = context.cast(builder, given[0], signature.args[0], types.int64)
        return builder.bitcast(number, DOUBLE)

    return types.float64(word), code


def _behind(kind: Any) -> Any:
    """Return a function of an array of addresses, and a place in it: the pointer to values."""

    @intrinsic  # type: ignore[untyped-decorator]
    def behind(_: Any, addresses: Any, place: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, given[0])
            at = context.cast(builder, given[1], signature.args[1], types.int64)
            address = builder.load(builder.gep(array.data, [at]))
            return builder.inttoptr(address, context.get_value_type(signature.return_type))

        return types.CPointer(kind)(addresses, place), code

    return behind


HELPERS = {
    "words_at": _behind(types.int64),
    "codes_at": _behind(types.int32),
    "doubles_at": _behind(types.float64),
    "bytes_at": _behind(types.uint8),
    "some": some,
    "word_of": word_of,
    "key_of": key_of,
    "double_of": double_of,
    "text_of": text_of,
    "text_number": text_number,
}


# --- types --------------------------------------------------------------------------------------


def type_of(value: Any) -> Any:
    """Return the type of a constant. Raises CannotCompile for what compiled code does not hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = as_record(value)
    if not fits(value):
        raise CannotCompile(f"the value {value!r} holds a number greater than {GREATEST}")
    try:
        return normal(_with_texts(numba.typeof(value)))
    except (ValueError, TypeError) as error:
        raise CannotCompile(f"the value {value!r} has no type of compiled code") from error


def _with_texts(kind: Any) -> Any:
    """Return the type of a constant in which texts are numbers."""
    if kind == types.unicode_type:
        return TEXT
    if isinstance(kind, types.BaseNamedTuple):
        return types.NamedTuple(list(map(_with_texts, kind.types)), kind.instance_class)
    if isinstance(kind, types.BaseTuple):
        return types.Tuple(list(map(_with_texts, kind.types)))
    return kind


def as_record(value: Any) -> Any:
    """Return a value with dataclasses in it as named tuples."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return as_named_tuple(type(value))(*(as_record(getattr(value, name)) for name in names))
    return value


def normal(kind: Any) -> Any:
    """Return a type as it is kept: whole numbers of 64 bits, literals as what they are of."""
    if isinstance(kind, Dynamic):
        return kind
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer) and kind.signed:
        return types.int64
    if isinstance(kind, types.Float):
        return types.float64
    if kind in {types.boolean, types.none, TEXT}:
        return kind
    if isinstance(kind, types.Optional):
        return types.Optional(normal(kind.type))
    if isinstance(kind, types.BaseNamedTuple):
        return types.NamedTuple([normal(part) for part in kind.types], kind.instance_class)
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([normal(part) for part in kind.types])
    raise CannotCompile(f"values of type {kind} are not compiled")


def unified(left: Any, right: Any) -> Any:
    """Return the type that holds values of both; CannotCompile where there is none."""
    if left == right:
        return left
    if isinstance(left, Dynamic) or isinstance(right, Dynamic):
        raise CannotCompile(f"one value is {left} and another {right}")
    if types.none in {left, right}:
        kind = right if left == types.none else left
        return kind if isinstance(kind, types.Optional) else types.Optional(kind)
    optional = [kind for kind in (left, right) if isinstance(kind, types.Optional)]
    if optional:
        inner = [kind.type if isinstance(kind, types.Optional) else kind for kind in (left, right)]
        return types.Optional(unified(*inner))
    tuples = isinstance(left, types.BaseTuple) and isinstance(right, types.BaseTuple)
    if tuples and len(left.types) == len(right.types):
        parts = [unified(a, b) for a, b in zip(left.types, right.types, strict=True)]
        if isinstance(left, types.BaseNamedTuple):
            return types.NamedTuple(parts, left.instance_class)
        return types.Tuple(parts)
    if left not in NUMBERS or right not in NUMBERS:
        raise CannotCompile(f"one value is {left} and another {right}")
    return max(left, right, key=NUMBERS.index)


def size(kind: Any) -> int:
    """Return how many words values of a type have."""
    if kind in SCALARS or isinstance(kind, Dynamic):
        return 1
    if isinstance(kind, types.Optional):
        return 1 + size(kind.type)
    if isinstance(kind, types.BaseTuple):
        return sum(map(size, kind.types))
    return 0


# --- in compiled code ---------------------------------------------------------------------------


def word_at(memory: str, at: str, offset: int) -> str:
    """Return the expression of a word; results' words lie by columns of `column` words each."""
    if not offset:
        return f"{memory}[{at}]"
    return f"{memory}[{at} + {offset}{' * column' if memory == RESULTS else ''}]"


def read(memory: str, at: str, offset: int, kind: Any, names: dict[str, Any]) -> str:
    """Return the expression that reads a value from the words `memory[at + offset]`, ..."""
    word = word_at(memory, at, offset)
    if kind == types.boolean:
        return f"({word} != 0)"
    if kind == types.float64:
        return f"double_of({word})"
    if kind == TEXT:
        return f"text_of({word})"
    if kind in SCALARS or isinstance(kind, Dynamic):
        return word
    if isinstance(kind, types.Optional):
        value = read(memory, at, offset + 1, kind.type, names)
        return f"({value} if {word} != 0 else None)"
    if isinstance(kind, types.BaseTuple):
        parts = []
        for part in kind.types:
            parts.append(read(memory, at, offset, part, names))
            offset += size(part)
        return _made(kind, parts, names)
    return "None"


def write(memory: str, at: str, offset: int, kind: Any, value: str) -> list[str]:
    """Return the statements that write a value to words; `value` is a variable or a constant."""
    word = word_at(memory, at, offset)
    if kind == types.boolean:
        return [f"{word} = {value} * 1"]
    if kind == types.float64:
        return [f"{word} = word_of({value})"]
    if kind == TEXT:
        return [f"{word} = text_number({value})"]
    if kind in SCALARS or isinstance(kind, Dynamic):
        return [f"{word} = {value}"]
    if isinstance(kind, types.Optional):
        plain = value.isidentifier() and value != "None"
        unpacked = f"{value}_s" if plain else "s_" + "".join(c for c in value if c.isalnum())
        lines = [f"if {value} is None:", f"    {word} = 0", "else:", f"    {word} = 1"]
        lines += [f"    {unpacked} = some({value})"]
        lines += [f"    {text}" for text in write(memory, at, offset + 1, kind.type, unpacked)]
        return [f"{word} = 0"] if value == "None" else lines
    lines = []
    if isinstance(kind, types.BaseTuple):
        for n, part in enumerate(kind.types):
            lines += write(memory, at, offset, part, f"{value}[{n}]")
            offset += size(part)
    return lines


def constant(value: Any, kind: Any, names: dict[str, Any]) -> str:
    """Return the expression of a constant as a value of a type that holds it."""
    value = as_record(value)
    if isinstance(kind, Dynamic):
        return whole_number(0, names)
    if kind == types.boolean:
        return repr(bool(value))
    if kind == types.int64:
        return whole_number(value, names)
    if kind == types.float64:
        return double(value, names)
    if kind == TEXT:
        return f"text_of({whole_number(number_of(value), names)})"
    if isinstance(kind, types.Optional):
        if value is not None:
            return constant(value, kind.type, names)
        never = constant(_any_of(kind.type), kind.type, names)
        return f"({never} if stop < 0 else None)"  # a None of its type
    if isinstance(kind, types.BaseTuple):
        parts = [constant(v, part, names) for v, part in zip(value, kind.types, strict=True)]
        return _made(kind, parts, names)
    return "None"


def whole_number(value: Any, names: dict[str, Any]) -> str:
    """Return the name of a whole number: what is called with a written one is compiled for it."""
    name = f"n{int(value)}".replace("-", "m")
    names[name] = np.int64(value)
    return name


def double(value: Any, names: dict[str, Any]) -> str:
    """Return the name of a double."""
    number = np.float64(value)
    name = f"d{number.view(np.uint64):016x}"
    names[name] = number
    return name


def _any_of(kind: Any) -> Any:
    """Return some value of a type."""
    if isinstance(kind, types.BaseTuple):
        return tuple(map(_any_of, kind.types))
    return "" if kind == TEXT else None if isinstance(kind, types.Optional) else 0


def _made(kind: Any, parts: list[str], names: dict[str, Any]) -> str:
    inside = ", ".join(parts) + ("," if len(parts) == 1 else "")
    if isinstance(kind, types.BaseNamedTuple):
        made = f"N{kind.instance_class.__name__}"
        names[made] = kind.instance_class
        return f"{made}({', '.join(parts)})"
    return f"({inside})"


# --- in Python ----------------------------------------------------------------------------------


def load(
    words: Any, at: int, kind: Any, classes: Mapping[Any, type], grown: Callable[[Any, int], Any]
) -> Any:
    """Return words as a Python value; dataclasses as what they were.

    grown: returns a text, by its number, or a value of a dynamic type, by its place in the heap.
    """
    if kind == types.float64:
        return words[at : at + 1].view(np.float64)[0].item()
    if kind == types.boolean:
        return bool(words[at])
    if kind == TEXT or isinstance(kind, Dynamic):
        return grown(kind, int(words[at]))
    if kind in SCALARS:
        return words[at].item()
    if isinstance(kind, types.Optional):
        return load(words, at + 1, kind.type, classes, grown) if words[at] else None
    if isinstance(kind, types.BaseTuple):
        parts = []
        for part in kind.types:
            parts.append(load(words, at, part, classes, grown))
            at += size(part)
        if isinstance(kind, types.BaseNamedTuple):
            return classes.get(kind.instance_class, kind.instance_class)(*parts)
        return tuple(parts)
    return None


def words_of(value: Any, kind: Any, grown: Callable[[Any, Any], int]) -> list[int]:
    """Return a Python value as words. Raises OverflowError for what compiled code cannot hold.

    grown: puts a value of a dynamic type into the heap, and returns its place, or a text's number.
    """
    if kind == TEXT or isinstance(kind, Dynamic):
        return [grown(kind, value)]
    value = as_record(value)
    if kind == types.float64:
        if not fits(value):
            raise OverflowError(f"{value} is greater than {GREATEST}")
        return [int(np.float64(value).view(np.int64))]
    if kind in SCALARS:
        if not fits(value):
            raise OverflowError(f"{value} is greater than {GREATEST}")
        return [int(value)]
    if isinstance(kind, types.Optional):
        if value is None:
            return [0] * size(kind)
        return [1, *words_of(value, kind.type, grown)]
    words: list[int] = []
    if isinstance(kind, types.BaseTuple):
        for part, part_value in zip(kind.types, value, strict=True):
            words += words_of(part_value, part, grown)
    return words
