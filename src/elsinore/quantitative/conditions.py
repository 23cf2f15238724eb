"""The predicates that an event satisfies, from its class and from columns of truth values.

A class is the number of an event's type among those that conditions name. The conditions on other
attributes are computed before events reach the operator: a column for each operand of AND, OR and
NOT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import present, stored, to_arrow
from elsinore.expressions.columns import evaluate
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Expression, Literal, Operator
from elsinore.quantitative.machine.predicates import Bits
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
    kind: Any  # NumPy's type for bits
    _by_type: Mapping[str, pa.Array] = field(init=False, repr=False, compare=False)
    _bits_by_type: Any = field(init=False, repr=False, compare=False)  # those of comparisons alone

    def __post_init__(self) -> None:
        names = {TYPE: to_arrow([*self.types, NO_TYPE])}
        size = len(names[TYPE])
        by_type = {
            f"comparison {n}": to_arrow(truth(comparison, names, size))
            for n, comparison in enumerate(self.comparisons)
        }
        bits: Any = np.zeros(size, self.kind)
        for place, condition in enumerate(self.predicates):
            if _reads(condition) <= by_type.keys():
                bits += truth(condition, by_type, size).astype(self.kind) * (1 << place)
        object.__setattr__(self, "_by_type", by_type)
        object.__setattr__(self, "_bits_by_type", bits)

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

        conditions = tuple(over_truths(leaf.condition) for leaf in predicates.predicates)
        return cls(tuple(types), tuple(comparisons), tuple(parts), conditions, predicates.kind)

    def bits(self, classes: Any, truths: Sequence[pa.Array]) -> Any:
        """Return the bits of events with these classes, and these truth values of `parts`.

        The class of types that no condition names is -1.
        """
        types = classes.astype(np.intp) if self.comparisons else None
        if types is None:
            bits = np.full(len(classes), self._bits_by_type[-1], self.kind)
        else:
            bits = self._bits_by_type[types]
        columns = {f"part {n}": column for n, column in enumerate(truths)}
        for place, condition in enumerate(self.predicates):
            reads = _reads(condition)
            if reads <= self._by_type.keys():
                continue
            for name in (reads & self._by_type.keys()) - columns.keys():
                columns[name] = to_arrow(stored(self._by_type[name])[types])
            bits += truth(condition, columns, len(classes)).astype(self.kind) * (1 << place)
        return bits

    def types_of(self, classes: Any, types: pa.Array | None) -> pa.Array:
        """Return the column of events' types; without one, the types that classes stand for."""
        if types is not None:
            return types
        return to_arrow([*self.types, None]).take(to_arrow(classes % (len(self.types) + 1)))


def _reads(condition: Expression) -> set[str]:
    return {str(read.name) for read in ex.attributes(condition)}


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
