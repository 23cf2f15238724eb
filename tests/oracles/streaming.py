"""The denotation of quantitative queries, by the definition (StreamQRE, Figure 1).

All ways to cut a sequence are tried, so that a query whose rates break a type rule has several
values.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import elsinore.quantitative as qre
from elsinore.model.evaluate import is_true
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Node,
    Split,
    Window,
)
from elsinore.quantitative.regex import (
    Concatenation,
    Plus,
    Predicate,
    Regex,
    Star,
    Times,
    Union,
)

Word = tuple[Any, ...]


def values(query: qre.Query, word: Sequence[Any]) -> list[Any]:
    """Return the values of a query on a sequence, one for each way to divide it."""
    return _values(query.node, tuple(word))


def values_at_prefixes(query: qre.Query, word: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return the positions of the items after which a query has a value, with the values."""
    prefixes = (values(query, word[: n + 1]) for n in range(len(word)))
    return [(n, of_prefix[0]) for n, of_prefix in enumerate(prefixes) if of_prefix]


def matches(regex: Regex, word: Sequence[Any]) -> bool:
    """Return whether a sequence is in the language of a regular expression."""
    return parser(regex)(tuple(word)) > 0


def parser(regex: Regex) -> Callable[[Word], int]:
    """Return a function that counts the ways in which the expression matches a sequence.

    A star has no empty parts. Counts of stretches of items are cached for all sequences.
    """
    numbers: dict[int, int] = {}  # of items, by their identities
    items: list[Any] = []

    def count(word: Word) -> int:
        for item in word:
            if numbers.setdefault(id(item), len(items)) == len(items):
                items.append(item)
        return whole(tuple(numbers[id(item)] for item in word))

    whole = _parser(regex, items)
    return count


def _parser(node: Regex, items: Sequence[Any]) -> Callable[[tuple[int, ...]], int]:
    """Return a function that counts matches of a stretch, a tuple of numbers of items."""
    match node:
        case Predicate():
            truth = functools.cache(lambda item: holds(node, items[item]))
            return lambda word: int(len(word) == 1 and truth(word[0]))
        case Concatenation((first, *rest)):
            head, tail = _parser(first, items), _parser(Concatenation(tuple(rest)), items)
            return functools.cache(
                lambda word: sum(
                    ways * tail(word[cut:])
                    for cut in range(len(word) + 1)
                    if (ways := head(word[:cut]))
                )
            )
        case Union(parts):
            each = [_parser(part, items) for part in parts]
            return functools.cache(lambda word: sum(count(word) for count in each))
        case Star(inner):
            once = _parser(inner, items)

            @functools.cache
            def star(word: tuple[int, ...]) -> int:
                if not word:
                    return 1
                cuts = range(1, len(word) + 1)
                return sum(ways * star(word[n:]) for n in cuts if (ways := once(word[:n])))

            return star
        case Plus(inner):
            return _parser(Concatenation((inner, Star(inner))), items)
        case Times(inner, copies):
            return _parser(Concatenation((inner,) * copies), items)
        case _:
            return lambda word: int(not word)


def holds(predicate: Predicate, item: Any) -> bool:
    """Return whether an item satisfies a predicate."""
    tests = dict(predicate.tests)

    def lookup(read: Any) -> Any:
        if read.name in tests:
            return bool(tests[read.name](item))
        return item if isinstance(item, int | float | str) else getattr(item, read.name, None)

    return is_true(predicate.condition, lookup)


def _values(query: Node, word: Word) -> list[Any]:
    cache: dict[tuple[int, int, int], list[Any]] = {}

    def values_of(node: Node, start: int, stop: int) -> list[Any]:
        key = id(node), start, stop
        if key not in cache:
            cache[key] = compute(node, start, stop)
        return cache[key]

    def stretches(body: Node, start: int, stop: int) -> list[tuple[Any, ...]]:
        """Return the values of the body on consecutive stretches, for all ways to cut."""
        if start == stop:
            return [()]
        return [
            (*before, last)
            for cut in range(start, stop)
            for last in values_of(body, cut, stop)
            for before in stretches(body, start, cut)
        ]

    def compute(node: Node, start: int, stop: int) -> list[Any]:
        match node:
            case Atom(predicate, op):
                if stop - start != 1 or not holds(predicate, word[start]):
                    return []
                return [word[start] if op is None else op(word[start])]
            case Constant(value):
                return [value] if start == stop else []
            case Split(parts, op):
                results = []
                for cuts in itertools.combinations_with_replacement(
                    range(start, stop + 1), len(parts) - 1
                ):
                    ends = (start, *cuts, stop)
                    pieces = [values_of(p, *ends[i : i + 2]) for i, p in enumerate(parts)]
                    results += [op(*arguments) for arguments in itertools.product(*pieces)]
                return results
            case Iterate(body, init, step):
                return [
                    functools.reduce(step, folded, init) for folded in stretches(body, start, stop)
                ]
            case Either(parts):
                return [value for part in parts for value in values_of(part, start, stop)]
            case Combine(parts, op):
                pieces = [values_of(part, start, stop) for part in parts]
                return [op(*arguments) for arguments in itertools.product(*pieces)]
            case Window(body, window):
                fold = window.fold
                totals = [
                    functools.reduce(fold.step, folded[-window.size :], fold.init)
                    for folded in stretches(body, start, stop)
                    if folded
                ]
                return totals if fold.finish is None else [fold.finish(t) for t in totals]
            case MapCollect(sync, key, body, _):
                stretch = word[start:stop]
                if not matches(node.rate, stretch):
                    return []
                keys = dict.fromkeys(key(item) for item in stretch if not holds(sync, item))
                collected = {
                    k: _values(body, tuple(x for x in stretch if holds(sync, x) or key(x) == k))
                    for k in keys
                }
                assert all(len(results) < 2 for results in collected.values())
                return [{k: results[0] for k, results in collected.items() if results}]
        raise TypeError(node)

    return values_of(query, 0, len(word))
