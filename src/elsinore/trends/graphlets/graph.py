"""The graphlets of one window, their events, and the table of snapshots.

The count of an event for all queries that share it is a linear form over snapshots.
"""

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
        """Return the form's value for some values of snapshots; one without a value counts 0.

        >>> (Form({"x": 4}) + Form.of("z")).value({"x": 2, "z": 8})
        16
        """
        return sum(n * snapshots.get(name, 0) for name, n in self.coefficients.items())

    def __str__(self) -> str:
        parts = (f"{'' if n == 1 else n}{name}" for name, n in self.coefficients.items() if n)
        return " + ".join(parts) or "0"


@dataclass(frozen=True, slots=True)
class EventCount:
    """An event and the trends that end in it (HAMLET, Equation 2).

    In a shared graphlet, `form` is the count for all queries, and `counts` its value for each.
    `row` is the event's place among those that were recorded.
    """

    name: str  # such as b3: of type B, at the third moment of the window
    row: int
    time: int
    form: Form | None
    counts: Mapping[str, int]  # by query


@dataclass(frozen=True, slots=True)
class Graphlet:
    """Events of one type, one after another, that are worked on together (Definitions 6 and 7)."""

    name: str  # such as B3: of type B, the third graphlet
    type: str
    queries: tuple[str, ...]
    shared: bool
    opening: str | None  # the snapshot that is propagated from its beginning on
    events: tuple[EventCount, ...]

    @property
    def form(self) -> Form | None:
        """The sum of its events' counts (Equation 5), where it is shared."""
        forms = [event.form for event in self.events if event.form is not None]
        return Form.total(forms) if self.shared else None

    @property
    def sums(self) -> dict[str, int]:
        """The value of that sum for each query."""
        return {
            query: sum(event.counts.get(query, 0) for event in self.events)
            for query in self.queries
        }


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A variable with a value for each query (Definitions 8 and 9).

    `event` is None for one of a graphlet, at its beginning; else the event that it stands for.
    """

    name: str
    graphlet: str
    event: str | None
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HamletGraph:
    """One key's graphlets and snapshots in one window of each query.

    A query with several states in one graphlet has names such as `query.2` there. `totals`
    is the number of its trends: COUNT(*) (Equation 3). `why_unshared` is the reason where no
    graphlet is shared, "" where one is.
    """

    key: int
    windows: Mapping[str, tuple[int, int] | None]  # [start, end) by query, None: the whole stream
    graphlets: tuple[Graphlet, ...]
    snapshots: tuple[Snapshot, ...]
    totals: Mapping[str, int]
    why_unshared: str = ""
