"""Totals of closed windows as Arrow batches, and how they are added up.

A row has the totals of some keys of a group in one window of one query: the extended-range numbers
`cell<f>` and `power<f>` for each linear field, and for MIN and MAX `extreme<x>`, a rank (see
`elsinore.operators.ranks`), inverted for MAX; the greatest integer without values. `shift<k>` is
the shift of the deviations that have place k in `TrendUnit.squared`, in the turn of the window
(`elsinore.plan.epochs`).

Totals of one group from different tasks or keys may have different shifts. Before they are added
up, they are moved to the shift of the total with the most values: the group's mean is near it, or
the variance is large compared with rounding errors (`elsinore.numeric.spread`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.numeric import LIMB_BITS, add_runs
from elsinore.numeric.exact import Number, decode, encode
from elsinore.numeric.spread import moved_by
from elsinore.operators.order import rows_in_order
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Spread
from elsinore.plan.epochs import turn_of
from elsinore.trends.values import Doubles, Ints

PLACE = ("query", "group", "window")  # rows with equal values are added up


def totals_fields(unit: TrendUnit, *, exact: bool) -> pa.Schema:
    """Return the columns of a unit's totals."""
    fields = [("query", pa.int32()), ("group", pa.int32()), ("window", pa.int64())]
    for f in range(unit.linear):
        if exact:
            fields.append((f"digits{f}", pa.string()))
        else:
            fields += [(f"cell{f}", pa.float64()), (f"power{f}", pa.int32())]
    fields += [(f"extreme{x}", pa.int64()) for x in range(unit.extremes)]
    if not exact:
        fields += [(f"shift{k}", pa.float64()) for k in range(len(unit.squared))]
    return pa.schema(fields)


def merge(unit: TrendUnit, table: pa.Table, queries: Sequence[int] = ()) -> pa.Table:
    """Add up rows of one (query, group, window); return one row for each, in that order.

    `queries`: only rows of queries from the first to the last of these; by default all.
    """
    if queries:
        places = to_numpy(table.column("query"))
        of_queries = (places >= queries[0]) & (places <= queries[-1])
        table = table if of_queries.all() else table.filter(to_arrow(of_queries))
    table = table.combine_chunks()
    if table.num_rows < 2:
        return table
    order, same = rows_in_order([to_numpy(table.column(name)) for name in PLACE])
    if not same.any():
        return table if order is None else table.take(to_arrow(order))
    if order is None:
        order = np.arange(table.num_rows)
    starts = np.concatenate(([0], np.flatnonzero(~same) + 1, [len(order)]))
    if "shift0" in table.column_names:
        table = _with_one_shift(unit, table.take(to_arrow(order)), starts)
        order = np.arange(len(order))
    firsts = order[starts[:-1]]
    columns: dict[str, Any] = {n: to_numpy(table.column(n))[firsts] for n in PLACE}
    for name in table.column_names:
        if name.startswith("cell"):
            power = name.replace("cell", "power")
            cells, powers = to_numpy(table.column(name)), to_numpy(table.column(power))
            sums, sum_powers = np.empty(len(firsts)), np.empty(len(firsts), dtype=np.int32)
            add_runs(cells[order], powers[order], starts, sums, sum_powers)
            columns[name], columns[power] = sums, sum_powers
        elif name.startswith("digits"):
            numbers = [decode(text) for text in table.column(name).to_pylist()]
            columns[name] = [
                encode(sum(numbers[row] for row in order[start:stop]))
                for start, stop in itertools.pairwise(starts)
            ]
        elif name.startswith("extreme"):
            ordered = to_numpy(table.column(name))[order]
            columns[name] = np.minimum.reduceat(ordered, starts[:-1])
        elif name.startswith("shift"):
            columns[name] = to_numpy(table.column(name))[firsts]
    return pa.table([to_arrow(columns[name]) for name in table.column_names], schema=table.schema)


def _with_one_shift(unit: TrendUnit, totals: pa.Table, starts: Ints) -> pa.Table:
    """Return totals whose rows starts[r] to starts[r + 1] have the same shifts."""
    columns = {name: to_numpy(totals.column(name)) for name in totals.column_names}
    queries = columns["query"]
    run = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    for number, squared in enumerate(unit.squared):
        shift = columns[f"shift{number}"]
        if (shift == shift[starts[:-1]][run]).all():
            continue
        turns = turn_of(squared.window, columns["window"])
        spreads = {
            query: [
                part
                for part in unit.members[query].aggregation.spreads
                if part.attribute == squared.attribute and part.type in squared.types
            ]
            for query in np.unique(queries).tolist()
            if unit.members[query].query.window == squared.window
        }
        weights = np.full(len(shift), -np.inf)
        for query, several in spreads.items():
            for present in {part.fields[-1] for part in several}:
                count = columns[f"cell{present}"], columns[f"power{present}"]
                with np.errstate(divide="ignore", invalid="ignore"):  # of other queries: a sum
                    size = np.log2(count[0]) + LIMB_BITS * count[1].astype(np.float64)
                weights = np.where(queries == query, np.maximum(weights, size), weights)
        heaviest = np.lexsort((weights, run))[starts[1:] - 1]
        target = shift[heaviest][run]
        for query, several in spreads.items():
            moving = (queries == query) & (shift != target)
            for part in several:
                rows = np.flatnonzero(moving & (turns == part.turn))
                _move(columns, part.fields, rows, (shift - target)[rows])
        columns[f"shift{number}"] = target
    return pa.table([to_arrow(columns[name]) for name in totals.column_names], totals.schema)


def _move(
    columns: dict[str, NDArray[Any]], fields: tuple[int, int, int], rows: Ints, by: Doubles
) -> None:
    """Move the deviations of some rows to a shift that is less by `by`."""
    sums = [(columns[f"cell{field}"][rows], columns[f"power{field}"][rows]) for field in fields]
    for field, moved in zip(fields, moved_by(by, *sums), strict=False):
        for name, values in zip((f"cell{field}", f"power{field}"), moved, strict=True):
            columns[name] = columns[name].copy()
            columns[name][rows] = values


def from_means(unit: TrendUnit, query: int, sums: list[Number]) -> Iterator[tuple[int, float]]:
    """Move exact sums of deviations from 0 to those from the values' means, in all turns.

    Yields places in `unit.squared` and these means: of several, the one of most values.
    """
    member = unit.members[query]
    several: dict[int, list[Spread]] = {}
    for part in member.aggregation.spreads:
        place = unit.place(part.attribute, part.type, member.query.window)
        several.setdefault(place, []).append(part)
    for place, parts in several.items():
        first = [part for part in parts if part.turn == 0]
        most = max(first, key=lambda part: sums[part.fields[2]])
        _, total, count = (sums[field] for field in most.fields)
        shift = float(Fraction(total) / Fraction(count)) if count else 0.0
        by = Fraction(shift)
        moved = {}
        for part in first:
            squares, deviations, present = (sums[field] for field in part.fields)
            from_it = deviations - by * present
            moved[part.fields[2]] = squares - by * (deviations + from_it), from_it
        for part in parts:
            sums[part.fields[0]], sums[part.fields[1]] = moved[part.fields[2]]
        yield place, shift
