"""Hypothesis strategies for trend queries that can be run, and for streams small enough to check.

`trend_workloads()` draws workloads, `event_streams()` streams in time order for them, and
`table_of()` makes a table of a stream. The streams' attributes are `g` and `k` to group and
partition by, `v` (integers), `w` (doubles), `s` (strings) and `b` (truth values), all with nulls.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Column,
    Disjunction,
    Event,
    Expression,
    InList,
    IsNull,
    Kleene,
    Literal,
    Negative,
    Not,
    Operator,
    Pattern,
    Query,
    Reference,
    ReturnItem,
    Sequence,
    Window,
    Workload,
)
from elsinore.model import pattern as pt
from elsinore.model.window import SECOND
from elsinore.plan.aggregates import item_name
from elsinore.trends.reference import ReferenceEvent

TYPES = ("A", "B", "C", "D")
STREAM_TYPES = ("A", "A", "A", "B", "B", "C", "D", "Z")  # nobody asks for Z
REPETITIONS = ((1, None), (0, None), (0, 1), (2, 2), (2, None), (1, 3), (0, 2), (1, 1))
NUMBERS = (-2, -1, 0, 1, 2, 3, 0.5, -1.5, 1.0)
LESS_OR_MORE = (Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE)
SCHEMA = pa.schema(
    {
        "time": pa.int64(),
        "type": pa.string(),
        "g": pa.string(),
        "k": pa.int64(),
        "v": pa.int64(),
        "w": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
    }
)


# Patterns


@st.composite
def _shapes(draw: st.DrawFn, leaves: int, types: Several[str]) -> Pattern:
    """Draw a pattern of about so many events, all bound to one variable still."""
    if leaves <= 1:
        shape: Pattern = Event(draw(st.sampled_from(types)), "")
        return _repeated(shape, draw(st.none() | st.sampled_from(REPETITIONS)))
    left = draw(st.integers(1, leaves - 1))
    parts = [draw(_shapes(left, types)), draw(_shapes(leaves - left, types))]
    shape = Disjunction(tuple(parts)) if draw(st.integers(0, 3)) == 0 else Sequence(tuple(parts))
    return _repeated(shape, draw(st.none() | st.none() | st.sampled_from(REPETITIONS)))


def _repeated(shape: Pattern, repetition: tuple[int, int | None] | None) -> Pattern:
    return shape if repetition is None else Kleene(shape, *repetition)


def _named(shape: Pattern, used: dict[str, int], shared: bool) -> Pattern:
    """Give every event a variable of its own; `shared`: branches of OR have theirs in common."""
    match shape:
        case Event(type_name, _):
            used[type_name] = used.get(type_name, 0) + 1
            return Event(type_name, f"{type_name.lower()}{used[type_name]}")
        case Kleene(inner, least, most):
            return Kleene(_named(inner, used, shared), least, most)
        case Sequence(parts):
            return Sequence(tuple(_named(part, used, shared) for part in parts))
        case Disjunction(parts):
            before, branches = dict(used), []
            for part in parts:
                own = dict(before) if shared else used
                branches.append(_named(part, own, shared))
                for name, count in own.items():
                    used[name] = max(used.get(name, 0), count)
            return Disjunction(tuple(branches))
        case _:
            raise TypeError(f"not drawn: {shape}")


@st.composite
def trend_patterns(draw: st.DrawFn, types: Several[str] = TYPES, most: int = 5) -> Pattern:
    """Draw a pattern that does not match the empty sequence."""
    shape = draw(_shapes(draw(st.integers(1, most)), types))
    if pt.nullable(shape):
        event = Event(draw(st.sampled_from(types)), "")
        shape = Sequence((shape, event) if draw(st.booleans()) else (event, shape))
    return _named(shape, {}, draw(st.booleans()))


# Predicates


@st.composite
def _conditions(draw: st.DrawFn, variable: str, reference: Reference, depth: int) -> Expression:
    """Draw a condition on one event."""
    v, w, s, b = (Attribute(variable, name, reference) for name in "vwsb")
    number = Literal(draw(st.sampled_from(NUMBERS)))
    text = Literal(draw(st.sampled_from(("p", "q", "", "o"))))
    truth = Literal(draw(st.booleans()))
    compare = draw(st.sampled_from(LESS_OR_MORE))
    same = draw(st.sampled_from((Operator.EQ, Operator.NE)))
    read = draw(st.sampled_from((v, w)))
    simple: list[Expression] = [
        Binary(compare, read, number),
        Binary(compare, number, read),
        Binary(compare, v, w),
        Binary(same, s, text),
        Binary(compare, s, text),
        b,
        Binary(same, b, truth),
        Binary(compare, v, Literal(None)),
        Binary(compare, v, Negative(Literal(1))),
        Binary(compare, Call("ABS", (read,)), number),
        Binary(compare, Negative(read), number),
        IsNull(draw(st.sampled_from((v, w, s, b)))),
        InList(v, (Literal(1), Literal(draw(st.sampled_from((-1, 3, None)))))),
        InList(s, (Literal("q"), Literal(draw(st.sampled_from(("p", None)))))),
        InList(b, (truth,)),
        Binary(compare, Binary(Operator.ADD, v, number), w),
        Binary(compare, Binary(Operator.MUL, v, w), number),
        Binary(compare, Binary(Operator.SUB, w, number), v),
        Binary(compare, Binary(Operator.DIV, v, read), number),
        Binary(same, Binary(Operator.MOD, v, Literal(draw(st.sampled_from((2, -2, 0))))), number),
        truth,
    ]
    if depth == 0:
        return draw(st.sampled_from(simple))
    one = draw(_conditions(variable, reference, depth - 1))
    other = draw(_conditions(variable, reference, 0))
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return Not(one)
    if kind == 1:
        return IsNull(one)
    return Binary(draw(st.sampled_from((Operator.AND, Operator.OR))), one, other)


@st.composite
def _predicates(draw: st.DrawFn, pattern: Pattern) -> tuple[Expression, ...]:
    found = pt.events(pattern)
    names = sorted({event.variable for event in found} | {event.type for event in found})
    kleene = pt.kleene_variables(pattern)
    predicates: list[Expression] = []
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        name = draw(st.sampled_from(names))
        choices = (Reference.PLAIN, Reference.CURRENT) if name in kleene else (Reference.PLAIN,)
        reference = draw(st.sampled_from(choices))
        predicates.append(draw(_conditions(name, reference, draw(st.sampled_from((0, 0, 1, 2))))))
    if draw(st.integers(0, 4)) == 0:  # many thresholds on one attribute, hardly any in the way
        attribute = draw(st.sampled_from("vw"))
        for variable in sorted({event.variable for event in found}):
            cut = Binary(
                draw(st.sampled_from(LESS_OR_MORE[:4])),
                Attribute(variable, attribute),
                Literal(draw(st.sampled_from(NUMBERS))),
            )
            weak = Binary(Operator.NE, Attribute(variable, attribute), Literal(2))
            predicates += draw(st.sampled_from(((cut,), (weak,), (cut, weak))))
    return tuple(predicates)


# Queries


@st.composite
def _returns(
    draw: st.DrawFn, pattern: Pattern, group_by: tuple[str, ...], variables: bool
) -> tuple[ReturnItem, ...]:
    """Draw aggregates over types or, if `variables`, over variables too."""
    found = pt.positive_events(pattern)
    names = sorted({event.type for event in found})
    if variables:
        names += sorted({event.variable for event in found})
    choices: list[Expression] = [Call("COUNT", ()), Call("LOG2", (Call("COUNT", ()),))]
    for name in names:
        choices.append(Call("COUNT", (Attribute(name, None),)))
        for attribute in ("v", "w"):
            over = Attribute(name, attribute)
            choices += [Call(function, (over,)) for function in ("SUM", "AVG", "MIN", "MAX")]
        choices.append(Call("MAX", (Attribute(name, "b"),)))
    drawn = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=5, unique=True))
    items = [ReturnItem(expression) for expression in drawn]
    if draw(st.booleans()):
        items[0] = replace(items[0], alias="first")
    if group_by and draw(st.booleans()):
        alias = draw(st.sampled_from((None, "of")))
        items.append(ReturnItem(Column(group_by[0]), alias))
    return tuple(items)


def trend_windows() -> st.SearchStrategy[Window | None]:
    """Draw a window of a few seconds: none, tumbling, overlapping or with gaps."""
    seconds = st.integers(1, 6).map(lambda number: number * SECOND)
    origin = st.integers(-7, 7).map(lambda number: number * SECOND)
    return st.none() | st.builds(
        Window, seconds | st.just(20 * SECOND), st.none() | seconds, st.just(0) | origin
    )


@st.composite
def trend_queries(
    draw: st.DrawFn, name: str = "q", types: Several[str] = TYPES, *, variables: bool = False
) -> Query:
    """Draw a query whose trends any number of events may stand between."""
    pattern = draw(trend_patterns(types))
    group_by = draw(st.sampled_from(((), (), ("g",), ("g", "k"), ("k",))))
    return Query(
        name=name,
        returns=draw(_returns(pattern, group_by, variables)),
        pattern=pattern,
        where=draw(_predicates(pattern)),
        equivalence=draw(st.sampled_from(((), (), ("k",), ("k", "s")))),
        group_by=group_by,
        window=draw(trend_windows()),
    )


@st.composite
def trend_workloads(
    draw: st.DrawFn, *, variables: bool = False, exact: bool | None = False
) -> Workload:
    """Draw one to four queries over common types; `exact` None: either way."""
    types = draw(st.sampled_from((TYPES, ("A", "B"), ("A", "B"), ("A",))))
    count = draw(st.sampled_from((1, 1, 2, 3, 4)))
    queries = tuple(
        draw(trend_queries(f"q{number}", types, variables=variables)) for number in range(count)
    )
    return Workload(queries, exact=draw(st.booleans()) if exact is None else exact)


def column_names(query: Query) -> dict[str, str]:
    """Return what a result's columns of group attributes are called, by attribute."""
    found = {name: name for name in query.group_by}
    for item in query.returns:
        if isinstance(item.expression, Column):
            found[item.expression.name] = item_name(item)
    return found


# Streams


@st.composite
def event_streams(draw: st.DrawFn, most: int = 9) -> list[ReferenceEvent]:
    """Draw up to so many events in time order, many of them simultaneous."""
    size = draw(st.integers(0, most))
    first = draw(st.integers(-6, 6))
    span = draw(st.sampled_from((0, 2, 5, 12, 12)))
    seconds = sorted(draw(st.lists(st.integers(0, span), min_size=size, max_size=size)))
    types = draw(st.sampled_from((STREAM_TYPES, ("A", "B"), ("A",))))
    quarters = st.integers(-6, 12).map(lambda number: number / 4)
    attributes: dict[str, st.SearchStrategy[Any]] = {
        "g": st.sampled_from(("x", "x", "y", None)),
        "k": st.sampled_from((1, 1, 2, None)),
        "v": st.sampled_from((-2, -1, 0, 1, 2, 3, None)),
        "w": quarters | quarters | st.none() | st.just(float("nan")),
        "s": st.sampled_from(("p", "q", "q", "", None)),
        "b": st.sampled_from((True, False, None)),
    }
    return [
        ReferenceEvent(
            (first + second) * SECOND,
            draw(st.sampled_from(types)),
            draw(st.fixed_dictionaries(attributes)),
        )
        for second in seconds
    ]


def table_of(events: Several[ReferenceEvent]) -> pa.Table:
    """Return a stream as a table; times in whole seconds."""
    rows = [
        {"time": event.time // SECOND, "type": event.type, **event.attributes} for event in events
    ]
    return pa.table({name: [row.get(name) for row in rows] for name in SCHEMA.names}, schema=SCHEMA)
