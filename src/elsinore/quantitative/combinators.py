"""The combinators of StreamQRE under their names, core and derived (Section 3, Figure 1, 3.1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.folds import Fold
from elsinore.quantitative.items import attribute_of
from elsinore.quantitative.query import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Operation,
    Query,
    Split,
    Window,
)
from elsinore.quantitative.regex import (
    ANY,
    ITEM,
    Concatenation,
    Empty,
    Event,
    Plus,
    Predicate,
    Regex,
    Star,
    Times,
    Union,
    as_predicate,
    as_regex,
    check_nesting,
    name_of,
)
from elsinore.quantitative.runnable import Chain, Keyed, Runnable
from elsinore.quantitative.windows import Sliding, check_size

MOST_COPIES = 100  # parts that iterate_n writes out; each is a place of its own in the machine


def unit(*_: Any) -> None:
    """Return nothing, whatever is given: the value of `match`."""


def left(first: Any, *_: Any) -> Any:
    """Return the first of the values: an `op` for `split` and `combine`."""
    return first


def right(*values: Any) -> Any:
    """Return the last of the values: an `op` for `split` and `combine`."""
    return values[-1]


def atom(predicate: object = ANY, op: Operation | None = None) -> Query:
    """Return the query of one item that satisfies a predicate; its value is `op` of the item.

    >>> from elsinore.quantitative import event
    >>> M = event("M")
    >>> print(atom(M, lambda m: m.val).rate)
    M
    """
    return Atom(as_predicate(predicate), _callable(op, "atom", 1) if op is not None else None)


def constant(value: Any) -> Query:
    """Return the query of the empty sequence, which has this value."""
    return Constant(value)


def split(*parts: Any) -> Query:
    """Return `split(f, g, ..., op)`: the parts on consecutive stretches, `op` of their values.

    Raises RateError where a sequence can be cut into the parts in two ways.

    >>> from elsinore.quantitative import event
    >>> B, E = event("B"), event("E")
    >>> print(split(atom(B), atom(E), lambda b, e: e.time - b.time).rate)
    B E
    """
    queries, op = _parts_and_op("split", parts, 2)
    return Split(queries, op)


def iterate(body: Query, init: Any, step: Operation | None = None) -> Query:
    """Return the body on consecutive stretches and the left fold of its values from `init`.

    `init` may be a `Fold`, and `step` is left out then. Raises RateError where a sequence can be
    cut into stretches in two ways, or where the body matches the empty sequence.
    """
    body = _query("iterate", body)
    if isinstance(init, Fold) and step is None:
        return _finished(Iterate(body, init.init, init.step), init)
    return Iterate(body, init, _step(step, init, "iterate"))


def either(*parts: Query) -> Query:
    """Return the one of the parts that has a value; RateError where two have at once."""
    if len(parts) < 2:
        raise QuerySemanticError("either(f, g, ...) takes two queries or more.")
    return Either(tuple(_query("either", part) for part in parts))


def combine(*parts: Any) -> Query:
    """Return `combine(f, g, ..., op)`: the parts on the same items, `op` of their values.

    Raises RateError unless the rates of the parts are equivalent.
    """
    queries, op = _parts_and_op("combine", parts, 1)
    return Combine(queries, op)


def apply(part: Query, op: Operation) -> Query:
    """Return the query whose value is `op` of the part's."""
    return Combine((_query("apply", part),), _callable(op, "apply", 1))


def map_collect(sync: object, key: Any, body: Query, rate: object | None = None) -> Query:
    """Return the body run for each key, and the map of the keys' values at the rate's matches.

    Items that satisfy `sync` go to all keys, others to their own: `key` is a function of an item or
    the name of an attribute. `rate` is over synchronization items; at each of them if left out. A
    key is in the map if it has had an item of its own and the body has a value on its items.
    """
    predicate = as_predicate(sync)
    over = predicate.plus() if rate is None else as_regex(rate)
    return MapCollect(predicate, _key(key), _query("map_collect", body), over)


# --- derived forms (Section 3.1) ----------------------------------------------------------------


def match(regex: object) -> Query:
    """Return the query of a rate, without a value; RateError where the expression is ambiguous."""
    regex = as_regex(regex)
    check_nesting(regex)
    match regex:
        case Predicate():
            return Atom(regex, unit)
        case Empty():
            return Constant(None)
        case Concatenation(parts):
            return Split(tuple(match_(part) for part in parts), unit)
        case Union(parts):
            return Either(tuple(match_(part) for part in parts))
        case Star(inner):
            return Iterate(match_(inner), None, unit)
        case Plus(inner):
            return Split((Iterate(match_(inner), None, unit), match_(inner)), unit)
        case Times(inner, 0):
            return Constant(None)
        case Times(inner, 1):
            return match_(inner)
        case Times(inner, copies):
            return Split((match_(inner),) * copies, unit)
    raise QuerySemanticError(f"{regex!r} is not a regular expression.")


match_ = match  # in a function, `match` begins a statement


def iterate1(body: Query, init: Any, step: Operation | None = None) -> Query:
    """Return `iterate` on one stretch at least."""
    body = _query("iterate1", body)
    if isinstance(init, Fold) and step is None:
        return _finished(Split((Iterate(body, init.init, init.step), body), init.step), init)
    step = _step(step, init, "iterate1")
    return Split((Iterate(body, init, step), body), step)


def iterate_n(body: Query, count: int, init: Any, step: Operation | None = None) -> Query:
    """Return `iterate` on exactly `count` stretches."""
    body = _query("iterate_n", body)
    if not isinstance(count, int) or not 0 <= count <= MOST_COPIES:
        raise QuerySemanticError(
            f"iterate_n writes its body out {count} times; 0 to {MOST_COPIES} times can be. For "
            "the last n values use sliding(f, n, ...)."
        )
    fold = init if isinstance(init, Fold) and step is None else None
    start, operation = (fold.init, fold.step) if fold else (init, _step(step, init, "iterate_n"))
    query: Query = Constant(start)
    for _ in range(count):
        query = Split((query, body), operation)
    return _finished(query, fold) if fold else query


def filter(predicate: object) -> Query:  # noqa: A001 - the paper's word
    """Return the item itself at each item that satisfies the predicate."""
    return Split((match_(ANY.star()), Atom(as_predicate(predicate), None)), right)


def map(op: Operation) -> Query:  # noqa: A001 - the paper's word
    """Return `op` of the item at each item."""
    return Split((match_(ANY.star()), Atom(ANY, _callable(op, "map", 1))), right)


def iter_last(body: Query) -> Query:
    """Return the value of the body's last match, of one or more that make up the sequence."""
    body = _query("iter_last", body)
    return Split((match_(body.rate.star()), body), right)


def tumbling(body: Query, count: int = 1, fold: Fold | None = None) -> Query:
    """Return the body's value at each end of a window, windows one after another.

    A window is one match of the body, or `count` of them with the fold of their values.
    """
    check_size("tumbling", count)
    if count == 1 and fold is None:
        return iter_last(body)
    if fold is None:
        raise QuerySemanticError("tumbling(f, n, fold): how do the n values become one?")
    return iter_last(iterate_n(body, count, fold))


def sliding(
    body: Query,
    size: int,
    init: Any,
    step: Operation | None = None,
    *,
    combine: Callable[[Any, Any], Any] | None = None,
    inverse: Callable[[Any, Any], Any] | None = None,
) -> Query:
    """Return the fold of the body's last `size` values, or of all while there are fewer.

    With a way to `combine` the accumulators of neighbouring stretches (which must be associative;
    each begins with `init`), or to take the oldest value out (`inverse`), a match costs the same
    whatever the size; else the values are folded anew at each. `init` may be a `Fold`.
    """
    body = _query("sliding", body)
    if isinstance(init, Fold) and step is None:
        return Window(body, Sliding(size, init))
    function = _step(step, init, "sliding")
    for given in (combine, inverse):
        if given is not None:
            _callable(given, "sliding", 2)
    fold = Fold(name=name_of(function), init=init, step=function, combine=combine, inverse=inverse)
    return Window(body, Sliding(size, fold))


def count_in_window(body: Query, size: int, occurs: Callable[[Any], Any]) -> Query:
    """Return how many of the body's last `size` values satisfy a test; exact.

    (StreamQRE, Section 3.1, "Event counting in sliding windows".)
    """
    test = _callable(occurs, "count_in_window", 1)
    check_size("count_in_window", size)
    marked = Combine((_query("count_in_window", body),), lambda value: 1 if test(value) else 0)
    total = Fold(
        name="count_in_window",
        init=0,
        step=lambda number, mark: number + mark,
        inverse=lambda number, mark: number - mark,
    )
    return Window(marked, Sliding(size, total))


def _finished(query: Query, fold: Fold) -> Query:
    return query if fold.finish is None else Combine((query,), fold.finish)


def _parts_and_op(name: str, parts: tuple[Any, ...], least: int) -> tuple[tuple[Query, ...], Any]:
    *queries, op = parts or (None,)
    if isinstance(op, Query) or len(queries) < least:
        raise QuerySemanticError(
            f"{name}(f, {'g, ' if least > 1 else ''}..., op) takes queries and, last, the function "
            "of their values."
        )
    return tuple(_query(name, part) for part in queries), _callable(op, name, len(queries))


def _query(name: str, part: object) -> Query:
    if isinstance(part, Query):
        return part
    if isinstance(part, Event | Predicate):
        raise QuerySemanticError(
            f"{name} takes queries, and {part.name} is a predicate: write atom({part.name})."
        )
    if isinstance(part, Regex):
        raise QuerySemanticError(
            f"{name} takes queries, and {part} is a regular expression: write match({part})."
        )
    if isinstance(part, Runnable | Keyed | Chain):
        raise QuerySemanticError(
            f"{name} takes queries without keys of their own: pipelines, f >> g, and by() stand at "
            "the top only."
        )
    raise QuerySemanticError(f"{name} takes queries, not {part!r}.")


def _callable(op: Any, name: str, values: int) -> Operation:
    """Return a function of so many values; refuse what is none, or takes another number."""
    if not callable(op):
        raise QuerySemanticError(f"{name} takes a function of the values, not {op!r}.")
    try:
        signature = inspect.signature(op)
    except (TypeError, ValueError):  # some of Python's own do not say what they take
        return op  # type: ignore[no-any-return]
    try:
        signature.bind(*range(values))
    except TypeError:
        raise QuerySemanticError(
            f"{name} gives its function {values} value{'s' if values > 1 else ''}, and "
            f"{name_of(op)} takes {signature}."
        ) from None
    return op  # type: ignore[no-any-return]


def _step(step: Any, init: Any, name: str) -> Operation:
    """Return the step of a fold; refuse a fold that is not put in its place."""
    if isinstance(step, Fold):
        raise QuerySemanticError(
            f"{name} takes the fold {step} alone, without a beginning: its own is {step.init!r}."
        )
    if step is None and getattr(init, "__module__", None) == Fold.__module__:
        raise QuerySemanticError(f"{name} takes a fold: write {init.__name__}(), with brackets.")
    if step is None:
        raise QuerySemanticError(
            f"{name} takes a fold, such as sum(), or the value to begin with and a function of the "
            "value so far and the next."
        )
    return _callable(step, name, 2)


class Key:
    """The value of an attribute, as a key."""

    __slots__ = ("__name__", "attribute")

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self.__name__ = f"{ITEM}.{attribute}"

    def __call__(self, item: Any) -> Any:
        """Return the item's key."""
        return attribute_of(item, self.attribute)


def _key(key: Any) -> Operation:
    return Key(key) if isinstance(key, str) else _callable(key, "map_collect", 1)
