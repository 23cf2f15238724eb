"""What is true of events' predicates, told by their classes and by columns of truth values.

A class tells an event's type. What a condition asks of other attributes is computed before the
event comes to the operator, as a column for each part that no AND, OR or NOT joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow, to_numpy
from elsinore.model import expression as ex
from elsinore.model.evaluate import is_true
from elsinore.model.expression import Attribute, Expression, Literal, Operator
from elsinore.quantitative.machine.predicates import MOST_TOLD, Bits
from elsinore.quantitative.regex import TYPE

NO_TYPE = "\0"  # stands for all types that no condition names
UNKNOWN = 2  # of a truth value: null
FEW = 1 << 16  # combinations that are looked up in a table
MOST = 1 << 62  # combinations that 64 bits number
JOINED = {Operator.AND, Operator.OR}


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a query's predicates, over an event's type and the truth of `parts`.

    `told[k]` is that of bit k; in it part n is an attribute called `n`.
    """

    types: tuple[str, ...]
    parts: tuple[Expression, ...]
    told: tuple[Expression, ...]

    @classmethod
    def of(cls, bits: Bits) -> Conditions:
        """Return those of a machine's predicates."""
        types: dict[str, None] = {}
        parts: dict[Expression, int] = {}
        told = tuple(_told(leaf.condition, types, parts) for leaf in bits.told)
        return cls(tuple(types), tuple(parts), told)

    def bits(self, classes: Any, truths: Sequence[pa.Array]) -> Any:
        """Return each event's bits: of events of classes, with these truth values of `parts`.

        As Python's whole numbers where there are more bits than 64 bits have.
        """
        digits = [classes.astype(np.int64) + 1]  # a class below 0 is of no type that is named
        for truth in truths:
            known = to_numpy(truth.cast(pa.int8()), UNKNOWN)
            digits.append(known.astype(np.int64))
        bounds = [len(self.types) + 1] + [3] * len(truths)
        code, size = np.zeros(len(classes), np.int64), 1
        for digit, bound in zip(digits, bounds, strict=True):
            if size * bound > MOST:  # then what occurs is numbered anew
                present, code = np.unique(code, return_inverse=True)
                size = len(present)
            code = code * bound + digit
            size *= bound
        kind = np.int64 if len(self.told) <= MOST_TOLD else object
        if size <= FEW:
            event = np.full(size, -1)  # with such a code, if there is any
            event[code] = np.arange(len(code))
            present = np.flatnonzero(event >= 0)
            table = np.zeros(size, kind)
            table[present] = [self._bits_of([d[e] for d in digits]) for e in event[present]]
            return table[code]
        _, events, places = np.unique(code, return_index=True, return_inverse=True)
        bits_of = [self._bits_of([d[e] for d in digits]) for e in events]
        return np.array(bits_of, kind)[places]

    def _bits_of(self, digits: Sequence[int]) -> int:
        kind, *truths = digits
        known: dict[str, Any] = {
            str(part): None if truth == UNKNOWN else bool(truth)
            for part, truth in enumerate(truths)
        }
        known[TYPE] = NO_TYPE if kind == 0 else self.types[kind - 1]
        verdicts = (
            is_true(condition, lambda read: known[read.name or ""]) for condition in self.told
        )
        return sum(1 << place for place, holds in enumerate(verdicts) if holds)

    def types_of(self, classes: Any, given: pa.Array | None) -> pa.Array:
        """Return events' types as text: as given, or as far as classes tell them."""
        if given is not None:
            return given
        return to_arrow([*self.types, None]).take(
            to_arrow(np.where(classes < 0, -1, classes) % (len(self.types) + 1))
        )


def _told(node: Expression, types: dict[str, None], parts: dict[Expression, int]) -> Expression:
    """Return a condition with its parts as attributes; note the types and parts it asks for."""
    match node:
        case ex.Binary(operator, left, right) if operator in JOINED:
            return ex.Binary(operator, _told(left, types, parts), _told(right, types, parts))
        case ex.Not(operand):
            return ex.Not(_told(operand, types, parts))
        case ex.IsNull(operand) if not isinstance(operand, Attribute):
            return replace(node, operand=_told(operand, types, parts))
        case Literal():
            return node
    names = list(_names(node))
    if names and _asks_which_type(node):
        types.update(dict.fromkeys(names))
        return node
    return Attribute("", str(parts.setdefault(node, len(parts))))


def _asks_which_type(node: Expression) -> bool:
    match node:
        case ex.Binary(Operator.EQ | Operator.NE, Attribute(name=name), Literal(value=str())):
            return name == TYPE
        case ex.InList(Attribute(name=name), choices):
            return name == TYPE and all(isinstance(c.value, str) for c in choices)
    return False


def _names(node: Expression) -> Iterator[str]:
    match node:
        case ex.Binary(_, _, Literal(value=str(value))):
            yield value
        case ex.InList(_, choices):
            yield from (c.value for c in choices if isinstance(c.value, str))
