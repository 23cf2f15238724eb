"""Warnings for queries that compare numbers stored as text by order: as text '10' is before '9'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from elsinore.errors import called, is_on_the_command_line
from elsinore.language import render
from elsinore.model import Query
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Literal, Operator
from elsinore.model.schema import AttributeKind
from elsinore.runtime.numbers_in_text import numbers_in_text
from elsinore.runtime.schema import schema_of

EXAMINED = 1_000  # first rows
DECLARED_TEXT = {b"elsinore": b"text"}  # metadata of a column that was requested as text
_ORDERS = {Operator.LT, Operator.LE, Operator.GT, Operator.GE}


def mark_declared_text(table: pa.Table, name: str) -> pa.Table:
    """Return a table with a column, if present, marked as intended to be text."""
    place = table.schema.get_field_index(name)
    if place < 0:
        return table
    field = table.schema.field(place).with_metadata(DECLARED_TEXT)
    return table.set_column(place, field, table.column(place))


class _OrderComparison(NamedTuple):
    """The columns that a comparison by order reads, and the constants it compares them with."""

    columns: tuple[str, ...]
    constants: tuple[str, ...]


def text_orders(queries: Iterable[Query], table: pa.Table) -> Iterator[str]:
    """Yield a warning for each comparison by order of texts that are mostly numbers.

    There is none for columns whose first rows have the same order as text and as numbers, such as
    numbers with equally many digits, and for columns that were requested as text.

    >>> from elsinore.language import parse_workload
    >>> queries = parse_workload("QUERY q RETURN COUNT(*) PATTERN T+ WHERE T[i].x > T[i-1].x;")
    >>> next(text_orders(queries, pa.table({"x": ["9", "10"]})))[:59]
    "query q: T[i].x > T[i-1].x compares texts: '10' is before '"
    """
    schema = schema_of(table.schema)
    texts = {
        name
        for name, kind in schema.attributes
        if kind is AttributeKind.STRING and table.schema.field(name).metadata != DECLARED_TEXT
    }
    counterexamples: dict[_OrderComparison, tuple[str, str] | None] = {}
    for query in queries if texts else ():
        reported = set()
        for node in (node for condition in query.where for node in ex.walk(condition)):
            comparison = _order_comparison(node)
            if (
                comparison is None
                or comparison in reported
                or not texts.issuperset(comparison.columns)
            ):
                continue
            reported.add(comparison)
            if comparison not in counterexamples:
                counterexamples[comparison] = _out_of_order(comparison, table)
            example = counterexamples[comparison]
            if example is not None:
                yield (
                    f"{called(query.name)}: {render(node)} compares texts: '{example[0]}' is "
                    f"before '{example[1]}'. If numbers are meant, "
                    f"{_remedy(comparison.columns[0])}."
                )


def ordered_texts(queries: Iterable[Query], texts: Iterable[str]) -> list[str]:
    """Return the columns of text that queries compare by order.

    >>> from elsinore.language import parse_workload
    >>> text = "QUERY q RETURN COUNT(*) PATTERN T+ WHERE T.x > '9' AND T.y = '1';"
    >>> queries = parse_workload(text)
    >>> ordered_texts(queries, ["x", "y"])
    ['x']
    """
    conditions = [condition for query in queries for condition in query.where]
    orders = [_order_comparison(node) for condition in conditions for node in ex.walk(condition)]
    compared = {
        name for comparison in orders if comparison is not None for name in comparison.columns
    }
    return [name for name in texts if name in compared]


def _order_comparison(node: ex.Expression) -> _OrderComparison | None:
    """Return the attributes and constants that a node compares by order; None for other nodes."""
    if not isinstance(node, Binary) or node.operator not in _ORDERS:
        return None
    sides = (node.left, node.right)
    columns = [side.name for side in sides if isinstance(side, Attribute) and side.name]
    constants = [str(side.value) for side in sides if isinstance(side, Literal)]
    if not columns or len(columns) + len(constants) < len(sides):
        return None
    return _OrderComparison(tuple(dict.fromkeys(columns)), tuple(constants))


def _out_of_order(comparison: _OrderComparison, table: pa.Table) -> tuple[str, str] | None:
    """Return two texts whose order as numbers is the opposite of their order as texts."""
    texts = list(comparison.constants)
    for name in comparison.columns:
        texts += table.column(name).slice(0, EXAMINED).to_pylist()
    numbers = numbers_in_text(pa.chunked_array([pa.array(texts, pa.string())]))
    if numbers is None:
        return None
    pairs = zip(texts, numbers.to_pylist(), strict=True)
    inside = sorted((text, number) for text, number in pairs if number is not None)
    out_of_order = ((first, then) for (first, x), (then, y) in pairwise(inside) if x > y)
    return next(out_of_order, None)


def _remedy(name: str) -> str:
    """Return the remedy: convert a column of text to numbers, or declare it as text."""
    if is_on_the_command_line():
        return f"write '{name}' as numbers; if texts, add --text {name}"
    return f"cast '{name}' to a number"
