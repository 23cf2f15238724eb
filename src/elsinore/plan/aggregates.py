"""The sums of a trend query in each template state, from which its RETURN columns are computed.

Every aggregate comes from *fields*: sums over all trends that end in a state. The first linear
field is the number of trends; COUNT(E), SUM(E.a) and the number of non-null E.a (for AVG) follow.
MIN and MAX are *extremes*: ranks of 64 bits, of which the greatest means no value. Whether a value
has that rank is a separate extreme, its *edge*. Columns that need the same field share it.

Variances and standard deviations come from three sums over the non-null values: their number,
their deviations from a value near them all, the *shift*, and the squares of these. (Sums of squares
of values near 10^9 that differ by little would cancel out.) Each type of events has its own shift.
If windows overlap there are two such sums, of which a window reads one (`elsinore.plan.epochs`).
Each partial total has its shifts; totals are converted to the same shift before they are added
(`elsinore.trends.partials`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from elsinore.errors import QuerySemanticError
from elsinore.language import column_name
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import SPREADS, Attribute, Call, Column
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.plan.epochs import turns_of


class FieldKind(Enum):
    """What an event contributes to a field, for each trend that holds it."""

    TRENDS = "trends"  # nothing; the field counts trends
    EVENTS = "events"  # 1
    SUM = "sum"  # its value, where not null
    PRESENT = "present"  # 1, where its value is not null
    DEVIATION = "deviation"  # its value less the shift, where not null
    SQUARE = "square"  # the square of that
    LEAST = "least"
    GREATEST = "greatest"
    # 0 if some value has the rank that means no value among LEAST, or GREATEST
    LEAST_EDGE = "least_edge"
    GREATEST_EDGE = "greatest_edge"
    BEGINNING = "beginning"  # the moment of its first event, inverted: the latest one is the least

    @property
    def is_extreme(self) -> bool:
        """Whether it is the least of the events' contributions, instead of their sum."""
        return self in _EXTREMES


_EXTREMES = frozenset(
    {
        FieldKind.LEAST,
        FieldKind.GREATEST,
        FieldKind.LEAST_EDGE,
        FieldKind.GREATEST_EDGE,
        FieldKind.BEGINNING,
    }
)


@dataclass(frozen=True, slots=True)
class Field:
    """One sum: its kind, the variables whose events contribute, the attribute they contribute.

    `type`: of deviations and their squares, that of these events; `turn`: theirs.
    """

    kind: FieldKind
    variables: frozenset[str] = frozenset()
    attribute: str | None = None
    type: str | None = None
    turn: int = 0

    @property
    def is_extreme(self) -> bool:
        """Whether it is a least or greatest value instead of a sum."""
        return self.kind.is_extreme


TRENDS = Field(FieldKind.TRENDS)


class Outcome(Enum):
    """How a result column is made from fields."""

    COUNT = "count"  # the field as it is
    LOG2 = "log2"  # its binary logarithm
    SUM = "sum"  # the field; null where nothing was added
    AVG = "avg"  # quotient of two fields
    EXTREME = "extreme"
    # from the sums of squares, of deviations, and the number of values
    VARIANCE = "variance"
    STDDEV = "stddev"
    VAR_POP = "var_pop"
    STDDEV_POP = "stddev_pop"

    @property
    def is_spread(self) -> bool:
        """Whether it is a variance or the root of one."""
        return self.is_root or self in {Outcome.VARIANCE, Outcome.VAR_POP}

    @property
    def of_sample(self) -> bool:
        """Whether it divides by the number of values less one, and is null for one value."""
        return self in {Outcome.VARIANCE, Outcome.STDDEV}

    @property
    def is_root(self) -> bool:
        """Whether it is the root of a variance."""
        return self in {Outcome.STDDEV, Outcome.STDDEV_POP}


_EXTREME = {
    "MIN": (FieldKind.LEAST, FieldKind.LEAST_EDGE),
    "MAX": (FieldKind.GREATEST, FieldKind.GREATEST_EDGE),
}
SPREAD = (FieldKind.SQUARE, FieldKind.DEVIATION, FieldKind.PRESENT)


class Addend(NamedTuple):
    """What events add to sums; deviations and their squares differ by windows and turns."""

    kind: FieldKind
    attribute: str
    window: Window | None = None
    turn: int = 0

    @classmethod
    def of(cls, kind: FieldKind, attribute: str, window: Window | None, turn: int) -> Addend:
        """Return what is added to a field of a query with such windows."""
        return cls(kind, attribute, window, turn) if kind in SPREAD[:2] else cls(kind, attribute)


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the result: its name, how it is made, and from which fields (by number).

    Those of variances are of `SPREAD`, turn after turn.
    """

    name: str
    outcome: Outcome
    fields: tuple[int, ...]
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """Fields of `SPREAD` that are looked at from one shift, by number."""

    attribute: str
    type: str
    turn: int
    fields: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """All of a query's fields and columns. `linear[0]` is the number of trends."""

    linear: tuple[Field, ...]
    extremes: tuple[Field, ...]
    columns: tuple[ResultColumn, ...]

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """Each attribute and type whose squares are summed, and each turn of these."""
        spreads = []
        for number, entry in enumerate(self.linear):
            if entry.kind is FieldKind.SQUARE:
                deviations = replace(entry, kind=FieldKind.DEVIATION)
                present = replace(entry, kind=FieldKind.PRESENT, type=None, turn=0)
                fields = number, self.linear.index(deviations), self.linear.index(present)
                spreads.append(Spread(entry.attribute or "", entry.type or "", entry.turn, fields))
        return tuple(spreads)


def aggregation(query: Query) -> Aggregation:
    """Work out the fields and columns of a trend query.

    Raises QuerySemanticError where two columns would have one name.
    """
    linear: list[Field] = [TRENDS]
    extremes: list[Field] = []
    columns: list[ResultColumn] = []

    def field(kind: FieldKind, over: Attribute, attribute: str | None, turn: int = 0) -> int:
        variables = frozenset(variables_named(query.pattern, over.variable))
        types = {event.variable: event.type for event in pt.positive_events(query.pattern)}
        variables &= types.keys()
        entry = Field(kind, variables, attribute)
        if kind in SPREAD[:2]:
            entry = replace(entry, type=types[min(variables)], turn=turn)
        place = extremes if entry.is_extreme else linear
        if entry not in place:
            place.append(entry)
        return place.index(entry)

    for item in query.returns:
        name = column_name(item)
        match item.expression:
            case Column():
                continue
            case Call("COUNT", ()):
                column = ResultColumn(name, Outcome.COUNT, (0,))
            case Call("LOG2"):
                column = ResultColumn(name, Outcome.LOG2, (0,))
            case Call("COUNT", (Attribute() as over,)):
                column = ResultColumn(name, Outcome.COUNT, (field(FieldKind.EVENTS, over, None),))
            case Call(function, (Attribute(_, str(attribute)) as over,)):
                if function in {"MIN", "MAX"}:
                    outcome = Outcome.EXTREME
                    fields: tuple[int, ...] = tuple(
                        field(kind, over, attribute) for kind in _EXTREME[function]
                    )
                elif function in SPREADS:
                    outcome = Outcome(function.lower())
                    fields = tuple(
                        field(kind, over, attribute, turn)
                        for turn in range(turns_of(query.window))
                        for kind in SPREAD
                    )
                else:
                    outcome = Outcome.SUM if function == "SUM" else Outcome.AVG
                    fields = (
                        field(FieldKind.SUM, over, attribute),
                        field(FieldKind.PRESENT, over, attribute),
                    )
                column = ResultColumn(name, outcome, fields, attribute)
            case _:
                raise TypeError(f"not an aggregate of a trend query: {item.expression}")
        names = {other.name for other in columns} | set(query.group_by)
        names |= {"window_start", "window_end"}
        if name in names:
            raise QuerySemanticError(
                f"Two columns of the result are named '{name}': give one of them an alias with AS.",
                span=item.expression.span,
                query=query.name,
            )
        columns.append(column)
    return Aggregation(tuple(linear), tuple(extremes), tuple(columns))
