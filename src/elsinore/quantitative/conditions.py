"""The predicates that an event satisfies, from its class and from columns of truth values.

A class is the number of an event's type among those that conditions name. What is left of
conditions for events of a class is computed before events reach the operator: a column of truth
values for each different expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import present, stored, to_arrow
from elsinore.model.expression import Expression
from elsinore.quantitative.machine.predicates import Bits


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a query's predicates, by types, over the truth values of `parts`."""

    predicates: Bits
    parts: tuple[Expression, ...] = field(init=False)
    _bits_by_class: Any = field(init=False, repr=False, compare=False)  # the last: other types
    _uses: Any = field(init=False, repr=False, compare=False)  # by part: masks and their classes

    def __post_init__(self) -> None:
        of_classes = list(self.predicates.by_type.values())  # of all other types comes last
        uses: dict[Expression, dict[int, Any]] = {}
        for number, (_, conditions) in enumerate(of_classes):
            for mask, part in conditions:
                classes = uses.setdefault(part, {}).setdefault(
                    mask, np.zeros(len(of_classes), bool)
                )
                classes[number] = True
        bits = np.array([bits for bits, _ in of_classes], self.kind)
        object.__setattr__(self, "parts", tuple(uses))
        object.__setattr__(self, "_bits_by_class", bits)
        object.__setattr__(self, "_uses", [list(masks.items()) for masks in uses.values()])

    @property
    def types(self) -> tuple[str, ...]:
        """The types that conditions name."""
        return self.predicates.types

    @property
    def kind(self) -> Any:
        """NumPy's type for bits."""
        return self.predicates.kind

    def bits(self, classes: Any, truths: Sequence[pa.Array]) -> Any:
        """Return the bits of events with these classes, and these truth values of `parts`.

        The class of types that no condition names is -1.
        """
        classes = classes.astype(np.intp) if self.types else np.full(len(classes), -1)
        bits = self._bits_by_class[classes]
        for column, masks in zip(truths, self._uses, strict=True):
            holds = true_in(column)
            for mask, of_classes in masks:
                applies = holds if of_classes.all() else holds & of_classes[classes]
                bits += applies.astype(self.kind) * mask
        return bits

    def types_of(self, classes: Any, types: pa.Array | None) -> pa.Array:
        """Return the column of events' types; without one, the types that classes stand for."""
        if types is not None:
            return types
        return to_arrow([*self.types, None]).take(to_arrow(classes % (len(self.types) + 1)))


def true_in(column: pa.Array) -> Any:
    """Return for each truth value whether it is true: neither false nor unknown."""
    holds = stored(column)
    return holds & present(column) if column.null_count else holds
