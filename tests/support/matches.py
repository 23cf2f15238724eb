"""Match queries and streams drawn at random, and the engine run on them without any driver."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from elsinore.errors import ElsinoreError
from elsinore.language import parse_workload
from elsinore.matches.operator import MatchOperator
from elsinore.matches.returns import is_windowed
from elsinore.matches.spec import plan_matches, spec_of
from elsinore.model.query import Workload
from elsinore.operators import OperatorOptions
from elsinore.plan import Carried, Unit
from elsinore.plan.modes import HIGH, LAW, Evaluation, Uncertainty
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.expressions import evaluate, values
from elsinore.runtime.keys import encode_keys
from oracles.matches import Happening, Match, TooMany, brute_force
from support.drawn import Drawn

ATTRIBUTES = {
    "v": pa.float64(),
    "n": pa.int64(),
    "s": pa.string(),
    "g": pa.string(),
    "k": pa.int64(),
}


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
    """A weighted mean, of two values of each event; null while the weights come to nothing."""

    def init(self):
        return (0.0, 0.0)

    def step(self, state, value, weight):
        return (state[0] + value * weight, state[1] + weight)

    def value(self, state):
        return state[0] / state[1] if state[1] else None


USERS = {"SPREAD": Spread, "MIDDLE": Middle, "WEIGHTED": Weighted}


def units_of(
    workload: Workload,
    uncertain: Uncertainty | None = None,
    evaluation: Evaluation = Evaluation.AUTO,
) -> tuple[Unit, ...]:
    """Return the units of a workload of match queries."""
    queries = list(enumerate(workload))
    names = tuple(ATTRIBUTES)
    return plan_matches(queries, "elsinore.matches", USERS, names, uncertain, evaluation)


def batch_of(unit: Unit, events: Sequence[Happening]) -> tuple[pa.RecordBatch, list[pa.Array]]:
    """Return events as an operator takes them, and the values of groups by code."""
    columns = {
        name: pa.array([event.attributes.get(name) for event in events], kind)
        for name, kind in (ATTRIBUTES | {HIGH: pa.int64(), LAW: pa.list_(pa.float64())}).items()
    }
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
    return batch, [keys.of_groups(columns[name]) for name in unit.group_by]


def _travelling(column: Carried, columns: dict[str, pa.Array]) -> pa.Array:
    if isinstance(column.source, str):
        return columns[column.source]
    return values(evaluate(column.source, columns)).cast(pa.float64(), safe=False)


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
) -> list[Counter[Any]]:
    """Return for each query of a unit the rows it gives: group, window, values.

    The operator is closed at `until`; None: at the end of the stream, which is open if there is a
    `last_time`. With `one_slot`, keys come one after another.
    """
    batch, groups = batch_of(unit, events)
    if one_slot:
        batch = batch.filter(pa.array(batch.column("key").to_numpy() >= 0))
        order = np.lexsort((batch.column("key"), batch.column("group")))
        batch = batch.take(pa.array(order))
    options = OperatorOptions(ordered=ordered, last_time=last_time, one_slot=one_slot)
    operator = MatchOperator(unit, options)
    edges = [0, *(min(cut, batch.num_rows) for cut in sorted(cuts)), batch.num_rows]
    given = []
    for begin, end in itertools.pairwise(edges):
        given += list(operator.process(batch.slice(begin, end - begin)))
        if saves:
            operator = MatchOperator.load(unit, operator.save())
    given += list(operator.close(until))
    found: list[Counter[Any]] = [Counter() for _ in unit.queries]
    templates = spec_of(unit).templates
    for piece in given:
        for row in piece.to_pylist():
            number = row["query"]
            query = templates[number].query
            group = tuple(
                groups[unit.group_by.index(n)][row["group"]].as_py() for n in query.group_by
            )
            window = query.window.bounds(row["window"]) if is_windowed(query) else None
            read = _listed if exact else _plain
            values = tuple(read(row[f"c{n}"]) for n in range(len(templates[number].columns)))
            found[number][group, window, values] += 1
    return found


def oracle_rows(matches: Sequence[Match]) -> Counter[Any]:
    """Return the rows that matches make."""
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
        return tuple(sorted(value.items()))
    if isinstance(value, float):
        return round(value, 9)
    return value


# --- drawn queries ------------------------------------------------------------------------------

PATTERNS = {
    "SEQ(A a, B+ b)": ("a", "b"),
    "SEQ(A a, B+ b, C c)": ("a", "b", "c"),
    "SEQ(A a, B* b, C c)": ("a", "b", "c"),
    "SEQ(A a, B? b, C c)": ("a", "b", "c"),
    "B{1,3} b": ("b",),
    "SEQ(B{2} b, C c)": ("b", "c"),
    "SEQ(A a, B+ b, A+ d)": ("a", "b", "d"),
    "SEQ(A+ a, B+ b)": ("a", "b"),
    "SEQ(A+ a, C c, B+ b)": ("a", "b", "c"),
    "(SEQ(A a, B+ b))+": ("a", "b"),
    "(SEQ(A a, (B b OR C c)))+": ("a", "b", "c"),
    "SEQ(A a, (B b OR C c)+)": ("a", "b", "c"),
    "SEQ(A a, B b) OR SEQ(A a, C c)": ("a", "b", "c"),
    "SEQ(A+ a, B b) OR SEQ(A+ a, C c)": ("a", "b", "c"),
    "(A a OR A a)": ("a",),
    "SEQ(A a, A+ d)": ("a", "d"),
    "SEQ(A a, NOT C x, B+ b)": ("a", "b"),
    "SEQ(A a, NOT C x, B+ b, NOT A y)": ("a", "b"),
    "SEQ(NOT C x, A a, B+ b)": ("a", "b"),
    "SEQ(A a, B+ b, NOT C x)": ("a", "b"),
    "SEQ(NOT C x, B+ b, NOT A y)": ("b",),
    "SEQ(A a, NOT SEQ(C x, C+ y), B+ b)": ("a", "b"),
    "SEQ(NOT SEQ(B x, C y), A+ a)": ("a",),
    "(SEQ(A a, NOT C x, B b))+": ("a", "b"),
    "SEQ(A a, (NOT C x, B b)?, A d)".replace("(NOT C x, B b)", "(SEQ(NOT C x, B b))"): (
        "a",
        "b",
        "d",
    ),
    "SEQ(A a, NOT SEQ(C x, NOT A z, C y), B b)": ("a", "b"),
}

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
WITH_C = (
    "c.v > a.v",
    "c.v >= b.v",
    "c.v < MAX(b[].v)",
    "c.n > b[b.LEN].n OR c.v > 1",
    "c.v > b[1].v",
)
UNDER_NOT = ("y.v > x.v", "x.v > 1", "y.n = 1")


def queries(drawn: Drawn, name: str = "q") -> str:
    """Draw the text of a match query."""
    pattern, variables = drawn.one(sorted(PATTERNS.items()))
    repeated = {
        v
        for v in variables
        if any(f"+ {v}" in pattern or f"* {v}" in pattern or f"}} {v}" in pattern for _ in (0,))
    }
    nested = ")+" in pattern
    conditions: list[str] = []
    pool: list[str] = []
    if "b" in variables:
        pool += LOCAL
        if "b" in repeated or nested:
            pool += KLEENE * 2
        if (
            "a" in variables
            and " OR SEQ" not in pattern
            and "b" in repeated
            and "OR C c" not in pattern
        ):
            pool += PAIRS
    if (
        {"a", "b", "c"} <= set(variables)
        and "OR" not in pattern
        and "C c)" in pattern
        and ("b" in repeated and "a" not in repeated)
    ):
        pool += WITH_C
    if "SEQ(C x, C+ y)" in pattern:
        pool += UNDER_NOT[:2]
    if pool:
        conditions = drawn.some(pool, 2)
    keys = drawn.one(["", "", "[k]"])
    if keys:
        conditions.append(keys)
    group = drawn.one(["", "", "GROUP BY g"])
    window = drawn.one(
        ["", "", "WITHIN 5", "WITHIN 3", "WITHIN 6 SLIDE 3", "WITHIN 4 SLIDE 6", "WITHIN 5 SLIDE 2"]
    )
    strategy = drawn.one(["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "CONTIGUOUS"])
    items = ["g"] if group else []
    items += ["k"] if keys else []
    for variable in variables:
        if variable in repeated or nested or (")" in pattern and f"{variable})+" in pattern):
            items += [
                f"{variable}[].n AS {variable}ns",
                f"{variable}[] AS {variable}events",
                "EVENT_IDS(n) AS ids",
                f"COUNT({variable}[]) AS {variable}count",
                f"COUNT({variable}[].v) AS {variable}known",
                f"AVG({variable}[].v) AS {variable}mean",
                f"SUM({variable}[].n) AS {variable}total",
                f"MAX({variable}[].v) AS {variable}most",
                f"SUM({variable}[].v * {variable}[].n) - 1 AS {variable}worth",
                f"MIN({variable}[].v - {variable}[].n) AS {variable}gap",
                f"COUNT({variable}[].v - {variable}[].n) AS {variable}gaps",
                f"SPREAD({variable}[].v) AS {variable}spread",
                f"MIDDLE({variable}[].n) AS {variable}middle",
                f"WEIGHTED({variable}[].v, {variable}[].n) AS {variable}weighted",
                f"{variable}[1].s AS {variable}first",
                f"{variable}[{variable}.LEN].v - 1 AS {variable}last",
            ]
        else:
            items += [f"{variable}.n AS {variable}n"]
    items = list(dict.fromkeys(items))
    chosen = drawn.some(items, least=1)
    if all(item in {"g", "k"} for item in chosen):
        chosen.append(items[-1])
    where = f"WHERE {' AND '.join(c if c.startswith('[') else f'({c})' for c in conditions)}"
    return (
        f"QUERY {name} RETURN {', '.join(chosen)} PATTERN {pattern} "
        f"{where if conditions else ''} {group} STRATEGY {strategy} {window};"
    )


def _seconds(time: int) -> int:
    return time * 1_000_000


VALUES: dict[str, tuple[Any, ...]] = {
    "v": (0.0, 1.0, 2.0, 3.0, 1.5, 2.0, 3.0, 2.5, 1.0, None),
    "n": (1, 2, 3, 1, 2, 3, 1, 2, 3, None),
    "s": ("x", "y", "w", "x", None),
    "g": ("p",) * 10 + (None,),
    "k": (1,) * 14 + (2, None),
}


# what patterns look for, and what they forbid: streams of types drawn one by one seldom have it
MOTIFS = ("ABBC", "ACB", "AABB", "ACBB", "BBCA", "ACCB", "BCAB", "CABD", "ABBA", "ACCBB")


def streams(drawn: Drawn, most: int = 9) -> list[Happening]:
    """Draw events in the order of time; some are simultaneous, some attributes null."""
    time = drawn.one([0, -4, 7])
    events = []
    motif, place = drawn.one(MOTIFS), drawn.number(0, 1)
    for _ in range(drawn.number(2 * most // 3, most)):
        time += drawn.one([0, 1, 1, 1, 1, 2])
        attributes = {name: drawn.one(values) for name, values in VALUES.items()}
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


def check_against_brute_force(drawn: Drawn, evaluation: Evaluation = Evaluation.AUTO) -> None:
    """Draw a query and a stream; compare the engine's matches with those of brute force.

    Evaluations that the query is not for are not looked at.
    """
    events, workload = streams(drawn), parsed(queries(drawn))
    try:
        (unit,) = units_of(workload, evaluation=evaluation)
    except ElsinoreError:
        assume(False)
    chosen = spec_of(unit).evaluations[0].evaluation
    assume(evaluation in {Evaluation.AUTO, chosen})
    ordered, saves, cuts = drawn.whether(), drawn.whether(), drawn.cuts(len(events), 3)
    try:
        found = brute_force(workload.queries[0], events, ordered=ordered, users=USERS)
        expected = oracle_rows(found)
    except TooMany:
        assume(False)
    (rows,) = engine_rows(unit, events, cuts=cuts, ordered=ordered, saves=saves)
    assert rows == expected


@st.composite
def streams_apart(draw: st.DrawFn) -> list[Happening]:
    """Draw events a second apart at least, a few of them of no type that is asked for."""
    number = st.one_of(st.none(), st.integers(0, 3))
    made, time = [], 0
    for _ in range(draw(st.integers(0, 60))):
        time += draw(st.integers(1, 3)) * 1_000_000
        v = draw(number)
        values = {
            "k": draw(st.integers(0, 1)),
            "n": draw(number),
            "v": None if v is None else 1.0 * v,
        }
        values["s"] = draw(st.sampled_from(["x", "y", None]))
        made.append(Happening(time, draw(st.sampled_from("AABBBCD")), values))
    return made
