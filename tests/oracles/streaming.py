"""What a quantitative query means, read off the definition (StreamQRE, Figure 1).

All ways to cut a sequence are tried, so that a query whose rates break a type rule shows several
values where there should be one.
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
    """Return the items at which a query has a value, each with it: of the items up to there."""
    prefixes = (values(query, word[: n + 1]) for n in range(len(word)))
    return [(n, found[0]) for n, found in enumerate(prefixes) if found]


def matches(regex: Regex, word: Sequence[Any]) -> bool:
    """Return whether a sequence is in the language of a regular expression."""
    return parser(regex)(tuple(word)) > 0


def parser(regex: Regex) -> Callable[[Word], int]:
    """Return a function of sequences: in how many ways the expression matches each.

    There are no empty parts under a star. What it counts for a stretch of items, it counts once for
    all sequences with that stretch.
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
    """Return a function of stretches, which are numbers of items."""
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
    """Return whether a predicate is true of an item."""
    tests = dict(predicate.tests)

    def lookup(read: Any) -> Any:
        if read.name in tests:
            return bool(tests[read.name](item))
        return item if isinstance(item, int | float | str) else getattr(item, read.name, None)

    return is_true(predicate.condition, lookup)


def _values(query: Node, word: Word) -> list[Any]:
    found: dict[tuple[int, int, int], list[Any]] = {}

    def of(node: Node, start: int, stop: int) -> list[Any]:
        place = id(node), start, stop
        if place not in found:
            found[place] = compute(node, start, stop)
        return found[place]

    def stretches(body: Node, start: int, stop: int) -> list[tuple[Any, ...]]:
        """Return the values of the body on consecutive stretches, for all ways to cut."""
        if start == stop:
            return [()]
        return [
            (*before, last)
            for cut in range(start, stop)
            for last in of(body, cut, stop)
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
                found = []
                for cuts in itertools.combinations_with_replacement(
                    range(start, stop + 1), len(parts) - 1
                ):
                    ends = (start, *cuts, stop)
                    pieces = [of(p, *ends[i : i + 2]) for i, p in enumerate(parts)]
                    found += [op(*chosen) for chosen in itertools.product(*pieces)]
                return found
            case Iterate(body, init, step):
                return [
                    functools.reduce(step, chosen, init) for chosen in stretches(body, start, stop)
                ]
            case Either(parts):
                return [value for part in parts for value in of(part, start, stop)]
            case Combine(parts, op):
                pieces = [of(part, start, stop) for part in parts]
                return [op(*chosen) for chosen in itertools.product(*pieces)]
            case Window(body, window):
                fold = window.fold
                totals = [
                    functools.reduce(fold.step, chosen[-window.size :], fold.init)
                    for chosen in stretches(body, start, stop)
                    if chosen
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
                assert all(len(alone) < 2 for alone in collected.values())
                return [{k: alone[0] for k, alone in collected.items() if alone}]
        raise TypeError(node)

    return of(query, 0, len(word))
