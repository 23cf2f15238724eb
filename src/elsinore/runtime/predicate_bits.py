"""Bits of quantitative queries' predicates for rows of tables, and running queries over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import is_text, whole
from elsinore.errors import InputError, QuerySemanticError
from elsinore.expressions.columns import evaluate
from elsinore.model import expression as ex
from elsinore.quantitative.check import missing_attribute
from elsinore.quantitative.conditions import Conditions, true_in
from elsinore.quantitative.machine.batch import Values
from elsinore.quantitative.machine.predicates import Bits, bits_of
from elsinore.quantitative.regex import TYPE, Predicate
from elsinore.quantitative.runnable import Runnable
from elsinore.quantitative.streams import Streams, column_of
from elsinore.runtime.classify import type_numbers

SLICE = 1 << 17  # rows that are run at a time: their columns stay in the processor's cache


def attributes_read_by(query: Runnable, names: Sequence[str]) -> set[str]:
    """Return the attributes that a query's predicates read.

    Raises QuerySemanticError for an attribute that is not among the events' `names`.
    """
    attributes: set[str] = set()
    for leaf in bits_of(query.stages[0]).predicates:
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(names)):
            raise missing_attribute(name, names, leaf.name)
        attributes |= reads
    return attributes


def bits(predicates: Bits, table: pa.Table) -> Any:
    """Return an array of the predicates' bits for each row of a table."""
    return PredicateBits(predicates).bits(table)


class PredicateBits:
    """Computes predicates' bits of rows; what depends only on the predicates is computed once."""

    def __init__(self, predicates: Bits) -> None:
        self._leaves = predicates.predicates
        self._conditions = Conditions(predicates)
        self._readers = {
            str(read.name): leaf
            for leaf in reversed(self._leaves)
            for read in ex.attributes(leaf.condition)
        }

    def bits(self, table: pa.Table) -> Any:
        """Return the bits of each row of a table.

        Raises QuerySemanticError for a missing attribute, InputError for rows without a type if a
        predicate reads the type.
        """
        conditions, rows = self._conditions, table.num_rows
        columns = {name: _column(table, name, leaf) for name, leaf in self._readers.items()}
        classes = np.full(rows, -1)
        if conditions.types:
            if not is_text(columns[TYPE].type):
                columns_of = [
                    _condition_values(leaf.condition, columns, rows) for leaf in self._leaves
                ]
                truths = map(true_in, columns_of)
                return sum(t.astype(conditions.kind) << n for n, t in enumerate(truths))
            classes = type_numbers(columns[TYPE], conditions.types)
        parts = [_condition_values(part, columns, rows) for part in conditions.parts]
        return conditions.bits(classes, parts)


def _condition_values(
    condition: ex.Expression, columns: Mapping[str, pa.Array], rows: int
) -> pa.Array:
    """Return for each row whether a condition is true, null if that is unknown."""
    verdict = evaluate(condition, columns).cast(pa.bool_())
    return pa.repeat(verdict, rows) if isinstance(verdict, pa.Scalar) else verdict


def _column(table: pa.Table, name: str, leaf: Predicate) -> pa.Array:
    """Return a column that a predicate reads."""
    if name not in table.column_names:
        raise missing_attribute(name, table.column_names, leaf.name)
    column = whole(table[name])
    if name == TYPE and column.null_count:
        number = column.null_count
        raise InputError(
            f"{number} {'event has' if number == 1 else 'events have'} no type, and "
            f"{leaf.name} reads it. Drop such events, or give them a type."
        )
    return column


def run_rows(query: Runnable, table: pa.Table, codes: Any, count: int) -> tuple[Any, pa.Array]:
    """Run a query over rows, row i of stream `codes[i]`; return the rows with values, and these."""
    streams = Streams(query.programs)
    predicates = PredicateBits(streams.bits)
    places: list[Any] = [np.zeros(0, np.int64)]
    values: list[Values] = []
    for begin in range(0, table.num_rows, SLICE):
        part = table.slice(begin, SLICE)
        output = streams.run(part, predicates.bits(part), codes[begin : begin + SLICE], count)
        places.append(output.places + begin)
        values += output.values
    return np.concatenate(places), column_of(values)


def check_names(fields: Sequence[str], reserved: Sequence[str]) -> None:
    """Raise QuerySemanticError if a field of values has the name of a column of keys or times."""
    for name in fields:
        if name in reserved:
            raise QuerySemanticError(
                f"The values have a field '{name}', which is also the name of a key, or of the "
                "time, of the next query's items. Give the field another name."
            )
