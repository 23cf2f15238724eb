"""Translated parts of SQL expressions, and their conversion to the kinds that rules require."""

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
    """A translated part of an expression: DuckDB's SQL, and its DuckDB type."""

    text: str
    type: str

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return kind_of(self.type)


class RejectedError(InputError):
    """An expression that cannot be computed in process with Spark's values."""


class ExpressionTranslator(Protocol):
    """The methods of `translation.Translator` that operators' and functions' rules call."""

    def translate(self, node: exp.Expression) -> Part:
        """Translate a parsed expression."""

    def with_common_type(
        self, node: exp.Expression, operands: Sequence[exp.Expression]
    ) -> list[Part]:
        """Translate operands of a comparison or choice, and convert them to a common type."""

    def converted(self, node: exp.Expression, kind: str, operand: exp.Expression) -> str:
        """Return the SQL of an operand converted to a kind (see `functions`)."""

    def typed_by_duckdb(self, text: str, node: exp.Expression) -> Part:
        """Return DuckDB's SQL with the type that DuckDB infers."""

    def rejected(self, node: exp.Expression, why: str = "") -> RejectedError:
        """Return the error for an expression that cannot be computed in process."""


Operator = Callable[[ExpressionTranslator, exp.Expression], Part]
Function = Callable[[ExpressionTranslator, exp.Expression, Sequence[exp.Expression]], Part]


def as_double(part: Part) -> Part:
    """Cast a number to a double."""
    return (
        part
        if part.kind is DOUBLE
        else Part(cast(part.text, part.kind, "DOUBLE") or part.text, "DOUBLE")
    )


def converted_text(kind: str, part: Part) -> str | None:
    """Return an argument's SQL converted to a rule's kind; None if there is no conversion."""
    actual = part.kind
    null_types = {"t": "VARCHAR", "i": "INTEGER", "n": "INTEGER", "f": "DOUBLE", "b": "BOOLEAN"}
    null_types |= {"d": "DATE", "s": "TIMESTAMP"}
    if actual is Kind.NULL:
        return f"CAST(NULL AS {null_types[kind]})" if kind in null_types else None
    match kind:
        case ".":
            return part.text
        case "f" if actual in {INTEGER, DOUBLE}:
            return part.text if part.type == "DOUBLE" else f"CAST({part.text} AS DOUBLE)"
        case "r" if part.type == "FLOAT":
            return part.text
        case "n" if actual in {INTEGER, DOUBLE}:
            return part.text
        case "d" if actual in TIMES:
            return part.text if actual is DATE else f"CAST({part.text} AS DATE)"
        case "s" if actual in TIMES:
            return part.text if actual is TIME else f"CAST({part.text} AS TIMESTAMP)"
        case "t" | "i" | "b" | "l" if actual is _KINDS[kind]:
            return part.text
    return None


_KINDS = {"t": TEXT, "i": INTEGER, "b": BOOLEAN, "l": Kind.LIST}


def constant_argument(kind: str, node: exp.Expression) -> str | None:
    """Return the SQL of a constant argument of kind `I`, `U` or `T`; None for other nodes."""
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
    """Return a text as an SQL literal.

    >>> quoted_text("It's")
    "'It''s'"
    """
    return "'" + text.replace("'", "''") + "'"
