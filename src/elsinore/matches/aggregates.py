"""Aggregates of one match that are defined by classes: those of users, and built-in ones.

    class Spread:
        monotone = "increasing"  # optional: the value never shrinks as events are added

        def init(self): return (inf, -inf)                    # the state of no events
        def step(self, state, value): return (min(state[0], value), max(state[1], value))
        def value(self, state): return state[1] - state[0]    # a number, a truth value or None

`step` returns a new state and does not change the old one. It is not called for nulls; without
values the aggregate is null. Users may give an object instead of a class: `Quantile(0.9)`.

Built-in aggregates are written in the same way. A new one needs its class here, its name in
`elsinore.model.expression` and the types of its arguments in `elsinore.model.types`. `counts`: it
only compares values (of any type), and its result is a whole number, 0 without values.
A built-in aggregate with `chosen(state)` can be applied to text too, and then returns one of the
texts: the engine steps it with pairs of a text and the row of its event. The engine computes
`FORMULAS` in compiled code.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

from elsinore.errors import QuerySemanticError, choices_text, did_you_mean
from elsinore.model.expression import AGGREGATES, SCALARS, Call, walk
from elsinore.model.query import Query


class CountDistinct:
    """The number of different values."""

    monotone = "increasing"
    counts = True

    def init(self) -> frozenset[float]:
        """Return no values."""
        return frozenset()

    def step(self, state: frozenset[float], value: float) -> frozenset[float]:
        """Return the values and one more."""
        return state if value in state else state | {value}

    def value(self, state: frozenset[float]) -> int:
        """Return the number of values."""
        return len(state)


class Median:
    """The middle value.

    Of an even number of numbers, the mean of the two middle ones; of an even number of texts, the
    lower one, as texts have no mean. Texts are ordered by their characters' code points.
    """

    def init(self) -> tuple[Any, ...]:
        """Return no values."""
        return ()

    def step(self, state: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        """Return the values and one more, sorted."""
        at = bisect(state, value)
        return (*state[:at], value, *state[at:])

    def value(self, state: tuple[float, ...]) -> float:
        """Return the median of numbers."""
        middle = len(state) // 2
        if len(state) % 2:
            return state[middle]
        return state[middle - 1] + (state[middle] - state[middle - 1]) / 2

    def chosen(self, state: tuple[tuple[str, float], ...]) -> tuple[str, float]:
        """Return the median of texts, with the row of its event."""
        return state[(len(state) - 1) // 2]


class VarPop:
    """The variance of a population (Welford's recurrence: count, mean, sum of squares)."""

    def init(self) -> tuple[float, float, float]:
        """Return no values."""
        return (0.0, 0.0, 0.0)

    def step(self, state: tuple[float, float, float], value: float) -> tuple[float, float, float]:
        """Return count, mean and sum of squares with one more value."""
        count = state[0] + 1.0
        distance = value - state[1]
        mean = state[1] + distance / count
        return (count, mean, state[2] + distance * (value - mean))

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the mean of the squared distances from the mean."""
        return state[2] / state[0]


class StddevPop(VarPop):
    """The standard deviation of a population."""

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the root of the variance."""
        return float((state[2] / state[0]) ** 0.5)


class Variance(VarPop):
    """The variance of a sample, null for fewer than two values."""

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the sum of squares divided by the number of values less one."""
        if state[0] < 2.0:
            return None
        return state[2] / (state[0] - 1.0)


class Stddev(VarPop):
    """The standard deviation of a sample, null for fewer than two values."""

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the root of the variance."""
        if state[0] < 2.0:
            return None
        return float((state[2] / (state[0] - 1.0)) ** 0.5)


BUILT_IN: Mapping[str, object] = {
    "COUNT_DISTINCT": CountDistinct,
    "MEDIAN": Median,
    "STDDEV": Stddev,
    "STDDEV_POP": StddevPop,
    "VARIANCE": Variance,
    "VAR_POP": VarPop,
}
# Computed by `elsinore.matches.engine.registers.step_variance`, with the same operations in order.
FORMULAS = frozenset({"STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP"})


PROTOCOL = ("init", "step", "value")
MONOTONE = ("increasing", "decreasing")


class UserAggregate:
    """An aggregate that a user defines, under its name in queries (in upper case).

    `methods` is the object whose methods are called; `initial` the state without events as numbers,
    None if it is of another type. Aggregates are equal if their names and code are.
    """

    __slots__ = (
        "chooses",
        "counts",
        "digest",
        "initial",
        "is_single",
        "methods",
        "monotone",
        "name",
    )

    def __init__(self, name: str, definition: object) -> None:
        """Check the methods of a class or an object; QuerySemanticError if some are missing."""
        self.name = name.upper()
        if self.name in AGGREGATES | SCALARS and BUILT_IN.get(self.name) is not definition:
            raise QuerySemanticError(f"'{name}' is a function already: give it another name.")
        self.methods: Any = definition
        try:
            if isinstance(definition, type):
                self.methods = definition()
        except Exception as error:
            raise QuerySemanticError(
                f"The aggregate '{name}' cannot be made: {type(error).__name__}: {error}. Its "
                "class takes no arguments; give an object of it where it has some."
            ) from error
        lacking = [m for m in PROTOCOL if not callable(getattr(self.methods, m, None))]
        if lacking:
            raise QuerySemanticError(
                f"The aggregate '{name}' has no {' and no '.join(lacking)}. It has init(), "
                "step(state, value) and value(state)."
            )
        self.counts: bool = bool(getattr(self.methods, "counts", False))
        self.chooses = BUILT_IN.get(self.name) is definition and hasattr(self.methods, "chosen")
        self.monotone: str | None = getattr(self.methods, "monotone", None)
        if self.monotone is not None and self.monotone not in MONOTONE:
            raise QuerySemanticError(
                f"monotone of the aggregate '{name}' is {self.monotone!r}: it is 'increasing', "
                "'decreasing' or left out."
            )
        try:
            state: object = self.methods.init()
        except Exception as error:
            raise QuerySemanticError(
                f"init of the aggregate '{name}' failed: {type(error).__name__}: {error}"
            ) from error
        self.is_single = not isinstance(state, tuple)
        parts = state if isinstance(state, tuple) else (state,)
        numbers = bool(parts) and all(isinstance(p, int | float) for p in parts)
        self.initial = tuple(float(part) for part in parts) if numbers else None
        self.digest = _digest(self.methods)

    @property
    def empty(self) -> float:
        """The value without events: 0 of an aggregate that counts, else null."""
        return 0.0 if self.counts else math.nan

    @property
    def width(self) -> int:
        """The number of doubles of its state; one, a handle, if it is not made of numbers."""
        return 1 if self.initial is None else len(self.initial)

    def __repr__(self) -> str:
        return f"UserAggregate({self.name!r}, {self.digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserAggregate) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.name, self.digest))


Aggregates = Mapping[str, UserAggregate]


def user_aggregates(
    definitions: Mapping[str, object], queries: Iterable[Query]
) -> dict[str, UserAggregate]:
    """Return the aggregates that queries call, by name: those of `definitions` and built-in ones.

    Raises QuerySemanticError if a query calls an object that is not an aggregate.
    """
    callers = {
        node.name: query
        for query in queries
        for expression in query.expressions
        for node in walk(expression)
        if isinstance(node, Call)
    }
    made = {}
    for name, methods in (*BUILT_IN.items(), *definitions.items()):
        query = callers.get(name.upper())
        if query is not None:
            try:
                made[name.upper()] = UserAggregate(name, methods)
            except QuerySemanticError as error:
                error.query = query.name
                raise
    return made


def no_function(name: str, aggregates: Aggregates) -> str:
    """Return the error text for an unknown function, with the remedy."""
    names = sorted(AGGREGATES | SCALARS | set(aggregates))
    return (
        f"There is no function '{name}'.{did_you_mean(name, names)} Functions: "
        f"{choices_text(names)}. One of your own is given as a class, with aggregates= in Python "
        "or --python on the command line."
    )


def _digest(methods: object) -> str:
    """Return a digest of an aggregate's code and attributes."""
    digest = hashlib.sha256()
    for method in PROTOCOL:
        function = getattr(methods, method)
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        digest.update(_code_bytes(code) if isinstance(code, CodeType) else repr(method).encode())
    attributes = getattr(methods, "__dict__", {})
    digest.update(repr(sorted((name, repr(value)) for name, value in attributes.items())).encode())
    return digest.hexdigest()[:16]


def _code_bytes(code: CodeType) -> bytes:
    """Return the instructions, constants and names of a function and of those inside of it."""
    constants = b"".join(
        _code_bytes(constant) if isinstance(constant, CodeType) else repr(constant).encode()
        for constant in code.co_consts
    )
    return code.co_code + constants + repr(code.co_names).encode()
