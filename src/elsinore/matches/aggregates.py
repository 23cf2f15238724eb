"""Aggregates that users define: classes of Python with `init`, `step` and `value`.

    class Spread:
        monotone = "increasing"  # optional: the value never shrinks as events are added

        def init(self): return (inf, -inf)                    # the state of no events
        def step(self, state, value): return (min(state[0], value), max(state[1], value))
        def value(self, state): return state[1] - state[0]    # a number, a truth value or None

`step` returns a new state and leaves the old one as it is. It is not called for nulls; over no
values at all the aggregate is null. What is given may be an object too, such as `Quantile(0.9)`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

from elsinore.errors import QuerySemanticError, choices_text, did_you_mean
from elsinore.matches.built_in import BUILT_IN
from elsinore.model.expression import AGGREGATES, SCALARS, Call, walk
from elsinore.model.query import Query

PROTOCOL = ("init", "step", "value")
MONOTONE = ("increasing", "decreasing")


class UserAggregate:
    """An aggregate that a user defines, under its name in queries (in upper case).

    `given` is the object whose methods are called; `initial` the state of no events as numbers,
    None where it is anything else. `counts`: see `elsinore.matches.built_in`. Aggregates are equal
    where name and code are.
    """

    __slots__ = ("counts", "digest", "given", "initial", "is_single", "monotone", "name")

    def __init__(self, name: str, given: object) -> None:
        """Look at what was given; QuerySemanticError where it is no aggregate."""
        self.name = name.upper()
        if self.name in AGGREGATES | SCALARS and BUILT_IN.get(self.name) is not given:
            raise QuerySemanticError(f"'{name}' is a function already: give it another name.")
        self.given: Any = given
        try:
            if isinstance(given, type):
                self.given = given()
        except Exception as error:
            raise QuerySemanticError(
                f"The aggregate '{name}' cannot be made: {type(error).__name__}: {error}. Its "
                "class takes no arguments; give an object of it where it has some."
            ) from error
        lacking = [m for m in PROTOCOL if not callable(getattr(self.given, m, None))]
        if lacking:
            raise QuerySemanticError(
                f"The aggregate '{name}' has no {' and no '.join(lacking)}. It has init(), "
                "step(state, value) and value(state)."
            )
        self.counts: bool = bool(getattr(self.given, "counts", False))
        self.monotone: str | None = getattr(self.given, "monotone", None)
        if self.monotone is not None and self.monotone not in MONOTONE:
            raise QuerySemanticError(
                f"monotone of the aggregate '{name}' is {self.monotone!r}: it is 'increasing', "
                "'decreasing' or left out."
            )
        try:
            state: object = self.given.init()
        except Exception as error:
            raise QuerySemanticError(
                f"init of the aggregate '{name}' failed: {type(error).__name__}: {error}"
            ) from error
        self.is_single = not isinstance(state, tuple)
        parts = state if isinstance(state, tuple) else (state,)
        numbers = bool(parts) and all(isinstance(p, int | float) for p in parts)
        self.initial = tuple(float(part) for part in parts) if numbers else None
        self.digest = _digest(self.given)

    @property
    def empty(self) -> float:
        """The value of no events: 0 of one that counts, else null."""
        return 0.0 if self.counts else math.nan

    @property
    def width(self) -> int:
        """How many doubles hold its state; one, a handle, where it is not made of numbers."""
        return 1 if self.initial is None else len(self.initial)

    def __repr__(self) -> str:
        return f"UserAggregate({self.name!r}, {self.digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserAggregate) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.name, self.digest))


Aggregates = Mapping[str, UserAggregate]


def user_aggregates(
    given: Mapping[str, object], queries: Iterable[Query]
) -> dict[str, UserAggregate]:
    """Return the aggregates that queries name, by their names there, and those that are built in.

    Raises QuerySemanticError for what is none, where a query names it.
    """
    named = {
        node.name: query
        for query in queries
        for expression in query.expressions
        for node in walk(expression)
        if isinstance(node, Call)
    }
    made = {}
    for name, methods in (*BUILT_IN.items(), *given.items()):
        query = named.get(name.upper())
        if query is not None:
            try:
                made[name.upper()] = UserAggregate(name, methods)
            except QuerySemanticError as error:
                error.query = query.name
                raise
    return made


def no_function(name: str, aggregates: Aggregates) -> str:
    """Say that there is no such function, and how one is given."""
    names = sorted(AGGREGATES | SCALARS | set(aggregates))
    return (
        f"There is no function '{name}'.{did_you_mean(name, names)} Functions: "
        f"{choices_text(names)}. One of your own is given as a class, with aggregates= in Python "
        "or --python on the command line."
    )


def _digest(given: object) -> str:
    """Return what tells aggregates of one name apart: their code, and what an object holds."""
    digest = hashlib.sha256()
    for method in PROTOCOL:
        function = getattr(given, method)
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        digest.update(_of_code(code) if isinstance(code, CodeType) else repr(method).encode())
    attributes = getattr(given, "__dict__", {})
    digest.update(repr(sorted((name, repr(value)) for name, value in attributes.items())).encode())
    return digest.hexdigest()[:16]


def _of_code(code: CodeType) -> bytes:
    constants = b"".join(
        _of_code(constant) if isinstance(constant, CodeType) else repr(constant).encode()
        for constant in code.co_consts
    )
    return code.co_code + constants + repr(code.co_names).encode()
