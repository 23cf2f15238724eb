"""Hypothesis strategies for trend queries that can be run, and for streams small enough to check.

`trend_cases()` draws a workload and a stream in which most of its queries find trends;
`trend_workloads()` and `event_streams()` draw workloads and streams independently. `table_of()`
converts a stream to a table. Streams are in time order and have the attributes `g` and `k` to group
and partition by, `v` (integers), `w` (doubles), `s` (strings) and `b` (booleans), all with nulls.
Features that only some engines support are named by `Feature` and drawn on request.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as Several
from dataclasses import replace
from enum import Enum, auto
from math import prod
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from elsinore.automata import Symbol, glushkov
from elsinore.errors import QueryError
from elsinore.language import column_name
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Column,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    InList,
    IsNull,
    Kleene,
    Like,
    Literal,
    Negation,
    Negative,
    Not,
    Operator,
    Pattern,
    Query,
    Reference,
    ReturnItem,
    Sequence,
    Strategy,
    Window,
    Workload,
)
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.evaluate import is_true
from elsinore.model.window import SECOND
from elsinore.operators import plan
from oracles.reference import ReferenceEvent


class Feature(Enum):
    """Optional features of queries, in addition to patterns, local predicates, keys and windows."""

    NEGATION = auto()
    ADJACENT = auto()  # predicates between neighbours
    ANCHORED = auto()  # predicates of a single variable with all events of a later one
    CONJUNCTION = auto()
    STRATEGIES = auto()  # NEXT and CONTIGUOUS too


NO_FEATURES: Collection[Feature] = frozenset()
TYPES = ("A", "B", "C", "D")
STREAM_TYPES = ("A", "A", "A", "B", "B", "C", "D", "Z")  # no pattern has Z
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9, 7, 8)  # small ones last to be drawn
REPETITIONS = ((1, None), (0, None), (0, 1), (2, 2), (2, None), (1, 3), (0, 2), (1, 1))
HALF_REPEATED = st.sampled_from((None,) * len(REPETITIONS) + REPETITIONS)
THIRD_REPEATED = st.sampled_from((None,) * 2 * len(REPETITIONS) + REPETITIONS)
FOURTHS = st.integers(0, 3)
SURELY_SMALL = 12  # positions of a pattern whose automaton has no more than 4,096 states
NUMBERS = (-2, -1, 0, 1, 2, 3, 0.5, -1.5, 1.0)
LESS_OR_MORE = (Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE)
OVER_VALUES = ("SUM", "AVG", "MIN", "MAX", *sorted(ex.SPREADS))
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


def _shapes(draw: st.DrawFn, leaves: int, types: Several[str]) -> Pattern:
    """Draw a pattern of about `leaves` events, all with the same preliminary variable."""
    if leaves <= 1:
        shape: Pattern = Event(draw(st.sampled_from(types)), "")
        return _repeated(shape, draw(HALF_REPEATED))
    left = draw(st.integers(1, leaves - 1)) if leaves > 2 else 1
    parts = [_shapes(draw, left, types), _shapes(draw, leaves - left, types)]
    shape = Disjunction(tuple(parts)) if draw(FOURTHS) == 0 else Sequence(tuple(parts))
    return _repeated(shape, draw(THIRD_REPEATED))


def _repeated(shape: Pattern, repetition: tuple[int, int | None] | None) -> Pattern:
    return shape if repetition is None else Kleene(shape, *repetition)


def _named(shape: Pattern, used: dict[str, int], shared: bool) -> Pattern:
    """Give every event a different variable; `shared`: branches of OR share variables."""
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
                branch_names = dict(before) if shared else used
                branches.append(_named(part, branch_names, shared))
                for name, count in branch_names.items():
                    used[name] = max(used.get(name, 0), count)
            return Disjunction(tuple(branches))
        case _:
            raise TypeError(f"not drawn: {shape}")


@st.composite
def trend_patterns(draw: st.DrawFn, types: Several[str] = TYPES, most: int = 5) -> Pattern:
    """Draw a pattern that does not match the empty sequence."""
    leaves = draw(st.sampled_from([n for n in (1, 2, 2, 3, 3, 4, 5) if n <= most]))
    shape = _shapes(draw, leaves, types)
    if pt.nullable(shape):
        event = Event(draw(st.sampled_from(types)), "")
        shape = Sequence((shape, event) if draw(st.booleans()) else (event, shape))
    return _named(shape, {}, draw(st.booleans()))


def _negated(draw: st.DrawFn, shape: Pattern, types: Several[str], used: list[str]) -> Pattern:
    """Insert NOT at drawn places: before, between and after the members of sequences."""
    match shape:
        case Sequence(parts):
            parts_with_negation: list[Pattern] = []
            for part in parts:
                if not _at_edge(parts_with_negation, -1) and draw(FOURTHS) == 3:
                    parts_with_negation.append(Negation(_negatives(draw, types, used)))
                inner = _negated(draw, part, types, used)
                parts_with_negation.append(
                    part if _at_edge(parts_with_negation, -1) and _at_edge([inner], 0) else inner
                )
            if not _at_edge(parts_with_negation, -1) and draw(FOURTHS) == 3:
                parts_with_negation.append(Negation(_negatives(draw, types, used)))
            return Sequence(tuple(parts_with_negation))
        case Kleene(inner, least, most):
            return Kleene(_negated(draw, inner, types, used), least, most)
        case Disjunction(parts):
            return Disjunction(tuple(_negated(draw, part, types, used) for part in parts))
        case _:
            if draw(st.integers(0, 5)) < 5:
                return shape
            return Sequence((shape, Negation(_negatives(draw, types, used))))


def _at_edge(parts: Several[Pattern], place: int) -> bool:
    """Return whether a sequence begins (0) or ends (-1) with a NOT, as two may not be adjacent."""
    found = pt.members(Sequence(tuple(parts)))
    return bool(found) and isinstance(found[place], Negation)


def _negatives(draw: st.DrawFn, types: Several[str], used: list[str]) -> Pattern:
    """Draw a pattern for NOT: mostly one event, or a pattern of two."""

    def event() -> Event:
        used.append(f"n{len(used) + 1}")
        return Event(draw(st.sampled_from((*types, "D", "Z"))), used[-1])

    shape = draw(st.sampled_from("eeeesskkr?n"))
    match shape:
        case "s":
            return Sequence((event(), event()))
        case "k":
            return Kleene(event(), 2, None)
        case "r":
            return Sequence((event(), Kleene(event(), 1, None)))
        case "?":
            return Sequence((Kleene(event(), 0, 1), event()))
        case "n":
            return Sequence((event(), Negation(event()), event()))
    return event()


# Predicates


SIMPLE_CONDITIONS = st.sampled_from(
    [
        *("number", "number first", "columns", "same text", "text", "truth", "same truth", "null"),
        *("negative", "absolute", "negated", "is null", "number in", "text in", "truth in"),
        *("like", "sum", "product", "difference", "quotient", "remainder", "constant"),
    ]
)


def _simple_condition(draw: st.DrawFn, variable: str, reference: Reference) -> Expression:
    v, w, s, b = (Attribute(variable, name, reference) for name in "vwsb")

    def any_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    def number() -> Literal:
        return Literal(any_of(*NUMBERS))

    def compared(left: Expression, right: Expression) -> Binary:
        return Binary(any_of(*LESS_OR_MORE), left, right)

    def same(left: Expression, right: Expression) -> Binary:
        return Binary(any_of(Operator.EQ, Operator.NE), left, right)

    match draw(SIMPLE_CONDITIONS):
        case "number":
            return compared(any_of(v, w), number())
        case "number first":
            return compared(number(), any_of(v, w))
        case "columns":
            return compared(v, w)
        case "same text":
            return same(s, Literal(any_of("p", "q", "", "o")))
        case "text":
            return compared(s, Literal(any_of("p", "q", "", "o")))
        case "truth":
            return b
        case "same truth":
            return same(b, Literal(any_of(False, True)))
        case "null":
            return compared(v, Literal(None))
        case "negative":
            return compared(v, Negative(Literal(1)))
        case "absolute":
            return compared(Call("ABS", (any_of(v, w),)), number())
        case "negated":
            return compared(Negative(any_of(v, w)), number())
        case "is null":
            return IsNull(any_of(v, w, s, b))
        case "number in":
            return InList(v, (Literal(1), Literal(any_of(-1, 3, None))))
        case "text in":
            return InList(s, (Literal("q"), Literal(any_of("p", None))))
        case "truth in":
            return InList(b, (Literal(any_of(False, True)),))
        case "like":
            return Like(s, any_of("p%", "_", "%", ""))
        case "sum":
            return compared(Binary(Operator.ADD, v, number()), w)
        case "product":
            return compared(Binary(Operator.MUL, v, w), number())
        case "difference":
            return compared(Binary(Operator.SUB, w, number()), v)
        case "quotient":
            return compared(Binary(Operator.DIV, v, any_of(v, w)), number())
        case "remainder":
            return same(Binary(Operator.MOD, v, Literal(any_of(2, -2, 0))), number())
        case _:
            return Literal(any_of(False, True))


def _conditions(draw: st.DrawFn, variable: str, reference: Reference, depth: int) -> Expression:
    """Draw a condition on one event."""
    if depth == 0:
        return _simple_condition(draw, variable, reference)
    left = _conditions(draw, variable, reference, depth - 1)
    right = _conditions(draw, variable, reference, 0)
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return Not(left)
    if kind == 1:
        return IsNull(left)
    return Binary(draw(st.sampled_from((Operator.AND, Operator.OR))), left, right)


def _predicates(draw: st.DrawFn, pattern: Pattern) -> tuple[Expression, ...]:
    """Draw local predicates, most of them on single types or variables."""
    found = pt.events(pattern)
    names = sorted({event.variable for event in found} | {event.type for event in found})
    kleene = pt.kleene_variables(pattern)
    predicates: list[Expression] = []
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        name = draw(st.sampled_from(names))
        choices = (Reference.PLAIN, Reference.CURRENT) if name in kleene else (Reference.PLAIN,)
        reference = draw(st.sampled_from(choices))
        predicates.append(_conditions(draw, name, reference, draw(st.sampled_from((0, 0, 1, 2)))))
    if draw(st.integers(0, 4)) == 4:  # many thresholds on one attribute, hardly any in the way
        attribute = draw(st.sampled_from("vw"))
        for variable in sorted({event.variable for event in found}):
            threshold = Binary(
                draw(st.sampled_from(LESS_OR_MORE[:4])),
                Attribute(variable, attribute),
                Literal(draw(st.sampled_from(NUMBERS))),
            )
            weak = Binary(Operator.NE, Attribute(variable, attribute), Literal(2))
            predicates += draw(st.sampled_from(((weak,), (threshold,), (threshold, weak))))
    return tuple(predicates)


def _pairs(pattern: Pattern, features: Collection[Feature]) -> list[tuple[Attribute, Attribute]]:
    """Return the events that predicates may compare: earlier and later one, without attributes."""
    variables = list(dict.fromkeys(event.variable for event in pt.positive_events(pattern)))
    kleene = pt.kleene_variables(pattern)
    pairs: list[tuple[Attribute, Attribute]] = []
    if Feature.ADJACENT in features:
        previous, current = Reference.PREVIOUS, Reference.CURRENT
        pairs += [
            (Attribute(name, None, previous), Attribute(name, None, current))
            for name in variables
            if name in kleene
        ]
    for place, earlier in enumerate(variables):
        for later in variables[place + 1 :]:
            references = [Reference.PLAIN] if Feature.ADJACENT in features else []
            if later in kleene and earlier not in kleene:
                references = [Reference.FIRST] if Feature.ADJACENT in features else []
                if Feature.ANCHORED in features:
                    references += [Reference.PLAIN, Reference.CURRENT]
            pairs += [(Attribute(earlier, None), Attribute(later, None, r)) for r in references]
    return pairs


def _comparisons(draw: st.DrawFn, earlier: Attribute, later: Attribute) -> Expression:
    """Draw a condition on two events."""
    name = draw(st.sampled_from("vvws"))
    left = replace(earlier, name=name)
    right = replace(later, name="s" if name == "s" else draw(st.sampled_from("vvw")))
    compare = draw(st.sampled_from(LESS_OR_MORE))
    condition: Expression = Binary(compare, left, right)
    shape = draw(st.integers(0, 9))
    if name == "s":
        shape %= 6
    if shape == 1:
        return Not(condition)
    if shape == 6:
        operator = draw(st.sampled_from((Operator.MUL, Operator.MOD, Operator.DIV, Operator.ADD)))
        return Binary(
            compare, Binary(operator, left, right), Literal(draw(st.sampled_from(NUMBERS)))
        )
    if shape == 7:  # a range, and something to check
        product = Binary(Operator.MUL, replace(earlier, name="w"), replace(later, name="v"))
        return Binary(Operator.AND, condition, Binary(Operator.GT, product, Literal(0)))
    if shape == 8:
        same = Binary(Operator.NE, replace(earlier, name="s"), replace(later, name="s"))
        return Binary(draw(st.sampled_from((Operator.AND, Operator.OR))), condition, same)
    if shape == 9:
        absolute = Call("ABS", (Binary(Operator.SUB, left, right),))
        return Binary(compare, absolute, Literal(1))
    if shape == 2:
        return Binary(Operator.OR, condition, IsNull(replace(later, name="v")))
    if shape == 3:
        return Binary(Operator.OR, condition, replace(earlier, name="b"))
    if shape == 4 and name != "s":
        return Binary(compare, Binary(Operator.SUB, left, right), Literal(1))
    return condition


# Queries


def _returns(
    draw: st.DrawFn, pattern: Pattern, group_by: tuple[str, ...], variables: bool
) -> tuple[ReturnItem, ...]:
    """Draw aggregates over types; if `variables`, over variables too."""
    events = pt.positive_events(pattern)
    names = sorted({event.type for event in events})
    if variables:
        names += sorted({event.variable for event in events})
    choices: list[Expression] = [Call("COUNT", ()), Call("LOG2", (Call("COUNT", ()),))]
    for name in names if not isinstance(pattern, Conjunction) else ():
        choices.append(Call("COUNT", (Attribute(name, None),)))
        for attribute in ("v", "w"):
            over = Attribute(name, attribute)
            choices += [Call(function, (over,)) for function in OVER_VALUES]
        choices.append(Call("MAX", (Attribute(name, "b"),)))
    aggregates = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=5, unique=True))
    items = [ReturnItem(expression) for expression in aggregates]
    if draw(st.booleans()):
        items[0] = replace(items[0], alias="first")
    if group_by and draw(st.booleans()):
        alias = draw(st.sampled_from((None, "of")))
        items.append(ReturnItem(Column(group_by[0]), alias))
    return tuple(items)


SECONDS = st.integers(1, 6).map(lambda number: number * SECOND)
ORIGINS = st.integers(-7, 7).map(lambda number: number * SECOND)
TREND_WINDOWS: st.SearchStrategy[Window | None] = st.none() | st.builds(
    Window, SECONDS | st.just(20 * SECOND), st.none() | SECONDS, st.just(0) | ORIGINS
)
"""A window of a few seconds: none, tumbling, overlapping or with gaps."""


@st.composite
def trend_queries(
    draw: st.DrawFn,
    name: str = "q",
    types: Several[str] = TYPES,
    *,
    variables: bool = False,
    features: Collection[Feature] = NO_FEATURES,
) -> Query:
    """Draw a query; `variables`: aggregates over variables too, ambiguous ones included."""
    parts: list[Pattern] = [draw(trend_patterns(types))]
    if Feature.CONJUNCTION in features and draw(st.integers(0, 2)) == 2:
        parts.append(draw(trend_patterns(types, 3)))
    if Feature.NEGATION in features:
        variables_used: list[str] = []
        parts = [_negated(draw, part, types, variables_used) for part in parts]
    pattern = parts[0] if len(parts) == 1 else Conjunction(tuple(parts))
    where = _predicates(draw, pattern)
    negated = [node.pattern for node in pt.walk(pattern) if isinstance(node, Negation)]
    pairs = _pairs(draw(st.sampled_from((*parts, *parts, *negated))), features)
    for _ in range(draw(st.sampled_from((0, 1, 1, 2))) if pairs else 0):
        where += (_comparisons(draw, *draw(st.sampled_from(pairs))),)
    strategies = tuple(Strategy) if Feature.STRATEGIES in features else (Strategy.ANY,)
    group_by = draw(st.sampled_from(((), (), ("g",), ("g", "k"), ("k",))))
    query = Query(
        name=name,
        returns=_returns(draw, pattern, group_by, variables),
        pattern=pattern,
        where=where,
        equivalence=draw(st.sampled_from(((), (), ("k",), ("k", "s")))),
        strategy=draw(st.sampled_from(strategies)),
        group_by=group_by,
        window=draw(TREND_WINDOWS),
    )
    assume(_is_small_enough(query))
    return query


def _is_small_enough(query: Query) -> bool:
    """Return whether the automaton that counts each trend of a query once is not too large."""
    if any(isinstance(node, Negation | Conjunction) for node in pt.walk(query.pattern)):
        return True  # these make no deterministic automata
    positions = glushkov(query.pattern, lambda event: Symbol(event.type)).events
    if len(positions) <= SURELY_SMALL:
        return True
    try:
        plan(Workload((query,)))
    except QueryError as error:
        return "so ambiguous" not in str(error)
    return True


@st.composite
def trend_workloads(
    draw: st.DrawFn,
    *,
    variables: bool = False,
    exact: bool | None = False,
    features: Collection[Feature] = NO_FEATURES,
) -> Workload:
    """Draw one to four queries over common types; `exact` None: drawn, too."""
    types = draw(st.sampled_from((TYPES, ("A", "B"), ("A", "B"), ("A",))))
    count = draw(st.sampled_from((1, 1, 2, 3, 4)))
    queries = tuple(
        draw(trend_queries(f"q{number}", types, variables=variables, features=features))
        for number in range(count)
    )
    return Workload(queries, exact=draw(st.booleans()) if exact is None else exact)


def column_names(query: Query) -> dict[str, str]:
    """Return the names of a result's columns of group attributes, by attribute."""
    names = {name: name for name in query.group_by}
    for item in query.returns:
        if isinstance(item.expression, Column):
            names[item.expression.name] = column_name(item)
    return names


# Streams


QUARTERS = tuple(number / 4 for number in (*range(13), *range(-6, 0)))
VALUES: dict[str, tuple[Any, ...]] = {
    "g": ("x", "x", "x", "y", None),
    "k": (1, 1, 1, 4, None),  # a gap in between
    "v": (-2, -1, 0, 1, 2, 3, None),
    "w": (*QUARTERS, *QUARTERS, *(None,) * 19, *(float("nan"),) * 19),
    "s": ("p", "q", "q", "", None),
    "b": (True, False, None),
}


def _attributes_of(number: int) -> dict[str, Any]:
    """Return the attributes that a number encodes, so that an event needs one draw, not six."""
    attributes = {}
    for name, values in VALUES.items():
        number, place = divmod(number, len(values))
        attributes[name] = values[place]
    return attributes


ATTRIBUTES = st.integers(0, prod(map(len, VALUES.values())) - 1).map(_attributes_of)


@st.composite
def event_streams(draw: st.DrawFn, most: int = 9) -> list[ReferenceEvent]:
    """Draw up to `most` events in time order, many of them simultaneous."""
    size = draw(st.sampled_from([size for size in SIZES if size <= most]))
    first = draw(st.integers(-6, 6))
    span = draw(st.sampled_from((0, 2, 5, 12, 12)))
    seconds = sorted(draw(st.lists(st.integers(0, span), min_size=size, max_size=size)))
    types = draw(st.sampled_from((STREAM_TYPES, ("A", "B"), ("A",))))
    return [
        ReferenceEvent(
            (first + second) * SECOND,
            draw(st.sampled_from(types)),
            draw(ATTRIBUTES),
        )
        for second in seconds
    ]


@st.composite
def streams_for(draw: st.DrawFn, query: Query, most: int = 9) -> list[ReferenceEvent]:
    """Draw a stream like `event_streams`; most streams contain a trend of the query."""
    pattern = query.pattern
    if isinstance(pattern, Conjunction):
        pattern = Sequence(pattern.parts)
    word = _words(draw, pattern)[:most]
    common = {
        name: draw(st.sampled_from([value for value in VALUES[name] if value is not None]))
        for name in ("g", "k", "s")
        if name in query.group_by + query.equivalence
    }
    second = draw(st.integers(-6, 6))
    if query.window is not None:
        second = (query.window.origin + second * query.window.step) // SECOND
    events: list[ReferenceEvent] = []
    for number, bound in enumerate(word):
        second += draw(st.sampled_from((1, 1, 1, 2, 0))) if number else 0
        attributes = _fitting(draw, query, bound.variable, common)
        events.append(ReferenceEvent(second * SECOND, bound.type, attributes))
    begin = events[0].time // SECOND if events else second
    types = (*(event.type for event in pt.events(query.pattern)), *STREAM_TYPES)
    room = [size for size in SIZES if size <= min(most - len(word), 4)]
    for _ in range(draw(st.sampled_from(room))):
        attributes = draw(ATTRIBUTES)
        attributes |= common if draw(st.booleans()) else {}
        moment = draw(st.integers(begin - 1, second + 2))
        type_name = draw(st.sampled_from(types))
        place = draw(st.integers(0, len(events)))
        events.insert(place, ReferenceEvent(moment * SECOND, type_name, attributes))
    return sorted(events, key=lambda event: event.time)


def _words(draw: st.DrawFn, pattern: Pattern) -> list[Event]:
    """Draw the types of events of a trend of a pattern."""
    match pattern:
        case Event():
            return [pattern]
        case Sequence(parts):
            return [event for part in parts for event in _words(draw, part)]
        case Kleene(inner, least, most):
            more = min(2, 2 if most is None else most - least)
            rounds = least + draw(st.integers(0, more))
            return [event for _ in range(rounds) for event in _words(draw, inner)]
        case Disjunction(parts):
            return _words(draw, draw(st.sampled_from(parts)))
        case _:
            return []


def _fitting(
    draw: st.DrawFn, query: Query, variable: str, common: dict[str, Any]
) -> dict[str, Any]:
    """Draw attributes that mostly fulfil the variable's local predicates."""
    local = [
        predicate
        for predicate in query.where
        if {(a.variable, a.reference) for a in ex.attributes(predicate)}
        <= {
            (name, reference)
            for name in {a.variable for a in ex.attributes(predicate)}
            if variable in variables_named(query.pattern, name)
            for reference in (Reference.PLAIN, Reference.CURRENT)
        }
    ]
    attributes = draw(ATTRIBUTES) | common
    for _ in range(5):
        if _satisfies(attributes, local):
            break
        attributes = draw(ATTRIBUTES) | common
    return attributes


def _satisfies(attributes: dict[str, Any], predicates: Several[Expression]) -> bool:
    return all(
        is_true(predicate, lambda read: attributes[read.name or ""]) for predicate in predicates
    )


@st.composite
def trend_cases(
    draw: st.DrawFn,
    *,
    variables: bool = False,
    exact: bool | None = False,
    features: Collection[Feature] = NO_FEATURES,
    most: int = 9,
) -> tuple[Workload, list[ReferenceEvent]]:
    """Draw a workload, and a stream in which one of its queries mostly finds trends."""
    workload = draw(trend_workloads(variables=variables, exact=exact, features=features))
    query = draw(st.sampled_from(workload.queries))
    return workload, draw(streams_for(query, most))


def table_of(events: Several[ReferenceEvent]) -> pa.Table:
    """Return a stream as a table; times in whole seconds."""
    rows = [
        {"time": event.time // SECOND, "type": event.type, **event.attributes} for event in events
    ]
    return pa.table({name: [row.get(name) for row in rows] for name in SCHEMA.names}, schema=SCHEMA)
