"""Parts of expressions that have been translated, and what rules ask of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from sqlglot import exp

from elsinore.errors import InputError
from elsinore.runtime.sql.casts import cast
from elsinore.runtime.sql.functions import TRUNCATED_TO
from elsinore.runtime.sql.kinds import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIME,
    TIMES,
    Kind,
    kind_of,
)


class Part(NamedTuple):
    """A translated part: its text for DuckDB, and its type there."""

    text: str
    type: str

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return kind_of(self.type)


class RejectedError(InputError):
    """An expression whose value in process would not be Spark's."""


class Translating(Protocol):
    """What the rules of operators need of a translator."""

    def translate(self, node: exp.Expression) -> Part:
        """Return the translation of a tree."""

    def alike(self, node: exp.Expression, given: Sequence[exp.Expression]) -> list[Part]:
        """Return parts that are compared or chosen from, in kinds that are alike."""

    def fitted(self, node: exp.Expression, kind: str, given: exp.Expression) -> str:
        """Return an operand as a kind of `functions` asks for it; rejects any other."""

    def probed(self, text: str, node: exp.Expression) -> Part:
        """Return a part whose type DuckDB finds out."""

    def rejected(self, node: exp.Expression, why: str = "") -> RejectedError:
        """Return the error for a part that is not computed in process."""


Operator = Callable[[Translating, exp.Expression], Part]
Function = Callable[[Translating, exp.Expression, Sequence[exp.Expression]], Part]


def as_double(part: Part) -> Part:
    """Return a number as a double."""
    return (
        part
        if part.kind is DOUBLE
        else Part(cast(part.text, part.kind, "DOUBLE") or part.text, "DOUBLE")
    )


def fitting(kind: str, part: Part) -> str | None:
    """Return an argument's text in the kind that a rule asks for, None if it is of another."""
    known = part.kind
    typed = {"t": "VARCHAR", "i": "INTEGER", "n": "INTEGER", "f": "DOUBLE", "b": "BOOLEAN"}
    typed |= {"d": "DATE", "s": "TIMESTAMP"}
    if known is Kind.NULL:
        return f"CAST(NULL AS {typed[kind]})" if kind in typed else None
    match kind:
        case ".":
            return part.text
        case "f" if known in {INTEGER, DOUBLE}:
            return part.text if part.type == "DOUBLE" else f"CAST({part.text} AS DOUBLE)"
        case "r" if part.type == "FLOAT":
            return part.text
        case "n" if known in {INTEGER, DOUBLE}:
            return part.text
        case "d" if known in TIMES:
            return part.text if known is DATE else f"CAST({part.text} AS DATE)"
        case "s" if known in TIMES:
            return part.text if known is TIME else f"CAST({part.text} AS TIMESTAMP)"
        case "t" | "i" | "b" | "l" if known is _KINDS[kind]:
            return part.text
    return None


_KINDS = {"t": TEXT, "i": INTEGER, "b": BOOLEAN, "l": Kind.LIST}


def written(kind: str, node: exp.Expression) -> str | None:
    """Return a constant that a rule asks for: a text, a number of digits, or a unit of time."""
    if not isinstance(node, exp.Literal):
        return None
    if kind == "I":
        return str(node.this) if node.is_int and int(node.this) <= 15 else None
    if not node.is_string:
        return None
    if kind == "U":
        unit = TRUNCATED_TO.get(node.this.lower())
        return None if unit is None else f"'{unit}'"
    return quoted_text(node.this) if node.this else None


def quoted_text(text: str) -> str:
    """Return a text as SQL writes it.

    >>> quoted_text("It's")
    "'It''s'"
    """
    return "'" + text.replace("'", "''") + "'"
