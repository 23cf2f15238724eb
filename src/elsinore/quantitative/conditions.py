"""The predicates that an event satisfies, from its class and from columns of truth values.

A class is the number of an event's type among those that conditions name. The conditions on other
attributes are computed before events reach the operator: a column for each operand of AND, OR and
NOT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import present, stored, to_arrow
from elsinore.expressions.columns import evaluate
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Expression, Literal, Operator
from elsinore.quantitative.machine.predicates import MOST_TOLD, Bits
from elsinore.quantitative.regex import TYPE

NO_TYPE = "\0"  # stands for all types that no condition names


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a query's predicates, over comparisons of the type and other `parts`.

    `predicates[k]` is the condition of bit k. In it `part n` and `comparison n` are attributes, the
    truth values of `parts[n]` and `comparisons[n]`.
    """

    types: tuple[str, ...]
    comparisons: tuple[Expression, ...]
    parts: tuple[Expression, ...]
    predicates: tuple[Expression, ...]

    @classmethod
    def from_predicates(cls, predicates: Bits) -> Conditions:
        """Return the conditions of a machine's predicates."""
        types: dict[str, None] = {}
        comparisons: dict[Expression, int] = {}
        parts: dict[Expression, int] = {}

        def over_truths(node: Expression) -> Expression:
            match node:
                case ex.Binary(Operator.AND | Operator.OR, left, right):
                    return ex.Binary(node.operator, over_truths(left), over_truths(right))
                case ex.Not(operand):
                    return ex.Not(over_truths(operand))
                case ex.IsNull(operand) if not isinstance(operand, Attribute):
                    return replace(node, operand=over_truths(operand))
                case Literal():
                    return node
            names = _names_of_types(node)
            if not names:
                return Attribute("", f"part {parts.setdefault(node, len(parts))}")
            types.update(dict.fromkeys(names))
            number = comparisons.setdefault(node, len(comparisons))
            return Attribute("", f"comparison {number}")

        conditions = tuple(over_truths(leaf.condition) for leaf in predicates.told)
        return cls(tuple(types), tuple(comparisons), tuple(parts), conditions)

    def bits(self, classes: Any, truths: Sequence[pa.Array]) -> Any:
        """Return the bits of events with these classes, and these truth values of `parts`.

        The classes of types that no condition names are negative. Bits are Python's integers if
        there are more than 64 bits have room for.
        """
        kind = np.int64 if len(self.predicates) <= MOST_TOLD else object
        names = {TYPE: to_arrow([NO_TYPE, *self.types])}
        by_class: Mapping[str, Any] = {
            f"comparison {n}": to_arrow(truth(comparison, names, len(names[TYPE])))
            for n, comparison in enumerate(self.comparisons)
        }
        rows = np.maximum(classes, -1) + 1
        bits_by_class = np.zeros(len(names[TYPE]), kind)
        bits: Any = 0
        columns = {f"part {n}": column for n, column in enumerate(truths)}
        for place, condition in enumerate(self.predicates):
            reads = {str(read.name) for read in ex.attributes(condition)}
            if reads <= by_class.keys():
                holds = truth(condition, by_class, len(bits_by_class))
                bits_by_class += holds.astype(kind) * (1 << place)
                continue
            for name in (reads & by_class.keys()) - columns.keys():
                columns[name] = by_class[name].take(to_arrow(rows))
            bits = bits + truth(condition, columns, len(classes)).astype(kind) * (1 << place)
        return bits_by_class[rows] + bits

    def types_of(self, classes: Any, types: pa.Array | None) -> pa.Array:
        """Return the column of events' types; without one, the types that classes stand for."""
        if types is not None:
            return types
        return to_arrow([None, *self.types]).take(to_arrow(np.maximum(classes, -1) + 1))


def truth(condition: Expression, columns: Mapping[str, pa.Array], rows: int) -> Any:
    """Return for each row whether a condition is true: neither false nor unknown."""
    verdict = evaluate(condition, columns)
    if isinstance(verdict, pa.Scalar):
        return np.full(rows, bool(verdict.as_py()))
    verdict = verdict.cast(pa.bool_())
    holds = stored(verdict)
    return holds & present(verdict) if verdict.null_count else holds


def _names_of_types(node: Expression) -> list[str]:
    """Return the names that a node compares the type with; none if it is no such comparison."""
    match node:
        case ex.Binary(
            Operator.EQ | Operator.NE, Attribute(name=name), Literal(value=str(value))
        ) if name == TYPE:
            return [value]
        case ex.InList(Attribute(name=name), choices) if name == TYPE:
            names = [choice.value for choice in choices]
            return names if all(isinstance(value, str) for value in names) else []  # type: ignore[return-value]
    return []
