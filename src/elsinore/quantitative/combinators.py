"""The combinators of StreamQRE under their names, core and derived (Section 3, Figure 1, 3.1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.approximate import ExponentialHistogram
from elsinore.quantitative.folds import Fold
from elsinore.quantitative.functions import Key, right
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Node,
    Operation,
    Split,
    Window,
    with_form,
    without_value,
)
from elsinore.quantitative.regex import (
    ANY,
    Event,
    Predicate,
    Regex,
    as_predicate,
    as_regex,
    check_nesting,
    name_of,
)
from elsinore.quantitative.runnable import Chain, Keyed, Query, Runnable
from elsinore.quantitative.sketches import SketchedWindow
from elsinore.quantitative.windows import Sliding, check_size

MOST_COPIES = 100  # parts that iterate_n writes out; each is a place of its own in the machine


def atom(predicate: object = ANY, op: Operation | None = None) -> Query:
    """Return the query of one item that satisfies a predicate; its value is `op` of the item.

    >>> from elsinore.quantitative import event
    >>> M = event("M")
    >>> print(atom(M, lambda m: m.val).rate)
    M
    """
    op = None if op is None else _callable(op, "atom", 1)
    return Query(Atom(as_predicate(predicate), op))


def constant(value: Any) -> Query:
    """Return the query of the empty sequence, which has this value."""
    return Query(Constant(value))


def split(*parts: Any) -> Query:
    """Return `split(f, g, ..., op)`: the parts on consecutive stretches, `op` of their values.

    Raises RateError where a sequence can be cut into the parts in two ways.

    >>> from elsinore.quantitative import event
    >>> B, E = event("B"), event("E")
    >>> print(split(atom(B), atom(E), lambda b, e: e.time - b.time).rate)
    B E
    """
    return Query(Split(*_parts_and_op("split", parts, 2)))


def iterate(body: Query, init: Any, step: Operation | None = None) -> Query:
    """Return the body on consecutive stretches and the left fold of its values from `init`.

    `init` may be a `Fold`, and `step` is left out then. Raises RateError where a sequence can be
    cut into stretches in two ways, or where the body matches the empty sequence.
    """
    node = _node("iterate", body)
    if isinstance(init, Fold) and step is None:
        folded = _finished(Iterate(node, init.init, init.step), init)
        return Query(with_form(folded, f"iterate by {init}", node))
    return Query(Iterate(node, init, _step(step, init, "iterate")))


def either(*parts: Query) -> Query:
    """Return the one of the parts that has a value; RateError where two have at once."""
    if len(parts) < 2:
        raise QuerySemanticError("either(f, g, ...) takes two queries or more.")
    return Query(Either(tuple(_node("either", part) for part in parts)))


def combine(*parts: Any) -> Query:
    """Return `combine(f, g, ..., op)`: the parts on the same items, `op` of their values.

    Raises RateError unless the rates of the parts are equivalent.
    """
    return Query(Combine(*_parts_and_op("combine", parts, 1)))


def apply(part: Query, op: Operation) -> Query:
    """Return the query whose value is `op` of the part's."""
    return Query(Combine((_node("apply", part),), _callable(op, "apply", 1)))


def map_collect(sync: object, key: Any, body: Query, rate: object | None = None) -> Query:
    """Return the body run for each key, and the map of the keys' values at the rate's matches.

    Items that satisfy `sync` go to all keys, others to their own: `key` is a function of an item or
    the name of an attribute. `rate` is over synchronization items; at each of them if left out. A
    key is in the map if it has had an item of its own and the body has a value on its items.
    """
    predicate = as_predicate(sync)
    over = predicate.plus() if rate is None else as_regex(rate)
    return Query(MapCollect(predicate, _key(key), _node("map_collect", body), over))


# --- derived forms (Section 3.1) ----------------------------------------------------------------


def match(regex: object) -> Query:
    """Return the query of a rate, without a value; RateError where the expression is ambiguous."""
    regex = as_regex(regex)
    check_nesting(regex)
    return Query(with_form(without_value(regex), "match"))


def iterate1(body: Query, init: Any, step: Operation | None = None) -> Query:
    """Return `iterate` on one stretch at least."""
    node = _node("iterate1", body)
    if isinstance(init, Fold) and step is None:
        folded = Split((Iterate(node, init.init, init.step), node), init.step)
        return Query(with_form(_finished(folded, init), f"iterate1 by {init}", node))
    step = _step(step, init, "iterate1")
    name = f"iterate1 from {init!r} by {name_of(step)}"
    return Query(with_form(Split((Iterate(node, init, step), node), step), name, node))


def iterate_n(body: Query, count: int, init: Any, step: Operation | None = None) -> Query:
    """Return `iterate` on exactly `count` stretches."""
    node = _node("iterate_n", body)
    if not isinstance(count, int) or not 0 <= count <= MOST_COPIES:
        raise QuerySemanticError(
            f"iterate_n writes its body out {count} times; 0 to {MOST_COPIES} times can be. For "
            "the last n values use sliding(f, n, ...)."
        )
    fold = init if isinstance(init, Fold) and step is None else None
    start, operation = (fold.init, fold.step) if fold else (init, _step(step, init, "iterate_n"))
    folded: Node = Constant(start)
    for _ in range(count):
        folded = Split((folded, node), operation)
    if fold is not None:
        return Query(with_form(_finished(folded, fold), f"iterate_n {count} by {fold}", node))
    name = f"iterate_n {count} from {init!r} by {name_of(operation)}"
    return Query(with_form(folded, name, node))


def filter(predicate: object) -> Query:  # noqa: A001 - the paper's word
    """Return the item itself at each item that satisfies the predicate."""
    kept = as_predicate(predicate)
    node = Split((without_value(ANY.star()), Atom(kept, None)), right)
    return Query(with_form(node, f"filter {kept.name}"))


def map(op: Operation) -> Query:  # noqa: A001 - the paper's word
    """Return `op` of the item at each item."""
    node = Split((without_value(ANY.star()), Atom(ANY, _callable(op, "map", 1))), right)
    return Query(with_form(node, f"map by {name_of(op)}"))


def iter_last(body: Query) -> Query:
    """Return the value of the body's last match, of one or more that make up the sequence."""
    node = _node("iter_last", body)
    return Query(with_form(_last(node), "iter_last", node))


def _last(node: Node) -> Node:
    return Split((without_value(node.rate.star()), node), right)


def tumbling(body: Query, count: int = 1, fold: Fold | None = None) -> Query:
    """Return the body's value at each end of a window, windows one after another.

    A window is one match of the body, or `count` of them with the fold of their values.
    """
    check_size("tumbling", count)
    node = _node("tumbling", body)
    if count == 1 and fold is None:
        return Query(with_form(_last(node), "tumbling 1", node))
    if fold is None:
        raise QuerySemanticError("tumbling(f, n, fold): how do the n values become one?")
    last = _last(iterate_n(body, count, fold).node)
    return Query(with_form(last, f"tumbling {count} by {fold}", node))


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
    node = _node("sliding", body)
    if isinstance(init, Fold) and step is None:
        return Query(Window(node, Sliding(size, init)))
    function = _step(step, init, "sliding")
    for given in (combine, inverse):
        if given is not None:
            _callable(given, "sliding", 2)
    fold = Fold(name=name_of(function), init=init, step=function, combine=combine, inverse=inverse)
    return Query(Window(node, Sliding(size, fold)))


def count_in_window(body: Query, size: int, occurs: Callable[[Any], Any]) -> Query:
    """Return how many of the body's last `size` values satisfy a test; exact.

    (StreamQRE, Section 3.1, "Event counting in sliding windows".)
    """
    node = _node("count_in_window", body)
    test = _callable(occurs, "count_in_window", 1)
    check_size("count_in_window", size)
    marked = Combine((node,), lambda value: 1 if test(value) else 0)
    total = Fold(
        name="count_in_window",
        init=0,
        step=lambda number, mark: number + mark,
        inverse=lambda number, mark: number - mark,
    )
    name = f"count_in_window {size} by {name_of(test)}"
    return Query(with_form(Window(marked, Sliding(size, total)), name, node))


def approx_count_in_window(
    body: Query, size: int, occurs: Callable[[Any], Any], eps: float
) -> Query:
    """Return how many of the body's last `size` values satisfy a test, within eps of the number.

    Keeps log(size) / eps numbers (Datar, Gionis, Indyk and Motwani, 2002).

    >>> stream = approx_count_in_window(atom(), 100, lambda v: v > 2, 0.1).start()
    >>> stream.extend([1, 3, 4])[1]
    [0, 1, 2]
    """
    node = _node("approx_count_in_window", body)
    test = _callable(occurs, "approx_count_in_window", 1)
    marked = Combine((node,), lambda value: 1 if test(value) else 0)
    name = f"approx_count_in_window {size} by {name_of(test)} within {eps}"
    return Query(with_form(Window(marked, ExponentialHistogram(size, eps)), name, node))


def approx_quantile_in_window(
    body: Query, size: int, fraction: float, error: float = 0.02
) -> Query:
    """Return a quantile of the body's last `size` values: its rank is off by `error` at most.

    With 99 % probability, as a share of the window. In space of about 2 / error sketches, however
    long the window.

    >>> stream = approx_quantile_in_window(atom(), 1000, 0.5, 0.1).start()
    >>> 900 <= stream.extend(list(range(1500)))[1][-1] <= 1100
    True
    """
    node = _node("approx_quantile_in_window", body)
    return Query(Window(node, SketchedWindow(size, fraction, error)))


def _finished(node: Node, fold: Fold) -> Node:
    return node if fold.finish is None else Combine((node,), fold.finish)


def _parts_and_op(name: str, parts: tuple[Any, ...], least: int) -> tuple[tuple[Node, ...], Any]:
    *queries, op = parts or (None,)
    if isinstance(op, Query) or len(queries) < least:
        raise QuerySemanticError(
            f"{name}(f, {'g, ' if least > 1 else ''}..., op) takes queries and, last, the function "
            "of their values."
        )
    return tuple(_node(name, part) for part in queries), _callable(op, name, len(queries))


def _node(name: str, part: object) -> Node:
    """Return the node of an argument that must be a query."""
    if isinstance(part, Query):
        return part.node
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


def _key(key: Any) -> Operation:
    return Key(key) if isinstance(key, str) else _callable(key, "map_collect", 1)
