"""Random match queries and streams, and running the engine on them without a driver."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from elsinore.errors import ElsinoreError
from elsinore.expressions.columns import evaluate
from elsinore.language import parse_workload, render
from elsinore.matches.engine import pattern as search
from elsinore.matches.returns import is_windowed
from elsinore.matches.spec import spec_of
from elsinore.model import pattern as pt
from elsinore.model.clock import Clock
from elsinore.model.computed import ComputedName
from elsinore.model.query import Workload
from elsinore.model.time_values import Moment, Span
from elsinore.operators import OperatorOptions, kind_for, kind_in
from elsinore.plan import Carried, PlanOptions, Unit
from elsinore.plan.modes import HIGH, LAW, Uncertainty
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.keys import encode_keys
from oracles.matches import Happening, Match, TooMany, brute_force
from support.drawn import Drawn
from support.match_conditions import columns, condition, relation, scopes
from support.match_patterns import patterns, word

ATTRIBUTES = {
    "v": pa.float64(),
    "n": pa.int64(),
    "s": pa.string(),
    "g": pa.string(),
    "k": pa.int64(),
    "t": pa.timestamp("us"),
    "d": pa.duration("us"),
    "ns": pa.list_(pa.int64()),
    "ss": pa.list_(pa.string()),
}


ENGINE = "engine"  # as `benchmarks.evaluations` calls it
EPOCH = datetime(1970, 1, 1)
SECOND = 1_000_000_000  # nanoseconds


class Spread:
    """The greatest less the least: its state is numbers, and it compiles."""

    monotone = "increasing"

    def init(self):
        return (inf, -inf)

    def step(self, state, value):
        return (min(state[0], value), max(state[1], value))

    def value(self, state):
        return state[1] - state[0]


class Middle:
    """The value in the middle: its state is a list, which runs in Python."""

    def init(self):
        return []

    def step(self, state, value):
        state.append(value)
        return state

    def value(self, state):
        return sorted(state)[len(state) // 2]


class Weighted:
    """A weighted mean, of two values of each event; null if the sum of weights is 0."""

    def init(self):
        return (0.0, 0.0)

    def step(self, state, value, weight):
        return (state[0] + value * weight, state[1] + weight)

    def value(self, state):
        return state[0] / state[1] if state[1] else None


class Longest:
    """The length of the longest text."""

    def init(self):
        return 0.0

    def step(self, state, text):
        return max(state, float(len(text)))

    def value(self, state):
        return state


class Spellings:
    """The number of different first characters of texts: its state is a set."""

    def init(self):
        return frozenset()

    def step(self, state, text):
        return state | {text[:1]}

    def value(self, state):
        return len(state)


USERS = {
    "SPREAD": Spread,
    "MIDDLE": Middle,
    "WEIGHTED": Weighted,
    "LONGEST": Longest,
    "SPELLINGS": Spellings,
}


def units_of(
    workload: Workload,
    uncertain: Uncertainty | None = None,
    evaluation: str = ENGINE,
    clock: Clock | None = None,
) -> tuple[Unit, ...]:
    """Return the units of a workload of match queries, by an evaluation of the benchmarks too."""
    module = "elsinore.matches.kind"
    if evaluation != ENGINE:
        from benchmarks.evaluations import module_of

        module = module_of(evaluation)
    kind = kind_in(module)
    options = PlanOptions(
        aggregates=USERS, attributes=tuple(ATTRIBUTES), uncertain=uncertain, clock=clock
    )
    return tuple(kind.plan(list(enumerate(workload)), options))


class Columns(dict[str, pa.Array]):
    """Columns of attributes; those of expressions are computed on first access."""

    def __missing__(self, name: str) -> pa.Array:
        assert isinstance(name, ComputedName)
        return evaluate(name.expression, self)


def batch_of(unit: Unit, events: Sequence[Happening]) -> tuple[pa.RecordBatch, list[pa.Array]]:
    """Return the batch of an operator's input, and the values of groups by code."""
    columns = Columns(
        (name, pa.array([as_arrow_value(event.attributes.get(name)) for event in events], kind))
        for name, kind in (ATTRIBUTES | {HIGH: pa.int64(), LAW: pa.list_(pa.float64())}).items()
    )
    keys = encode_keys(
        [columns[name] for name in unit.group_by],
        [columns[name] for name in unit.equivalence],
        [columns[name] for name in unit.required],
        len(events),
    )
    numbers = type_numbers(pa.array([event.type for event in events]), unit.types)
    codes = classify(unit.classes, numbers, unit.types, columns)
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys.key),
            "group": pa.array(keys.group),
            "time": pa.array([event.time for event in events], pa.int64()),
            "class": pa.array(np.where(keys.key < 0, -1, codes)),
        }
        | {column.name: _travelling(column, columns) for column in unit.columns}
    )
    return batch, [keys.group_values(columns[name]) for name in unit.group_by]


def _travelling(column: Carried, columns: dict[str, pa.Array]) -> pa.Array:
    if isinstance(column.source, str):
        return columns[column.source]
    return evaluate(column.source, columns)


def as_arrow_value(value: Any) -> Any:
    """Return a value after a round trip through Arrow."""
    match value:
        case Moment(nanoseconds):
            return EPOCH + timedelta(microseconds=nanoseconds // 1_000)
        case Span(nanoseconds):
            return timedelta(microseconds=nanoseconds // 1_000)
        case _:
            return value


def engine_rows(
    unit: Unit,
    events: Sequence[Happening],
    *,
    cuts: Sequence[int] = (),
    ordered: bool = False,
    saves: bool = False,
    exact: bool = False,
    until: int | None = None,
    last_time: int | None = None,
    one_slot: bool = False,
    watermarks: bool = False,
) -> list[Counter[Any]]:
    """Return the result rows of each query of a unit: group, window, values.

    watermarks: each batch but the last has a watermark, the time of the next batch's first event.

    The operator is closed at `until`; None: at the end of the stream, which is open if there is a
    `last_time`. With `one_slot`, keys come one after another.
    """
    batch, groups = batch_of(unit, events)
    if one_slot:
        batch = batch.filter(pa.array(batch.column("key").to_numpy() >= 0))
        order = np.lexsort((batch.column("key"), batch.column("group")))
        batch = batch.take(pa.array(order))
    options = OperatorOptions(ordered=ordered, last_time=last_time, one_slot=one_slot)
    operator = kind_for(unit).operator(unit, options)
    edges = [0, *(min(cut, batch.num_rows) for cut in sorted(cuts)), batch.num_rows]
    outputs = []
    for begin, end in itertools.pairwise(edges):
        watermark = batch.column("time")[end].as_py() if watermarks and end < len(batch) else None
        outputs += list(operator.process(batch.slice(begin, end - begin), watermark))
        if watermarks:
            operator.open_keys()
        if saves:
            operator = kind_for(unit).load(unit, operator.save())
    outputs += list(operator.close(until))
    rows: list[Counter[Any]] = [Counter() for _ in unit.queries]
    templates = spec_of(unit).templates
    for piece in outputs:
        for row in piece.to_pylist():
            number = row["query"]
            query = templates[number].query
            group = tuple(
                groups[unit.group_by.index(n)][row["group"]].as_py() for n in query.group_by
            )
            window = query.window.bounds(row["window"]) if is_windowed(query) else None
            convert = _listed if exact else _plain
            values = tuple(convert(row[f"c{n}"]) for n in range(len(templates[number].columns)))
            rows[number][group, window, values] += 1
    return rows


def oracle_rows(matches: Sequence[Match]) -> Counter[Any]:
    """Return the expected result rows of matches."""
    return Counter(
        (match.group, match.window, tuple(_plain(value) for value in match.values))
        for match in matches
    )


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    if isinstance(value, dict):
        return tuple(sorted((name, _plain(part)) for name, part in value.items()))
    if isinstance(value, Moment | Span):
        return as_arrow_value(value)
    if isinstance(value, float):
        return round(value, 9)
    return value


# --- drawn queries ------------------------------------------------------------------------------

# conditions on the variables a and b, where b is repeated
KLEENE = (
    "b[i].v >= b[i-1].v",
    "b[i].n > b[i-1].n",
    "b[i].v > MAX(b[1..i-1].v)",
    "b[i].v > AVG(b[1..i-1].v)",
    "b[i].v <= b[1].v + 1",
    "COUNT(b[1..i-1]) < 2",
    "b[b.LEN].v > AVG(b[].v)",
    "b[i].v <= AVG(b[].v) + 1",
    "COUNT(b[]) >= 2",
    "SUM(b[].n) < 6 OR b[1].v IS NULL",
    "b[i].v - b[i-1].v < AVG(b[].v)",
    "b[i].s > b[i-1].s",
    "MIN(b[].v) > 0",
    "b[1].s = 'x' OR b[1].v > 1",
    "b[i].v > b[1].v",
    "SPREAD(b[1..i-1].v) <= 1",
    "b[i].v >= AVG(b[i-2..i-1].v)",
    "b[i].n > MIN(b[i-3..i-1].n)",
    "SPREAD(b[i-2..i-1].v) <= 1",
    "COUNT(b[i-3..i-2]) < 2",
    "b[i].n <= MAX(b[i-3..i-2].n) + SUM(b[i-2..i-1].n)",
    "COUNT(DISTINCT b[].s) >= 2",
    "COUNT(DISTINCT b[1..i-1].n) < 2",
    "b[i].v >= MEDIAN(b[1..i-1].v)",
    "b[i].s >= MEDIAN(b[1..i-1].s)",
    "b[i].s >= MEDIAN(b[i-3..i-2].s)",
    "SPELLINGS(b[i-2..i-1].s) < 2",
    "MEDIAN(b[].s) = 'x' OR MEDIAN(b[].s) < b[1].s",
    "STDDEV(b[].n) > 0.5 OR LONGEST(b[].s) > 1",
    "b[i].v >= MIDDLE(b[1..i-1].v)",
    "WEIGHTED(b[].v, b[].n) < 2",
    "b[i].v + MIDDLE(b[].n) > SPREAD(b[].n * 2)",
    "SUM(b[].v * b[].n) > 3",
    "b[i].n > AVG(b[1..i-1].n + b[1..i-1].v)",
)
LOCAL = ("b.v < 3", "b.s = 'x' OR b.v > 1", "b.n IN (1, 2)", "b.v IS NOT NULL", "1 < 2")
PAIRS = (
    "a.v <= b.v",
    "b.v > a.v + 0",
    "a.n != b.n",
    "b.s >= a.s",
    "a.v < b[1].v",
    "b[i].v + a.v > 1",
    "b[i].v > a.v OR b[i].n > MIN(b[1..i-1].n)",
    "a.v < AVG(b[].v)",
)
WINDOWS = (
    "", "", "WITHIN 5", "WITHIN 3", "WITHIN 6 SLIDE 3", "WITHIN 4 SLIDE 6", "WITHIN 5 SLIDE 2",
)  # fmt: skip
STRATEGIES = ("SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "CONTIGUOUS")


def queries(drawn: Drawn, name: str = "q") -> str:
    """Draw the text of a match query, with conditions that its pattern allows."""
    pattern = patterns(drawn)
    keys, group = drawn.one(["", "", "[k]"]), drawn.one(["", "", "GROUP BY g"])
    whole = scopes(pattern)[0]
    items = ["g"] * bool(group) + ["k"] * bool(keys) + columns(drawn, whole)
    end = f"{group} STRATEGY {drawn.one(STRATEGIES)} {drawn.one(WINDOWS)};"
    begin = f"QUERY {name} RETURN {', '.join(items)} PATTERN {render(pattern)} "
    conditions = [keys] * bool(keys)
    for _ in range(drawn.one((0, 1, 1, 2, 2, 3))):
        scope = whole if drawn.number(0, 2) else drawn.one(scopes(pattern))
        relation_text = relation(drawn, whole, pattern) if drawn.number(0, 2) == 0 else None
        all_conditions = [*conditions, f"({relation_text or condition(drawn, scope)})"]
        if can_be_planned(f"{begin} WHERE {' AND '.join(all_conditions)} {end}"):
            conditions = all_conditions
    return f"{begin} {'WHERE ' * bool(conditions)}{' AND '.join(conditions)} {end}"


def can_be_planned(text: str) -> bool:
    """Return whether a query is accepted: patterns do not allow all conditions."""
    try:
        units_of(parsed(text))
    except ElsinoreError:
        return False
    return True


def _seconds(time: int) -> int:
    return time * 1_000_000


VALUES: dict[str, tuple[Any, ...]] = {
    "v": (0.0, 1.0, 2.0, 3.0, 1.5, 2.0, 3.0, 2.5, 1.0, None),
    "n": (1, 2, 3, 1, 2, 3, 1, 2, 3, None),
    "s": ("x", "y", "w", "x", None),
    "g": ("p",) * 10 + (None,),
    "k": (1,) * 14 + (2, None),
    "t": (*(Moment(n * SECOND) for n in (0, 1, 2, 3, 5, 1, 2)), Moment(1_500_000_000), None),
    "d": (*(Span(n * SECOND) for n in (0, 1, 2, -1, 3)), Span(1_000), None),
    "ns": ((1, 2), (3, 1, 3), (1, 2, 3), (2, 3), (1, 3, 2), (2,), (2, None), (), None),
    "ss": (("x", "y"), ("y", "x", "w"), ("w", "x"), ("x",), (None, "x"), (), None),
}


# types of matches and of what NOT forbids, which independently drawn types seldom contain
MOTIFS = ("ABBC", "ACB", "AABB", "ACBB", "BBCA", "ACCB", "BCAB", "CABD", "ABBA", "ACCBB")


def streams(drawn: Drawn, most: int = 9, pattern: pt.Pattern | None = None) -> list[Happening]:
    """Draw events in time order; some are simultaneous, some attributes are null.

    Many streams contain a match of `pattern`.
    """
    time = drawn.one([0, -4, 7])
    events = []
    motif: Sequence[str] = drawn.one(MOTIFS)
    if pattern is not None:
        motif = [kind for _ in range(2) for kind in word(drawn, pattern)]
    is_timed = drawn.whether()  # whether t is the time
    place, steps = drawn.number(0, 1), drawn.one(([0, 1, 1, 1, 1, 2], [0, 1, 1, 1, 2], [0, 0, 1]))
    for _ in range(drawn.number(2 * most // 3, most)):
        time += drawn.one(steps)
        attributes = {name: drawn.one(values) for name, values in VALUES.items()}
        if is_timed:
            attributes["t"] = Moment(time * SECOND)
        kind = motif[place % len(motif)]
        if drawn.number(0, 3) == 0:
            kind = drawn.one("AABBBBCCD")
        else:
            place += 1
        events.append(Happening(_seconds(time), kind, attributes))
    return events


def parsed(*texts: str) -> Workload:
    """Return the workload of some queries."""
    return parse_workload("\n".join(texts))


def check_against_brute_force(drawn: Drawn, evaluation: str = ENGINE) -> None:
    """Draw a query and a stream; compare the engine's matches with those of brute force.

    Queries that cannot be evaluated as requested are left out.
    """
    workload = parsed(queries(drawn))
    events = streams(drawn, pattern=workload.queries[0].pattern)
    (unit,) = units_of(workload, evaluation=evaluation)
    if evaluation != ENGINE:
        from benchmarks.evaluations.reproduced import ReproducedMatches

        reproduced = kind_for(unit)
        assert isinstance(reproduced, ReproducedMatches)
        assume(reproduced.why_not(spec_of(unit).templates[0]) is None)
    ordered, saves, cuts = drawn.whether(), drawn.whether(), drawn.cuts(len(events), 3)
    try:
        matches = brute_force(workload.queries[0], events, ordered=ordered, users=USERS)
        expected = oracle_rows(matches)
    except TooMany:
        assume(False)
    with looking_up(drawn):
        (rows,) = engine_rows(unit, events, cuts=cuts, ordered=ordered, saves=saves)
    assert rows == expected


@contextmanager
def looking_up(drawn: Drawn) -> Iterator[None]:
    """Let half of the cases use an index; with few events per key the engine scans."""
    default_limit = search.FEW
    search.FEW = 0 if drawn.whether() else default_limit
    try:
        yield
    finally:
        search.FEW = default_limit


@st.composite
def streams_apart(draw: st.DrawFn) -> list[Happening]:
    """Draw events at least a second apart, a few of them of types in no pattern."""
    number = st.one_of(st.none(), st.integers(0, 3))
    events, time = [], 0
    for _ in range(draw(st.integers(0, 60))):
        time += draw(st.integers(1, 3)) * 1_000_000
        v = draw(number)
        values = {
            "k": draw(st.integers(0, 1)),
            "n": draw(number),
            "v": None if v is None else 1.0 * v,
        }
        values["s"] = draw(st.sampled_from(["x", "y", None]))
        events.append(Happening(time, draw(st.sampled_from("AABBBCD")), values))
    return events
