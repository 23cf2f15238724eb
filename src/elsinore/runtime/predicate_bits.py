"""Bits of quantitative queries' predicates for rows of tables, and running queries over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import is_text, to_arrow, whole
from elsinore.errors import InputError, QuerySemanticError, did_you_mean
from elsinore.model import Schema
from elsinore.model import expression as ex
from elsinore.model.comparable import no_key
from elsinore.quantitative.conditions import truth
from elsinore.quantitative.machine.predicates import Bits, bits_of
from elsinore.quantitative.regex import TYPE, VALUE, Predicate
from elsinore.quantitative.rows import Runs, concatenated
from elsinore.quantitative.runnable import Runnable
from elsinore.runtime.classify import type_numbers

SLICE = 1 << 17  # rows that are run at a time: their columns stay in the processor's cache
SHARE = 4  # rows per stream in a slice, at least: each slice has a cost per stream


def attributes_read_by(query: Runnable, names: Sequence[str]) -> set[str]:
    """Return the attributes that a query's predicates read.

    Raises QuerySemanticError for an attribute that is not among the events' `names`.
    """
    attributes: set[str] = set()
    for leaf in bits_of(query.stages[0]).told:
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(names)):
            raise unknown(name, names, leaf.name)
        attributes |= reads
    return attributes


def bits(predicates: Bits, table: pa.Table) -> Any:
    """Return an array of the predicates' bits for each row of a table."""
    return PredicateBits.from_predicates(predicates).bits(table)


@dataclass(slots=True)
class PredicateBits:
    """Computes predicates' bits of rows; what depends only on the predicates is computed once.

    by_type: for each of the types `names`, and last for any other type, the bits of predicates that
    only compare the type with names.
    """

    leaves: tuple[_Leaf, ...]
    kind: Any
    names: tuple[str, ...]
    by_type: Any

    @classmethod
    def from_predicates(cls, predicates: Bits) -> PredicateBits:
        """Prepare the computation of predicates' bits."""
        leaves = tuple(
            _Leaf.from_predicate(leaf, 1 << place, predicates.kind)
            for place, leaf in enumerate(predicates.told)
        )
        type_leaves = [leaf for leaf in leaves if leaf.reads_only_type]
        names = sorted(
            {
                str(constant.value)
                for leaf in type_leaves
                for node in ex.walk(leaf.predicate.condition)
                for constant in (node.choices if isinstance(node, ex.InList) else (node,))
                if isinstance(constant, ex.Literal) and isinstance(constant.value, str)
            }
        )
        unknown = max(names, key=len, default="") + "?"
        each_once = {TYPE: to_arrow([*names, unknown])}
        table: Any = np.zeros(len(names) + 1, predicates.kind)
        for leaf in type_leaves:
            table = table + leaf.bits(each_once, len(names) + 1)
        return cls(leaves, predicates.kind, tuple(names), table)

    def bits(self, table: pa.Table) -> Any:
        """Return the bits of each row of a table.

        Raises QuerySemanticError for a missing attribute, InputError for rows without a type if a
        predicate reads the type.
        """
        columns: dict[str, pa.Array] = {}
        total: Any = None
        reads_types = False
        for leaf in self.leaves:
            for name in leaf.reads:
                if name not in columns:
                    columns[name] = _column(table, name, leaf.predicate)
            if leaf.reads_only_type and is_text(columns[TYPE].type):
                reads_types = True
                continue
            bits = leaf.bits(columns, table.num_rows)
            total = bits if total is None else total + bits
        if reads_types:
            types = columns[TYPE]
            type_bits = self.by_type[type_numbers(types, self.names).astype(np.intp)]
            return type_bits if total is None else total + type_bits
        return np.zeros(table.num_rows, self.kind) if total is None else total


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A predicate, its bit in arrays of a kind, and the attributes that it reads.

    reads_only_type: it only compares the type with names.
    """

    predicate: Predicate
    bit: int
    kind: Any
    reads: tuple[str, ...]
    reads_only_type: bool

    @classmethod
    def from_predicate(cls, leaf: Predicate, bit: int, kind: Any) -> _Leaf:
        reads = tuple(sorted({str(read.name) for read in ex.attributes(leaf.condition)}))
        reads_only_type = (
            reads == (TYPE,) and kind is not object and _compares_with_names(leaf.condition)
        )
        return cls(leaf, bit, kind, reads, reads_only_type)

    def bits(self, columns: Mapping[str, pa.Array], rows: int) -> Any:
        """Return the predicate's bit for rows where it is true, else 0."""
        holds = truth(self.predicate.condition, columns, rows).astype(self.kind)
        return holds if self.bit == 1 else holds * self.bit


def _column(table: pa.Table, name: str, leaf: Predicate) -> pa.Array:
    """Return a column that a predicate reads."""
    if name not in table.column_names:
        raise unknown(name, table.column_names, leaf.name)
    column = whole(table[name])
    if name == TYPE and column.null_count:
        number = column.null_count
        raise InputError(
            f"{number} {'event has' if number == 1 else 'events have'} no type, and "
            f"{leaf.name} reads it. Drop such events, or give them a type."
        )
    return column


def _compares_with_names(condition: ex.Expression) -> bool:
    """Return whether a condition on the type only compares it with names."""
    for node in ex.walk(condition):
        match node:
            case ex.Binary(ex.Operator.EQ | ex.Operator.NE, ex.Attribute(), ex.Literal(str())):
                continue
            case ex.Binary(ex.Operator.AND | ex.Operator.OR) | ex.Not() | ex.InList():
                continue
            case ex.IsNull(operand) if not isinstance(operand, ex.Attribute):
                continue
            case ex.Attribute() | ex.Literal():
                continue
            case _:
                return False
    return True


def run_rows(
    query: Runnable, table: pa.Table, codes: Any, count: int, *, compiled: bool
) -> tuple[Any, pa.Array]:
    """Run a query over rows, row i of stream `codes[i]`; return the rows with values, and these."""
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(query.machines, types, compiled=compiled, tell=bits)
    predicates = PredicateBits.from_predicates(runs.bits)
    in_slices = count == 1 or runs.is_compiled
    step = max(SLICE, SHARE * count) if in_slices else max(1, table.num_rows)
    places: list[Any] = [np.zeros(0, np.int64)]
    values: list[pa.Array] = []
    for begin in range(0, table.num_rows, step):
        part = table.slice(begin, step)
        run = runs.run(part, predicates.bits(part), codes[begin : begin + step], count)
        places.append(run.places + begin)
        values += [] if run.values is None else [run.values]
    return np.concatenate(places), concatenated(values)


def check_names(fields: Sequence[str], taken: Sequence[str]) -> None:
    """Raise QuerySemanticError if a field of values has the name of a column of keys or times."""
    for name in fields:
        if name in taken:
            raise QuerySemanticError(
                f"The values have a field '{name}', which is also the name of a key, or of the "
                "time, of the next query's items. Give the field another name."
            )


def check_by(by: Sequence[str], schema: Schema) -> None:
    """Raise QuerySemanticError if an attribute of keys is missing, or cannot be a key."""
    for name in by:
        kind = schema.kind(name)
        if kind is None:
            raise unknown(name, schema.names, "by")
        if name == VALUE:
            raise QuerySemanticError(
                f"by '{name}': the result's column of values has this name. Rename the attribute."
            )
        if (reason := no_key(kind)) is not None:
            raise QuerySemanticError(f"by '{name}': {reason}")


def unknown(name: str, names: Sequence[str], reader: str) -> QuerySemanticError:
    """Return the error for a name that `reader` reads and the events do not have."""
    quoted = name.startswith("'")
    constant = " If all events have one type, use the predicate qre.any." if quoted else ""
    return QuerySemanticError(
        f"{reader}: the events have no attribute '{name}'.{did_you_mean(name, names)} "
        f"Attributes: {', '.join(names)}.{constant}",
        choices=names,
    )
