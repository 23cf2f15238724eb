"""Linear forms over snapshots: what the count of an event is to all queries that share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of snapshots with whole coefficients, such as 4x + z (HAMLET, Section 3.3).

    >>> print(Form({"x": 3}) + Form({"x": 1, "z": 1}))
    4x + z
    """

    coefficients: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: str) -> Form:
        """Return the form that is one snapshot."""
        return cls({snapshot: 1})

    @classmethod
    def total(cls, forms: Iterable[Form]) -> Form:
        """Return the sum of forms.

        >>> str(Form.total([Form.of("x"), Form.of("x"), Form.of("y")]))
        '2x + y'
        """
        coefficients: dict[str, int] = {}
        for form in forms:
            for name, number in form.coefficients.items():
                coefficients[name] = coefficients.get(name, 0) + number
        return cls(coefficients)

    def __add__(self, other: Form) -> Form:
        return Form.total((self, other))

    def value(self, snapshots: Mapping[str, int]) -> int:
        """Return what the form is worth where snapshots have these values; 0 where one has none.

        >>> (Form({"x": 4}) + Form.of("z")).value({"x": 2, "z": 8})
        16
        """
        return sum(n * snapshots.get(name, 0) for name, n in self.coefficients.items())

    def __str__(self) -> str:
        parts = (f"{'' if n == 1 else n}{name}" for name, n in self.coefficients.items() if n)
        return " + ".join(parts) or "0"
