"""The combinators of StreamQRE under their names, core and derived (Section 3, Figure 1, 3.1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
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
    Form,
    Iterate,
    MapCollect,
    Node,
    Operation,
    Split,
    Window,
    as_argument,
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

MOST_COPIES = 100  # of the body of iterate_n: each adds its states to the machine


def atom(predicate: object = ANY, op: Operation | None = None) -> Query:
    """Return the query of one item that satisfies a predicate.

    Its value is `op` of the item, or the item.

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

    Raises RateError if a sequence can be cut into the parts in two ways.

    >>> from elsinore.quantitative import event
    >>> B, E = event("B"), event("E")
    >>> print(split(atom(B), atom(E), lambda b, e: e.time - b.time).rate)
    B E
    """
    return Query(Split(*_parts_and_op("split", parts, 2)))


def iterate(body: Query, init: Any, step: Operation | None = None) -> Query:
    """Return the left fold, from `init`, of the body's values on consecutive stretches.

    `init` may be a `Fold`; leave `step` out then. Raises RateError if a sequence can be cut into
    stretches in two ways, or if the body matches the empty sequence.
    """
    node, fold, form = _folding("iterate", body, init, step)
    return _folded(form, fold, Iterate(node, fold.init, fold.step))


def either(*parts: Query) -> Query:
    """Return the value of the part that matches; RateError if two parts can match at once."""
    if len(parts) < 2:
        raise QuerySemanticError("either(f, g, ...) takes two queries or more.")
    return Query(Either(tuple(_node("either", part) for part in parts)))


def combine(*parts: Any) -> Query:
    """Return `combine(f, g, ..., op)`: the parts on the same items, `op` of their values.

    Raises RateError unless the rates of the parts are equivalent.
    """
    return Query(Combine(*_parts_and_op("combine", parts, 1)))


def apply(part: Query, op: Operation) -> Query:
    """Return the query whose value is `op` of the part's value."""
    return Query(Combine((_node("apply", part),), _callable(op, "apply", 1)))


def map_collect(sync: object, key: Any, body: Query, rate: object | None = None) -> Query:
    """Return the body run for each key; its value is a map from key to the body's value.

    Items that satisfy `sync` go to all keys, other items to one: `key` is a function of an item or
    the name of an attribute. `rate` is the rate of output over synchronization items; without it
    there is output at each of them. The map contains keys with at least one item beside
    synchronization items, if the body has a value on their items.
    """
    leaf = as_predicate(sync)
    over = leaf.plus() if rate is None else as_regex(rate)
    return Query(MapCollect(leaf, _key(key), _node("map_collect", body), over))


# --- derived forms (Section 3.1) ----------------------------------------------------------------


def match(regex: object) -> Query:
    """Return the query of a rate, without a value. Raises RateError for an ambiguous expression."""
    regex = as_regex(regex)
    check_nesting(regex)
    return _named(Form("match", (str(regex),)), without_value(regex))


def iterate1(body: Query, init: Any, step: Operation | None = None) -> Query:
    """Return `iterate` on at least one stretch."""
    node, fold, form = _folding("iterate1", body, init, step)
    iterated = _named(form, Iterate(node, fold.init, fold.step)).node
    return _folded(form, fold, Split((iterated, node), fold.step))


def iterate_n(body: Query, count: int, init: Any, step: Operation | None = None) -> Query:
    """Return `iterate` on exactly `count` stretches."""
    node, fold, form = _folding("iterate_n", body, init, step, count)
    if not isinstance(count, int) or not 0 <= count <= MOST_COPIES:
        raise QuerySemanticError(
            f"iterate_n copies its body {count} times; 0 to {MOST_COPIES} times are possible. For "
            "the last n values use sliding(f, n, ...)."
        )
    folded: Node = Constant(fold.init)
    for _ in range(count):
        folded = _named(form, Split((folded, node), fold.step)).node
    return _folded(form, fold, folded)


def filter(predicate: object) -> Query:  # noqa: A001 - the paper's word
    """Return the query whose value at each item that satisfies the predicate is this item."""
    leaf = as_predicate(predicate)
    node = Split((without_value(ANY.star()), Atom(leaf, None)), right)
    return _named(Form("filter", (leaf.name,)), node)


def map(op: Operation) -> Query:  # noqa: A001 - the paper's word
    """Return the query whose value at each item is `op` of this item."""
    node = Split((without_value(ANY.star()), Atom(ANY, _callable(op, "map", 1))), right)
    return _named(Form("map", (name_of(op),)), node)


def iter_last(body: Query) -> Query:
    """Return the body's value on the last of one or more consecutive stretches."""
    node = _node("iter_last", body)
    return _named(Form("iter_last", (node,)), _last(node))


def _last(node: Node) -> Node:
    return Split((without_value(node.rate.star()), node), right)


def tumbling(body: Query, count: int = 1, fold: Fold | None = None) -> Query:
    """Return the value of each of the windows that follow one another, at its end.

    A window is one match of the body, or `count` matches; its value is the fold of their values.
    """
    check_size("tumbling", count)
    node = _node("tumbling", body)
    if count == 1 and fold is None:
        return _named(Form("tumbling", (node,)), _last(node))
    if fold is None:
        raise QuerySemanticError(
            "tumbling(f, n, fold) takes a fold of the n values, such as sum()."
        )
    form = Form("tumbling", (node, str(count), str(fold)))
    return _named(form, _last(iterate_n(body, count, fold).node))


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

    With `combine`, an associative function that combines the accumulators of neighbouring stretches
    (each begins with `init`), or with `inverse`, which removes the oldest value from an
    accumulator, the cost of a match does not depend on the size; else the values are folded again
    at each match. `init` may be a `Fold`.
    """
    node, fold, _ = _folding("sliding", body, init, step)
    for function in (combine, inverse):
        if function is not None and fold is init:
            raise QuerySemanticError(
                f"sliding takes the fold {fold} alone, without combine and inverse: they are part "
                "of a fold."
            )
        if function is not None:
            _callable(function, "sliding", 2)
    if fold is not init:
        fold = replace(fold, combine=combine, inverse=inverse)
    return Query(Window(node, Sliding(size, fold)))


def count_in_window(body: Query, size: int, occurs: Callable[[Any], Any]) -> Query:
    """Return the exact number of the body's last `size` values that satisfy a test.

    (StreamQRE, Section 3.1, "Event counting in sliding windows".)
    """
    check_size("count_in_window", size)
    total = Fold(
        name="count_in_window",
        init=0,
        step=lambda number, mark: number + mark,
        inverse=lambda number, mark: number - mark,
    )
    return _counting("count_in_window", body, occurs, Sliding(size, total))


def approx_count_in_window(
    body: Query, size: int, occurs: Callable[[Any], Any], eps: float
) -> Query:
    """Return the number of the body's last `size` values that satisfy a test, within a share eps.

    Needs log(size) / eps numbers (Datar, Gionis, Indyk and Motwani, 2002).

    >>> stream = approx_count_in_window(atom(), 100, lambda v: v > 2, 0.1).start()
    >>> stream.extend([1, 3, 4])[1]
    [0, 1, 2]
    """
    window = ExponentialHistogram(size, eps)
    return _counting("approx_count_in_window", body, occurs, window, eps)


def _counting(
    name: str, body: Query, occurs: Callable[[Any], Any], window: Any, *precision: float
) -> Query:
    """Return a window over ones for values of the body that satisfy a test, and zeros."""
    node, test = _node(name, body), _callable(occurs, name, 1)
    marked = Combine((node,), lambda value: 1 if test(value) else 0)
    form = Form(name, (node, str(window.size), name_of(test), *(str(part) for part in precision)))
    return _named(form, Window(marked, window))


def approx_quantile_in_window(
    body: Query, size: int, fraction: float, error: float = 0.02
) -> Query:
    """Return a quantile of the body's last `size` values, with a rank within `error`.

    The error is a share of the window, with a probability of 99 %. Needs about 2 / error sketches,
    whatever the size.

    >>> stream = approx_quantile_in_window(atom(), 1000, 0.5, 0.1).start()
    >>> 900 <= stream.extend(list(range(1500)))[1][-1] <= 1100
    True
    """
    node = _node("approx_quantile_in_window", body)
    window = SketchedWindow(size, fraction, error)
    form = Form("approx_quantile_in_window", (node, str(size), str(fraction), str(error)))
    return _named(form, Window(node, window))


def _named(form: Form, node: Node) -> Query:
    """Return the query of a node, which is described by the call of a derived combinator."""
    object.__setattr__(node, "form", form)
    return Query(node)


def _folded(form: Form, fold: Fold, node: Node) -> Query:
    """Return the query of a node whose value is an accumulator, with the fold's finish."""
    folded = _named(form, node)
    return folded if fold.finish is None else _named(form, Combine((node,), fold.finish))


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
            f"{name} takes queries without keys or stages: use by() and pipelines, f >> g, at the "
            "top level only."
        )
    raise QuerySemanticError(f"{name} takes queries, not {part!r}.")


def _callable(op: Any, name: str, values: int) -> Operation:
    """Return the function. Raises QuerySemanticError if it does not take `values` arguments."""
    if not callable(op):
        raise QuerySemanticError(f"{name} takes a function of the values, not {op!r}.")
    try:
        signature = inspect.signature(op)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return op  # type: ignore[no-any-return]
    try:
        signature.bind(*range(values))
    except TypeError:
        raise QuerySemanticError(
            f"{name} calls its function with {values} value{'s' if values > 1 else ''}, and "
            f"{name_of(op)} takes {signature}."
        ) from None
    return op  # type: ignore[no-any-return]


def _folding(
    name: str, body: Query, init: Any, step: Any, *arguments: int
) -> tuple[Node, Fold, Form]:
    """Return a combinator's body, its fold (or that from an initial value by a step), its form."""
    node = _node(name, body)
    if isinstance(step, Fold):
        raise QuerySemanticError(
            f"{name} takes the fold {step} alone, without an initial value: that is {step.init!r}."
        )
    if step is not None:
        step = _callable(step, name, 2)
        fold = Fold(name=name_of(step), init=init, step=step)
    elif isinstance(init, Fold):
        fold = init
    elif getattr(init, "__module__", None) == Fold.__module__:
        raise QuerySemanticError(f"{name} takes a fold: write {init.__name__}(), with brackets.")
    else:
        raise QuerySemanticError(
            f"{name} takes a fold, such as sum(), or an initial value and a function of the value "
            "so far and the next."
        )
    parameters = (node, *arguments, init, *([] if fold is init else [step]))
    form = Form(name, tuple(as_argument(part) for part in parameters))
    return node, fold, form


def _key(key: Any) -> Operation:
    return Key(key) if isinstance(key, str) else _callable(key, "map_collect", 1)
