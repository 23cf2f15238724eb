"""Quantitative queries over tables: keys, and what is true of the rows' predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.errors import InputError, QuerySemanticError, did_you_mean
from elsinore.model import expression as ex
from elsinore.quantitative.lowered import is_text
from elsinore.quantitative.machine.program import MOST_TOLD, Bits, bits_of
from elsinore.quantitative.pipeline import stages_of
from elsinore.quantitative.regex import TYPE, VALUE, Predicate
from elsinore.quantitative.rows import Runs, concatenated, whole
from elsinore.quantitative.runnable import Runnable
from elsinore.runtime.classify import type_numbers
from elsinore.runtime.expressions import evaluate

SLICE = 1 << 18  # rows that are run at a time: their columns stay in the processor's memory


def attributes_asked(query: Runnable, names: Sequence[str]) -> set[str]:
    """Return the attributes that a query's predicates ask for, of events that have `names`.

    Raises QuerySemanticError for one that they do not have.
    """
    asked: set[str] = set()
    for leaf in bits_of(stages_of(query)[0]).told:
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(names)):
            raise unknown(name, names, leaf.name)
        asked |= reads
    return asked


def bits(told: Bits, table: pa.Table) -> Any:
    """Return, as an array, what is true of each row of the predicates that have a bit."""
    columns: dict[str, pa.Array] = {}
    wide = len(told.told) > MOST_TOLD
    total: Any = np.zeros(table.num_rows, object if wide else np.int64)
    on_type: list[tuple[int, Predicate]] = []
    for place, leaf in enumerate(told.told):
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(columns)):
            if name not in table.column_names:
                raise unknown(name, table.column_names, leaf.name)
            columns[name] = whole(table[name])
            if name == TYPE and columns[name].null_count:
                number = columns[name].null_count
                raise InputError(
                    f"{number} {'event has' if number == 1 else 'events have'} no type, and "
                    f"{leaf.name} asks for it. Drop such events, or give them a type."
                )
        if reads == {TYPE} and not wide and is_text(columns[TYPE].type):
            on_type.append((place, leaf))
            continue
        truth = _truth(leaf, columns, table.num_rows)
        total |= truth.astype(total.dtype) << place if not wide else 0
        if wide:
            total = total + truth.astype(object) * (1 << place)
    if on_type:
        of_types = _type_bits(on_type, columns[TYPE])
        return of_types if len(on_type) == len(told.told) else total | of_types
    return total


def _type_bits(leaves: list[tuple[int, Predicate]], types: pa.Array) -> Any:
    """Return the bits of predicates on the type alone: once for each type, not for each event."""
    names = sorted(
        {
            str(constant.value)
            for _, leaf in leaves
            for node in ex.walk(leaf.condition)
            for constant in (node.choices if isinstance(node, ex.InList) else (node,))
            if isinstance(constant, ex.Literal) and isinstance(constant.value, str)
        }
    )
    if any(not _tells_names(leaf.condition) for _, leaf in leaves):
        whole = types.dictionary_decode() if pa.types.is_dictionary(types.type) else types
        found: Any = np.zeros(len(types), np.int64)
        for place, leaf in leaves:
            found |= _truth(leaf, {TYPE: whole}, len(types)).astype(np.int64) << place
        return found
    other = max(names, key=len, default="") + "?"
    each = {TYPE: pa.array([*names, other])}
    table: Any = np.zeros(len(names) + 1, np.int64)
    for place, leaf in leaves:
        table |= _truth(leaf, each, len(names) + 1).astype(np.int64) << place
    each_once = types if pa.types.is_dictionary(types.type) else types.dictionary_encode()
    return table[type_numbers(each_once.dictionary, names)][each_once.indices.to_numpy()]


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
    held = evaluate(leaf.condition, columns)
    if isinstance(held, pa.Scalar):
        return np.full(rows, bool(held.as_py()))
    return held.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)


def run_rows(
    query: Runnable, table: pa.Table, codes: Any, count: int, *, compiled: bool
) -> tuple[Any, pa.Array]:
    """Run a query over rows, row i of the stream `codes[i]`; return where there are values."""
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(query, types, compiled=compiled, tell=bits)
    step = SLICE if count == 1 else max(1, table.num_rows)
    places: list[Any] = [np.zeros(0, np.int64)]
    values: list[pa.Array] = []
    for begin in range(0, table.num_rows, step):
        part = table.slice(begin, step)
        found = runs.run(part, bits(runs.bits, part), codes[begin : begin + step], count)
        places.append(found.places + begin)
        values += [] if found.values is None else [found.values]
    return np.concatenate(places), concatenated(values)


def check_names(fields: Sequence[str], taken: Sequence[str]) -> None:
    """Raise QuerySemanticError where a field of values is called like a column of keys or times."""
    for name in fields:
        if name in taken:
            raise QuerySemanticError(
                f"The values have a field '{name}', and so is a key, or the time, of the next "
                "query's items called. Give the field another name."
            )


def check_by(
    by: Sequence[str], names: Sequence[str], kind_of: Callable[[str], pa.DataType]
) -> None:
    """Raise QuerySemanticError where an attribute of keys is not there, or cannot be one.

    names: the attributes that events have; kind_of: the type of one.
    """
    for name in by:
        if name not in names:
            raise unknown(name, names, "by")
        if name == VALUE:
            raise QuerySemanticError(
                f"by '{name}': so the query's values are called in the result. Give the attribute "
                "another name."
            )
        if pa.types.is_nested(kind_of(name)):
            raise QuerySemanticError(
                f"by '{name}': a struct, an array or a map cannot be a key. Key by an attribute "
                "that is a number or a text."
            )


def unknown(name: str, names: Sequence[str], reader: str) -> QuerySemanticError:
    """Return the error that `reader` asks for a name that the events do not have."""
    return QuerySemanticError(
        f"{reader}: the events have no attribute '{name}'.{did_you_mean(name, names)} "
        f"Attributes: {', '.join(names)}.",
        choices=names,
    )
