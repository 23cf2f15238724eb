"""What predicates between two events read: whole columns as integers that keep the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import InputError
from elsinore.trends.keyed import Doubles, Flags, Ints
from elsinore.trends.ranks import to_ranks

_DAY = 86_400_000_000  # microseconds


class Order(Enum):
    """What values are compared among each other; WHOLE and NUMBER as doubles."""

    WHOLE = auto()  # integers of at most 64 bits
    NUMBER = auto()
    TEXT = auto()
    TRUTH = auto()
    TIME = auto()
    DURATION = auto()
    NONE = auto()  # neither compared nor computed with; it is null or not

    @property
    def is_number(self) -> bool:
        """Whether one can compute with it."""
        return self in {Order.WHOLE, Order.NUMBER}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedColumns:
    """Attributes as `KeyedEvents` wants them, and the codes of constants among their values.

    `compared` keeps the order among attributes of one `Order`: whole numbers as they are, other
    numbers by rank, truth values 0 and 1, times in microseconds (finer parts are cut off), texts
    by the rank of all texts of all attributes in code point order. With `mixed`, some attributes
    are whole numbers and some others, whose order `numbers` has in common.
    """

    names: tuple[str, ...]
    orders: Mapping[str, Order]
    types: Mapping[str, pa.DataType]
    texts: pa.Array  # all texts there are, ascending
    compared: Ints  # [attribute, row]
    known: Flags
    numbers: Doubles
    mixed: bool

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array]) -> ComparedColumns:
        """Read the columns of attributes, all of one length.

        >>> found = ComparedColumns.of({"s": pa.array(["b", None, "a"]), "v": pa.array([1, 2, 3])})
        >>> found.compared.tolist(), found.known.tolist()
        ([[2, 0, 0], [1, 2, 3]], [[1, 0, 1], [1, 1, 1]])
        >>> found.text_code("b"), found.text_code("ab")
        (2, 1)
        """
        plain = {name: _plain(column) for name, column in columns.items()}
        orders = {name: _order(column.type) for name, column in plain.items()}
        rows = len(next(iter(plain.values()))) if plain else 0
        texts = _texts([plain[name] for name, order in orders.items() if order is Order.TEXT])
        compared = np.zeros((len(plain), rows), dtype=np.int64)
        known = np.zeros((len(plain), rows), dtype=np.uint8)
        numbers = np.zeros((len(plain), rows), dtype=np.float64)
        for place, (name, column) in enumerate(plain.items()):
            order = orders[name]
            known[place] = column.is_valid().to_numpy(zero_copy_only=False)
            if order is Order.NONE:
                continue
            if order is Order.TEXT:
                codes = pc.multiply(pc.index_in(column, texts).cast(pa.int64()), 2)
            elif order in {Order.TIME, Order.DURATION}:
                codes = _microseconds(column)
            else:
                codes = to_ranks(column)
                doubles = column.cast(pa.float64(), safe=False) if order.is_number else codes
                numbers[place] = doubles.fill_null(0).to_numpy(zero_copy_only=False)
            compared[place] = codes.fill_null(0).to_numpy(zero_copy_only=False)
        return cls(
            names=tuple(plain),
            orders=orders,
            types={name: column.type for name, column in plain.items()},
            texts=texts,
            compared=compared,
            known=known,
            numbers=numbers,
            mixed={Order.WHOLE, Order.NUMBER} <= set(orders.values()),
        )

    def text_code(self, text: str) -> int:
        """Return what a text constant is compared as: odd where no attribute has that value."""
        low, high = 0, len(self.texts)
        while low < high:
            middle = (low + high) // 2
            if self.texts[middle].as_py() < text:
                low = middle + 1
            else:
                high = middle
        found = low < len(self.texts) and self.texts[low].as_py() == text
        return 2 * low if found else 2 * low - 1

    def time_code(self, name: str, text: str) -> int:
        """Return the microseconds of a constant that is compared with an attribute of times.

        Raises InputError where it is none.
        """
        try:
            moment = pa.array([text]).cast(self.types[name])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"A predicate compares '{name}' with '{text}', which is no time: {error}"
            ) from error
        return int(_microseconds(moment)[0].as_py())


def _plain(column: pa.Array) -> pa.Array:
    """Return a column decoded, decimals and odd numbers as doubles, NaN as null, -0 as 0."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind) or kind == pa.uint64():
        column = pc.add(column.cast(pa.float64(), safe=False), 0.0)
        return pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column


def _order(kind: pa.DataType) -> Order:
    if pa.types.is_integer(kind):
        return Order.WHOLE
    if pa.types.is_floating(kind):
        return Order.NUMBER
    if pa.types.is_large_string(kind):
        return Order.TEXT
    if pa.types.is_boolean(kind):
        return Order.TRUTH
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Order.TIME
    return Order.DURATION if pa.types.is_duration(kind) else Order.NONE


def _texts(columns: list[pa.Array]) -> pa.Array:
    """Return all different texts of some columns, ascending by code points."""
    if not columns:
        return pa.array([], pa.large_string())
    distinct = pc.unique(pa.chunked_array(columns)).drop_null()
    return distinct.take(pc.array_sort_indices(distinct))


def _microseconds(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date32(kind):
        return pc.multiply(column.cast(pa.int32()).cast(pa.int64()), _DAY)
    if pa.types.is_date64(kind):
        return pc.multiply(column.cast(pa.int64()), 1000)
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False).cast(pa.int64())
    return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
