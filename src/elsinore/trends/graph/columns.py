"""What predicates between two events read: whole columns as integers that keep the order."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError
from elsinore.numeric.constants import moment
from elsinore.operators.ranks import rank_doubles, turned
from elsinore.trends.graph.codes import (
    BOUND,
    STEADY,
    Exact,
    Order,
    doubles_of,
    exact_codes,
    excess_of,
    is_fine,
    order_of,
    plain_of,
    ranks_in_common,
    steady_codes,
    texts_of,
    ticks_of,
    with_nan,
)
from elsinore.trends.keyed import Doubles, Flags, Ints

NANOSECONDS = {"us": 1_000, "ns": 1}


@dataclass(slots=True, kw_only=True)
class ComparedColumns:
    """Attributes as predicates between two events read them, and the codes of constants there.

    `compared` keeps the order among attributes of one `Order`: doubles by rank, truth values 0 and
    1, times in the finest unit that one of them has (`unit`: us or ns), texts by the rank of all
    texts of all attributes in code point order. Exact numbers share an order: they are as they are
    where all fit 64 bits, else by the rank of all there are. Exact numbers and doubles have an
    order in common in rows of their own, made when first asked for; `rows` tells by which rows two
    attributes compare.

    Ranks are of these columns alone: whatever is compared with one another must be in them.
    """

    names: tuple[str, ...]
    orders: Mapping[str, Order]
    types: Mapping[str, pa.DataType]
    texts: pa.Array  # all texts there are, ascending
    wholes: Sequence[Exact] | None  # all exact numbers there are, ascending, if they go by rank
    compared: Ints  # [row of `rows`, event]
    known: Flags  # [row of `rows`, event] whether there is a value
    plain: Mapping[str, pa.Array]
    unit: str  # of times and durations
    # the number of the first event among all that came in turn, if codes are steady; None: unknown
    first: int | None = None
    made: Doubles | None = None  # `numbers`, if they are made

    @classmethod
    def of(
        cls, columns: Mapping[str, pa.Array], *, has_fine_lengths: bool = False
    ) -> ComparedColumns:
        """Read the columns of attributes, all of one length.

        has_fine_lengths: times are compared with constants that have parts of a microsecond.

        >>> found = ComparedColumns.of({"s": pa.array(["b", None, "a"]), "v": pa.array([1, 2, 3])})
        >>> found.compared.tolist(), found.known.tolist()
        ([[2, 0, 0], [1, 2, 3]], [[1, 0, 1], [1, 1, 1]])
        >>> found.text_code("b"), found.text_code("ab")
        (2, 1)
        """
        plain = {name: plain_of(column) for name, column in columns.items()}
        orders = {name: order_of(column.type) for name, column in plain.items()}
        count = len(next(iter(plain.values()))) if plain else 0
        texts = texts_of([plain[name] for name, order in orders.items() if order is Order.TEXT])
        exact, wholes = exact_codes({n: c for n, c in plain.items() if orders[n].is_exact})
        is_in_ns = has_fine_lengths or any(is_fine(column.type) for column in plain.values())
        unit = "ns" if is_in_ns else "us"
        compared = np.empty((len(plain), count), dtype=np.int64)
        known = np.empty((len(plain), count), dtype=np.uint8)
        for place, (name, column) in enumerate(plain.items()):
            order = orders[name]
            if order is Order.NUMBER:
                there = known[place].view(np.bool_)
                rank_doubles(with_nan(column), compared[place], there, one_zero=True)
                continue
            known[place] = to_numpy(column.is_valid())
            if order is Order.NONE:
                compared[place] = 0
                continue
            if order.is_exact:
                codes = exact[name]
            elif order is Order.TEXT:
                codes = pc.multiply(pc.index_in(column, texts).cast(pa.int64()), to_scalar(2))
            else:
                codes = steady_codes(name, column, order, unit)
            compared[place] = to_numpy(codes, 0)
        return cls(
            names=tuple(plain),
            orders=orders,
            types={name: column.type for name, column in plain.items()},
            texts=texts,
            wholes=wholes,
            compared=compared,
            known=known,
            plain=plain,
            unit=unit,
        )

    @property
    def numbers(self) -> Doubles:
        """The values of numbers [attribute, event], as the nearest doubles; else 0.

        They are made when first asked for: most predicates compare codes alone.
        """
        if self.made is None:
            self.made = np.zeros((len(self.names), self.compared.shape[1]))
            for place, (name, order) in enumerate(self.orders.items()):
                codes = self.compared[place]
                if order is Order.NUMBER:
                    self.made[place] = turned(codes).view(np.float64)
                elif order is Order.WHOLE and self.wholes is None:
                    self.made[place] = codes
                elif order.is_number:
                    self.made[place] = doubles_of(self.plain[name])
        return self.made

    @property
    def is_steady(self) -> bool:
        """Whether a value's code depends on no other value: `codes_of` tells it of some rows.

        >>> one, other = pa.array([1, 2]), pa.array([0.5, 2.0])
        >>> ComparedColumns.of({"v": one}).is_steady
        True
        >>> ComparedColumns.of({"v": one, "w": other}).is_steady  # compared, they go by rank
        False
        """
        orders = set(self.orders.values())
        return len(orders) <= 1 and orders <= STEADY

    def codes_of(
        self, name: str, column: pa.Array, chosen: Ints | None
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Return rows of `compared` and `known` for an attribute of steady columns.

        chosen: which rows of the column are read; None: all.
        """
        order = self.orders[name]
        if order is Order.NUMBER:
            doubles = with_nan(column)
            doubles = doubles if chosen is None else doubles[chosen]
            size = len(doubles)
            bits, there = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
            rank_doubles(doubles, bits, there, one_zero=True)
            return bits, there
        if chosen is not None:
            column = column.take(to_arrow(chosen))
        column = plain_of(column)
        known = to_numpy(column.is_valid())
        return to_numpy(steady_codes(name, column, order, self.unit), 0), known

    def with_rows(self, compared: Ints, known: Flags, first: int | None = None) -> ComparedColumns:
        """Return columns of the same types and steady codes, with other rows."""
        return replace(self, compared=compared, known=known, made=None, first=first)

    def without_rows(self) -> ComparedColumns:
        """Return columns of the same types that have no rows."""
        count = len(self.names)
        return replace(
            self,
            compared=self.compared[:count, :0].copy(),
            known=self.known[:count, :0].copy(),
            made=np.zeros((count, 0)),
            first=None,
            plain={name: column[:0] for name, column in self.plain.items()},
        )

    def take(self, rows: Ints) -> ComparedColumns:
        """Return the columns of some rows, in order.

        >>> columns = ComparedColumns.of({"v": pa.array([1, 2, 3])})
        >>> columns.take(np.array([2, 0])).compared.tolist()
        [[3, 1]]
        """
        if not self.names:
            return self
        return replace(
            self,
            compared=self.compared[:, rows],
            known=self.known[:, rows],
            made=None if self.made is None else self.made[:, rows],
            plain={name: column.take(to_arrow(rows)) for name, column in self.plain.items()},
        )

    def rows(self, current: str, previous: str) -> tuple[int, int]:
        """Return the rows of `compared` and `known` by which two attributes are compared.

        What cannot be compared is compared by a row that knows no value. `compared` and `known`
        may grow: look at them when all is asked.

        >>> ids = pa.array([2**53, 2**53 + 1])
        >>> found = ComparedColumns.of({"id": ids, "v": pa.array([2.0**53, 2.0**53])})
        >>> found.rows("id", "id")
        (0, 0)
        >>> [found.compared[row].tolist() for row in found.rows("id", "v")]
        [[0, 1], [0, 0]]
        """
        here, there = self.names.index(current), self.names.index(previous)
        first, second = self.orders[current], self.orders[previous]
        count = len(self.names)
        if (first.is_exact and second.is_exact) or (first is second and first is not Order.NONE):
            return here, there
        if len(self.compared) == count:
            self._put_in_common()
        if first.is_number and second.is_number:
            return count + here, count + there
        return 2 * count, 2 * count

    def need(self, row: int) -> None:
        """Have a row that `rows` told of columns of the same types."""
        if row >= len(self.compared) > 0:
            self._put_in_common()

    def _put_in_common(self) -> None:
        """Add a row for each attribute, in an order that all numbers have in common, and a last."""
        size = (len(self.names) + 1, self.compared.shape[1])
        codes, known = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.uint8)
        places = [place for place, name in enumerate(self.names) if self.orders[name].is_number]
        codes[places] = ranks_in_common(
            self.numbers[places],
            [excess_of(self.plain[self.names[place]], self.numbers[place]) for place in places],
        )
        known[places] = self.known[places]
        self.compared = np.concatenate((self.compared, codes))
        self.known = np.concatenate((self.known, known))

    def whole_code(self, number: int) -> int | None:
        """Return what a whole constant is compared as with exact numbers; None where it cannot be.

        >>> ComparedColumns.of({"id": pa.array([2, 2**63], pa.uint64())}).whole_code(2**63)
        2
        """
        if self.wholes is None:
            return number if -BOUND <= number < BOUND else None
        place = bisect.bisect_left(self.wholes, number)
        is_there = place < len(self.wholes) and self.wholes[place] == number
        return 2 * place if is_there else 2 * place - 1

    def length_code(self, nanoseconds: int) -> int:
        """Return a constant length of time in the unit of times and lengths."""
        return nanoseconds // NANOSECONDS[self.unit]

    def text_code(self, text: str) -> int:
        """Return what a text constant is compared as: odd where no attribute has that value."""
        ranks = range(len(self.texts))
        place = bisect.bisect_left(ranks, text, key=lambda rank: self.texts[rank].as_py())
        is_there = place in ranks and self.texts[place].as_py() == text
        return 2 * place if is_there else 2 * place - 1

    def time_code(self, name: str, text: str) -> int:
        """Return a constant that is compared with an attribute of times, in the unit of times.

        Raises InputError where it is none.
        """
        try:
            written = moment(text, self.types[name])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"A predicate compares '{name}' with '{text}', which is not a time. Write one as "
                "in '2024-01-31T12:00:00'."
            ) from error
        return int(ticks_of(name, to_arrow([written.value], written.type), self.unit)[0].as_py())


def keeps_codes(types: Iterable[pa.DataType]) -> bool:
    """Return whether attributes of these types are compared as the same numbers in every batch.

    Texts, decimals and numbers of different kinds go by their ranks in a batch.

    >>> keeps_codes([pa.float64(), pa.float32()]), keeps_codes([pa.float64(), pa.int64()])
    (True, False)
    """
    orders = {order_of(plain_of(to_arrow([], kind)).type) for kind in types}
    return orders.isdisjoint({Order.WIDE, Order.TEXT}) and not orders >= {Order.WHOLE, Order.NUMBER}
