"""Hypothesis strategies for quantitative queries and streams, and all short sequences of items.

The functions of drawn queries build terms, so that two values are equal only if the same functions
were applied to the same values in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError
from elsinore.quantitative.items import as_item
from elsinore.quantitative.machine import derive
from elsinore.quantitative.machine.operations import CannotTranslate
from elsinore.quantitative.regex import (
    Concatenation,
    Plus,
    Predicate,
    Regex,
    Star,
    Times,
    Union,
)
from elsinore.quantitative.runnable import Query
from oracles.streaming import holds

A, B, S = (qre.event(name) for name in "abs")
PREDICATES: tuple[Predicate, ...] = (
    A,
    B,
    S,
    A | B,
    ~A,
    qre.any,
    qre.predicate(A.v > 1),
    qre.predicate(A.v <= 1),
    qre.predicate(qre.item.v > 1, "high"),
)
ITEMS = tuple(as_item({"type": kind, "v": v, "k": v}) for kind in "abs" for v in (1, 2))
ASSOCIATIVE = qre.Fold(
    name="join",
    init=(),
    step=lambda total, value: (*total, value),
    combine=lambda left, right: (*left, *right),
)
INVERTIBLE = qre.Fold(
    name="number",
    init=0,
    step=lambda number, value: number + len(repr(value)),
    inverse=lambda number, value: number - len(repr(value)),
)


NULL = as_item({"type": "a", "v": None, "k": 1})
FEW = (*(ITEMS[place] for place in (0, 1, 2, 5)), NULL)  # a and b with several v, and an s

EVERY = tuple(as_item({"type": kind, "v": v, "k": 1}) for kind in "absc" for v in (1, 2, None))


def words(longest: int, items: tuple[Any, ...] = FEW) -> Iterator[tuple[Any, ...]]:
    """Yield all sequences of some items up to a length."""
    for length in range(longest + 1):
        yield from itertools.product(items, repeat=length)


def term(name: str) -> Any:
    def build(*values: Any) -> Any:
        return (name, *(dict(v) if isinstance(v, dict) else v for v in values))

    build.__name__ = name
    return build


def predicates() -> st.SearchStrategy[Predicate]:
    return st.sampled_from(PREDICATES)


@st.composite
def cases(
    draw: st.DrawFn,
    queries: st.SearchStrategy[Query],
    items: Sequence[Any] = ITEMS,
    longest: int = 8,
) -> tuple[Query, list[Any]]:
    """Draw a query and a stream, which mostly matches the query's rate.

    On nine in ten of independently drawn streams the query has no value.
    """
    query = draw(queries)
    if draw(st.integers(0, 3)) < 3:  # so that there are values at several prefixes
        with suppress(QuerySemanticError):
            query = qre.iter_last(query)
    word: list[Any] = []
    rates = [query.rate] * draw(st.integers(1, 2))
    if draw(st.integers(0, 4)) < 4:
        by_letter = [(item, as_item(item)) for item in items]
        for rate in rates:
            _follow(draw, rate, by_letter, longest, word)
    word += draw(st.lists(st.sampled_from(items), min_size=1, max_size=3))
    return query, word[:longest]


def _follow(
    draw: st.DrawFn, rate: Regex, items: list[tuple[Any, Any]], longest: int, word: list[Any]
) -> None:
    """Extend a word by a sequence of a rate, truncated if the word is long enough."""
    match rate:
        case _ if len(word) >= longest:
            return
        case Predicate():
            if matching := [raw for raw, item in items if holds(rate, item)]:
                word.append(draw(st.sampled_from(matching)))
        case Concatenation(parts):
            for part in parts:
                _follow(draw, part, items, longest, word)
        case Union(parts):
            _follow(draw, draw(st.sampled_from(parts)), items, longest, word)
        case Star(inner) | Plus(inner):
            for _ in range(draw(st.sampled_from([2, 3, 1] + [0] * isinstance(rate, Star)))):
                _follow(draw, inner, items, longest, word)
        case Times(inner, count):
            for _ in range(count):
                _follow(draw, inner, items, longest, word)


@st.composite
def regexes(
    draw: st.DrawFn, depth: int = 3, leaves: st.SearchStrategy[Predicate] | None = None
) -> Regex:
    """Draw regular expressions over some leaves, also ambiguous ones."""
    leaves = predicates() if leaves is None else leaves
    kind = draw(st.sampled_from(["leaf", "leaf", "seq", "or", "star", "plus", "times"]))
    if depth == 0 or kind == "leaf":
        return draw(leaves)
    inner = regexes(depth - 1, leaves)
    match kind:
        case "seq":
            return qre.seq(*draw(st.lists(inner, min_size=2, max_size=3)))
        case "or":
            return qre.union(draw(inner), draw(inner))
        case "star":
            return draw(inner).star()
        case "plus":
            return draw(inner).plus()
        case _:
            return draw(inner).times(draw(st.integers(0, 2)))


@st.composite
def queries(draw: st.DrawFn, depth: int = 3, *, keys: bool = True) -> Query:
    """Draw well-typed queries; a part that breaks a type rule is replaced by an atom."""
    kinds = ["atom", "split", "split", "iterate", "either", "combine", "apply", "window"]
    kinds += ["match", "constant", "last", "tumbling"] + (["keys", "keys"] if keys else [])
    kind = draw(st.sampled_from(kinds))
    inner = queries(depth - 1, keys=keys)
    if depth == 0 or kind == "atom":
        return qre.atom(draw(predicates()), draw(st.sampled_from([None, term("atom")])))
    try:
        match kind:
            case "split":
                op = draw(st.sampled_from([term("split"), qre.left, qre.right, qre.unit]))
                return qre.split(*draw(st.lists(inner, min_size=2, max_size=3)), op)
            case "iterate":
                ops = [term("step"), term("fold"), qre.unit, qre.right, qre.left]
                step = draw(st.sampled_from(ops))
                init = draw(st.sampled_from([None, "init"])) if step is qre.unit else "init"
                return qre.iterate(draw(inner), init, step)
            case "either":
                return qre.either(*draw(st.lists(inner, min_size=2, max_size=3)))
            case "combine":
                part = draw(inner)
                return qre.combine(part, qre.apply(part, term("f")), term("combine"))
            case "apply":
                return qre.apply(draw(inner), term("apply"))
            case "window":
                fold = draw(st.sampled_from([ASSOCIATIVE, INVERTIBLE, ("w", term("anew"))]))
                size = draw(st.integers(1, 3))
                if isinstance(fold, qre.Fold):
                    return qre.sliding(draw(inner), size, fold)
                return qre.sliding(draw(inner), size, *fold)
            case "match":
                return qre.match(draw(regexes(2)))
            case "constant":
                return qre.constant("constant")
            case "last":
                return qre.iter_last(draw(inner))
            case "tumbling":
                return qre.iterate_n(draw(inner), draw(st.integers(0, 2)), "n", term("times"))
            case _:
                body = draw(st.sampled_from(keyed_bodies()))
                usual = st.sampled_from([S.plus(), S.star(), S.times(2).star(), S])
                rate = draw(usual | regexes(2, st.just(S)))
                return qre.map_collect(S, lambda item: item.k, body, rate)
    except qre.RateError:
        return qre.atom(draw(predicates()), term("instead"))


def keyed_bodies() -> list[Query]:
    """Return bodies of `map_collect`, with rates over keyed and synchronization items."""
    key_items = ~S
    total = qre.iterate(qre.atom(key_items, term("keyed")), "none", term("more"))
    per_sync = qre.split(total, qre.atom(S), term("sync"))
    pairs = qre.split(per_sync, per_sync, term("pair"))
    nested_query = qre.map_collect(S, lambda item: item.type, per_sync, S)
    first_a = qre.split(
        qre.match((~S).star()), qre.atom(S), qre.atom(A), qre.match((~S).star()), qre.atom(S),
        term("second"),
    )  # fmt: skip
    return [
        per_sync,
        qre.iter_last(per_sync),
        qre.iterate1(per_sync, "days", term("day")),
        pairs,
        nested_query,
        first_a,
        qre.sliding(per_sync, 2, ASSOCIATIVE),
    ]


@contextmanager
def called_by_python() -> Iterator[None]:
    """Within the block, functions of new queries are called by Python instead of translated."""

    def translated(*_: Any) -> Any:
        raise CannotTranslate

    with patch.object(derive, "translated", translated):
        yield
