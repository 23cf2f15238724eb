"""Drawn queries whose functions are translated: over numbers, mappings of counts, and keys.

All doubles are small multiples of a power of 2: windows join sums in another order than the
definition has them, and must still come to the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError
from elsinore.quantitative.regex import Predicate
from elsinore.quantitative.runnable import Query

A, B, S = (qre.event(name) for name in "abs")
KINDS = "abs"
PREDICATES: tuple[Predicate, ...] = (
    *(A, B, S, A | B, ~A, ~S, qre.any),
    *(qre.predicate(A.v > 1), qre.predicate(A.v <= 1), qre.predicate(qre.item.n > 1, "high")),
)


@dataclass(frozen=True)
class Pair:
    """Two numbers, as a record."""

    n: int
    v: float


def one(item: Any) -> int:
    return 1


def n_of(item: Any) -> int:
    return int(item.n)


def v_of(item: Any) -> float:
    return float(item.v)


def t_of(item: Any) -> str:
    return item.t  # type: ignore[no-any-return]


def added(a: float, b: float) -> float:
    return a + b


def mixed(a: float, b: float) -> float:
    return 0.5 * a + b


def second(a: float, b: float) -> float:
    return b


def halved(a: float) -> float:
    return 0.5 * a + 0.125


def or_less(a: float | None) -> float:
    return -1.0 if a is None else math.floor(8.0 * a) / 8.0


def is_great(a: float) -> bool:
    return a > 1


def paired(a: float) -> Pair:
    return Pair(1, a + 0.25)


def of_pair(pair: Pair) -> float:
    return pair.v + pair.n


def quarters_added(a: float, b: float) -> float:
    return a + 0.25 * math.floor(4.0 * b)


def quarters_taken(a: float, b: float) -> float:  # exactly what was added, in whatever order
    return a - 0.25 * math.floor(4.0 * b)


FEW = ((1, 0.75, "y"), (2, 1.25, "x"), (3, 0.25, "y"))
ITEMS = tuple({"type": kind, "n": n, "v": v, "k": n % 2, "w": v, "t": t}
              for kind in KINDS for n, v, t in FEW)  # fmt: skip
WITH_NAN = (*ITEMS, *({**item, "v": math.nan} for item in ITEMS[:4]))
QUANTILES = (
    *(qre.median(), qre.quantile(0.9), qre.quantile(0.0), qre.quantile(1.0)),
    *(qre.approx_median(0.1), qre.approx_quantile(0.8, 0.5)),
)
INVERTIBLE = qre.Fold(name="rolling", init=0.0, step=quarters_added, inverse=quarters_taken)
FOLDS = (qre.sum(), qre.count(), qre.mean(), INVERTIBLE, ("anew", mixed), qre.max(), qre.min())


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3) -> Query:
    """Draw queries whose values are numbers; a part that breaks a rule becomes an atom."""
    kinds = ["atom", "split", "split", "iterate", "fold", "either", "combine", "apply", "window"]
    kinds += ["window", "marks", "last", "tumbling", "constant", "record"]
    kind = draw(st.sampled_from(kinds))
    if depth == 0 or kind == "atom":
        return qre.atom(draw(st.sampled_from(PREDICATES)), draw(st.sampled_from([one, n_of, v_of])))
    inner = numbers(depth - 1)
    try:
        return _number(draw, kind, inner)
    except QuerySemanticError:  # a `RateError` is one
        return qre.atom(draw(st.sampled_from(PREDICATES)), v_of)


def _number(draw: st.DrawFn, kind: str, inner: Any) -> Query:
    size = draw(st.integers(1, 4))
    match kind:
        case "split":
            op = draw(st.sampled_from([added, mixed, qre.left, qre.right]))
            return qre.split(draw(inner), draw(inner), op)
        case "iterate":
            start = draw(st.sampled_from([0, 0.5]))
            return qre.iterate(draw(inner), start, draw(st.sampled_from([added, mixed, second])))
        case "fold":
            folds = [qre.mean(), qre.max(), qre.min(), qre.last(), qre.variance(), qre.median()]
            fold = draw(st.sampled_from(folds))
            return qre.apply(qre.iterate(draw(inner), fold), or_less)
        case "either":
            return qre.either(draw(inner), draw(inner))
        case "combine":
            part = draw(inner)
            return qre.combine(part, qre.apply(part, halved), added)
        case "apply":
            return qre.apply(draw(inner), halved)
        case "window":
            fold = draw(st.sampled_from(FOLDS))
            if isinstance(fold, qre.Fold):
                return qre.apply(qre.sliding(draw(inner), size, fold), or_less)
            return qre.sliding(draw(inner), size, 0.25, fold[1])
        case "marks":
            if draw(st.booleans()):
                return qre.count_in_window(draw(inner), size, is_great)
            return qre.approx_count_in_window(
                draw(inner), 3 * size, is_great, 0.1
            )  # exact for so few
        case "last":
            return qre.iter_last(draw(inner))
        case "tumbling":
            return qre.iterate_n(draw(inner), draw(st.integers(0, 2)), 0.0, mixed)
        case "record":
            return qre.apply(qre.apply(draw(inner), paired), of_pair)
        case _:
            return qre.constant(1.5)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """Draw queries of numbers, of mappings, and of keys, in which all functions are compiled."""
    try:
        kinds = ["number", "number", "counts", "keys", "keys", "later keys", "relations"]
        match draw(st.sampled_from(kinds)):
            case "relations":
                return draw(relations())
            case "counts":
                return draw(counts())
            case "keys":
                return draw(keyed())
            case "later keys":
                begins = qre.match(draw(st.sampled_from([S, A, A.star(), S.star()])))
                return qre.split(begins, draw(keyed()), qre.right)
            case _:
                return draw(numbers())
    except QuerySemanticError:  # a `RateError` is one
        return draw(numbers(2))


TEXTS = st.sampled_from(PREDICATES).map(lambda predicate: qre.atom(predicate, t_of))


@st.composite
def counts(draw: st.DrawFn) -> Query:
    """Draw queries that count values, in windows too."""
    iterate = draw(st.sampled_from([qre.iterate, qre.iterate1]))
    query = iterate(draw(st.one_of(numbers(2), TEXTS)), qre.counts())
    size, merge = draw(st.integers(1, 3)), qre.merged_counts()
    match draw(st.sampled_from(["plain", "split", "window", "merged", "either", "quantile"])):
        case "split":
            query = qre.iter_last(qre.split(query, qre.match(S), qre.left))
        case "window":
            query = qre.sliding(query, size, merge)
        case "merged":
            query = qre.iterate1(query, merge)
        case "either":
            query = qre.iterate(qre.either(draw(numbers(1)), draw(numbers(2))), qre.counts())
        case "quantile":
            body = draw(numbers(2))
            if draw(st.booleans()):  # values that may be None, and are not
                body = qre.iterate_n(body, 1, qre.max())
            return iterate(body, draw(st.sampled_from(QUANTILES)))
    return qre.apply(query, qre.most_common) if draw(st.booleans()) else query


@st.composite
def keyed(draw: st.DrawFn, depth: int = 1) -> Query:
    """Draw queries by key, of which some have keys within keys."""
    total = qre.iterate(qre.atom(~S, draw(st.sampled_from([n_of, v_of]))), qre.sum())
    per_sync = qre.split(total, qre.atom(S, n_of), added)
    counted_of = draw(st.sampled_from([v_of, t_of]))
    counted = qre.split(qre.iterate(qre.atom(~S, counted_of), qre.counts()), qre.atom(S), qre.left)
    bodies = [
        per_sync,
        qre.iter_last(per_sync),
        qre.iterate1(per_sync, 0.0, mixed),
        qre.split(per_sync, per_sync, added),
        qre.apply(qre.sliding(per_sync, 2, qre.mean()), or_less),
        qre.sliding(per_sync, 2, INVERTIBLE),
        qre.count_in_window(per_sync, 2, is_great),
        counted,
        qre.iter_last(counted),
        qre.sliding(counted, 2, qre.merged_counts()),
        qre.apply(qre.iter_last(counted), qre.most_common),
        qre.split(qre.match(qre.seq((~S).star(), S)), per_sync, qre.right),
    ]
    body = (
        draw(keyed(depth - 1)) if depth and draw(st.booleans()) else draw(st.sampled_from(bodies))
    )
    rate = draw(st.sampled_from([S.plus(), S.star(), S.times(2).star(), S]))
    return qre.map_collect(S, draw(st.sampled_from(["k", "w", "t", n_of])), body, rate)


def is_more(key: Any, value: float) -> bool:
    return value > 0.5


def scaled(key: Any, value: float) -> float:
    return 0.5 * value + 0.125


@st.composite
def relations(draw: st.DrawFn) -> Query:
    """Draw relational operations on mappings of counts, and of keys."""
    total = qre.iterate(qre.atom(~S, draw(st.sampled_from([n_of, v_of]))), qre.sum())
    per_sync = qre.split(total, qre.atom(S, n_of), added)
    body = draw(st.sampled_from([per_sync, qre.iter_last(per_sync)]))
    key = draw(st.sampled_from(["k", "w", "t", n_of]))
    relation = qre.map_collect(S, key, body, draw(st.sampled_from([S.plus(), S.star()])))
    in_window = False
    if draw(st.booleans()):
        counted = qre.atom(~S, draw(st.sampled_from([n_of, t_of])))  # NaN is equal to no key
        relation = qre.iterate(counted, qre.counts())
        in_window = draw(st.booleans())
        if in_window:
            per_sync = qre.split(relation, qre.atom(S), qre.left)
            relation = qre.sliding(per_sync, 2, qre.merged_counts())
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.sampled_from(["select", "project", "join"])):
            case "select":
                relation = qre.apply(relation, qre.select(is_more))
            case "project":
                relation = qre.apply(relation, qre.project(scaled))
            case _:
                other = qre.apply(relation, qre.select(is_more))
                parts = draw(st.sampled_from([(relation, other), (other, relation)]))
                relation = qre.combine(*parts, qre.join(mixed))
    if draw(st.booleans()) and not in_window:  # in Python, for the order of a window's counts
        folds = [qre.sum(), qre.count(), qre.mean(), qre.max(), qre.variance(), qre.last()]
        relation = qre.apply(relation, qre.aggregate(draw(st.sampled_from(folds))))
    return relation


def table_of(stream: list[Any]) -> pa.Table:
    """Return items as a table."""
    schema = pa.schema([("type", pa.string()), ("n", pa.int64()), ("v", pa.float64()),
                        ("k", pa.int64()), ("w", pa.float64()), ("t", pa.string())])  # fmt: skip
    return pa.Table.from_pylist(stream, schema)
