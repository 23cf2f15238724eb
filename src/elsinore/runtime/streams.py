"""Quantitative queries over tables: keys, and what is true of the rows' predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow, whole
from elsinore.errors import InputError, QuerySemanticError, did_you_mean
from elsinore.expressions.columns import evaluate
from elsinore.model import Schema
from elsinore.model import expression as ex
from elsinore.model.comparable import no_key
from elsinore.quantitative.buffers import is_text, present, stored
from elsinore.quantitative.machine.predicates import Bits, bits_of
from elsinore.quantitative.regex import TYPE, VALUE, Predicate
from elsinore.quantitative.rows import Runs, concatenated
from elsinore.quantitative.runnable import Runnable
from elsinore.runtime.classify import type_numbers

SLICE = 1 << 17  # rows that are run at a time: their columns stay in the processor's memory
SHARE = 4  # times as many rows as there are streams: each slice costs a little for each of them


def attributes_asked(query: Runnable, names: Sequence[str]) -> set[str]:
    """Return the attributes that a query's predicates ask for, of events that have `names`.

    Raises QuerySemanticError for one that they do not have.
    """
    attributes: set[str] = set()
    for leaf in bits_of(query.stages[0]).told:
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(names)):
            raise unknown(name, names, leaf.name)
        attributes |= reads
    return attributes


def bits(told: Bits, table: pa.Table) -> Any:
    """Return, as an array, what is true of each row of the predicates that have a bit."""
    return Teller.of(told).bits(table)


@dataclass(slots=True)
class Teller:
    """Tells what is true of rows: what depends on the predicates alone is worked out once.

    of_types: for each of the types `names`, and last for any other, the bits of those predicates
    that ask for nothing but which of them it is.
    """

    leaves: tuple[_Leaf, ...]
    kind: Any
    names: tuple[str, ...]
    of_types: Any

    @classmethod
    def of(cls, bits_of: Bits) -> Teller:
        """Return what tells of some predicates."""
        leaves = tuple(
            _Leaf.of(leaf, 1 << place, bits_of.kind) for place, leaf in enumerate(bits_of.told)
        )
        alike = [leaf for leaf in leaves if leaf.tells_type]
        names = sorted(
            {
                str(constant.value)
                for leaf in alike
                for node in ex.walk(leaf.predicate.condition)
                for constant in (node.choices if isinstance(node, ex.InList) else (node,))
                if isinstance(constant, ex.Literal) and isinstance(constant.value, str)
            }
        )
        unknown = max(names, key=len, default="") + "?"
        each_once = {TYPE: to_arrow([*names, unknown])}
        table: Any = np.zeros(len(names) + 1, bits_of.kind)
        for leaf in alike:
            table = table + leaf.bits(each_once, len(names) + 1)
        return cls(leaves, bits_of.kind, tuple(names), table)

    def bits(self, table: pa.Table) -> Any:
        """Return the bits of each row of a table.

        Raises QuerySemanticError for an attribute that it does not have, InputError for rows
        without a type where one is asked for.
        """
        columns: dict[str, pa.Array] = {}
        total: Any = None
        by_type = False
        for leaf in self.leaves:
            for name in leaf.reads:
                if name not in columns:
                    columns[name] = _column(table, name, leaf.predicate)
            if leaf.tells_type and is_text(columns[TYPE].type):
                by_type = True
                continue
            bits = leaf.bits(columns, table.num_rows)
            total = bits if total is None else total + bits
        if by_type:
            types = columns[TYPE]
            of_types = self.of_types[type_numbers(types, self.names).astype(np.intp)]
            return of_types if total is None else total + of_types
        return np.zeros(table.num_rows, self.kind) if total is None else total


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A predicate, its bit in arrays of a kind, and the attributes that it asks for.

    tells_type: whether it asks for nothing but whether the type is one of some names.
    """

    predicate: Predicate
    bit: int
    kind: Any
    reads: tuple[str, ...]
    tells_type: bool

    @classmethod
    def of(cls, leaf: Predicate, bit: int, kind: Any) -> _Leaf:
        reads = tuple(sorted({str(read.name) for read in ex.attributes(leaf.condition)}))
        tells = reads == (TYPE,) and kind is not object and _tells_names(leaf.condition)
        return cls(leaf, bit, kind, reads, tells)

    def bits(self, columns: Mapping[str, pa.Array], rows: int) -> Any:
        """Return the predicate's bit where it holds."""
        truth = _truth(self.predicate, columns, rows).astype(self.kind)
        return truth if self.bit == 1 else truth * self.bit


def _column(table: pa.Table, name: str, leaf: Predicate) -> pa.Array:
    """Return a column that a predicate asks for."""
    if name not in table.column_names:
        raise unknown(name, table.column_names, leaf.name)
    column = whole(table[name])
    if name == TYPE and column.null_count:
        number = column.null_count
        raise InputError(
            f"{number} {'event has' if number == 1 else 'events have'} no type, and "
            f"{leaf.name} asks for it. Drop such events, or give them a type."
        )
    return column


def _tells_names(condition: ex.Expression) -> bool:
    """Return whether a condition on the type asks only which of some names it is."""
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


def _truth(leaf: Predicate, columns: Mapping[str, pa.Array], rows: int) -> Any:
    verdict = evaluate(leaf.condition, columns)
    if isinstance(verdict, pa.Scalar):
        return np.full(rows, bool(verdict.as_py()))
    verdict = verdict.cast(pa.bool_())
    truth = stored(verdict)
    return truth & present(verdict) if verdict.null_count else truth


def run_rows(
    query: Runnable, table: pa.Table, codes: Any, count: int, *, compiled: bool
) -> tuple[Any, pa.Array]:
    """Run a query over rows, row i of the stream `codes[i]`; return where there are values."""
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(query.machines, types, compiled=compiled, tell=bits)
    tell = Teller.of(runs.bits)
    in_slices = count == 1 or runs.is_compiled
    step = max(SLICE, SHARE * count) if in_slices else max(1, table.num_rows)
    places: list[Any] = [np.zeros(0, np.int64)]
    values: list[pa.Array] = []
    for begin in range(0, table.num_rows, step):
        part = table.slice(begin, step)
        run = runs.run(part, tell.bits(part), codes[begin : begin + step], count)
        places.append(run.places + begin)
        values += [] if run.values is None else [run.values]
    return np.concatenate(places), concatenated(values)


def check_names(fields: Sequence[str], taken: Sequence[str]) -> None:
    """Raise QuerySemanticError where a field of values is called like a column of keys or times."""
    for name in fields:
        if name in taken:
            raise QuerySemanticError(
                f"The values have a field '{name}', and so is a key, or the time, of the next "
                "query's items called. Give the field another name."
            )


def check_by(by: Sequence[str], schema: Schema) -> None:
    """Raise QuerySemanticError if an attribute of keys is missing, or cannot be a key."""
    for name in by:
        kind = schema.kind(name)
        if kind is None:
            raise unknown(name, schema.names, "by")
        if name == VALUE:
            raise QuerySemanticError(
                f"by '{name}': so the query's values are called in the result. Give the attribute "
                "another name."
            )
        if (reason := no_key(kind)) is not None:
            raise QuerySemanticError(f"by '{name}': {reason}")


def unknown(name: str, names: Sequence[str], reader: str) -> QuerySemanticError:
    """Return the error that `reader` asks for a name that the events do not have."""
    quoted = name.startswith("'")
    constant = " A type of all events is no column: let predicates be qre.any." if quoted else ""
    return QuerySemanticError(
        f"{reader}: the events have no attribute '{name}'.{did_you_mean(name, names)} "
        f"Attributes: {', '.join(names)}.{constant}",
        choices=names,
    )
