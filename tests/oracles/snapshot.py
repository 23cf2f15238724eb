"""Snapshots: variables for intermediate trend counts, and the table of their values per query.

HAMLET, Definitions 8 and 9 and Tables 3 to 5. A count that is shared is a linear form over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of snapshots with coefficients, such as 4x + z.

    >>> print(Form({"x": 3}) + Form({"x": 1, "z": 1}))
    4x + z
    """

    coefficients: Mapping[str, int]

    def __add__(self, other: Form) -> Form:
        total = dict(self.coefficients)
        for name, number in other.coefficients.items():
            total[name] = total.get(name, 0) + number
        return Form(total)

    def __str__(self) -> str:
        parts = (f"{'' if n == 1 else n}{name}" for name, n in self.coefficients.items() if n)
        return " + ".join(parts) or "0"


def total(forms: Iterable[Form]) -> Form:
    """Return the sum of forms."""
    result = Form({})
    for form in forms:
        result += form
    return result


@dataclass(slots=True)
class SnapshotTable:
    """The values of snapshots per query: S in HAMLET, Algorithm 1."""

    values: dict[str, dict[str, int]] = field(default_factory=dict)

    def create(self, name: str, values: Mapping[str, int]) -> Form:
        """Add a snapshot with its value for each query; return it as a form."""
        self.values[name] = dict(values)
        return Form({name: 1})

    def value(self, form: Form, query: str) -> int:
        """Return the value of a form for a query."""
        return sum(
            number * self.values[name].get(query, 0) for name, number in form.coefficients.items()
        )
