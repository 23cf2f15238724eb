"""From an operator's totals to a query's result: its rows, and the columns of RETURN."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from elsinore.arrow import no_table, to_arrow, to_numpy
from elsinore.expressions.length_sums import (
    LIMIT,
    exact_length_averages,
    length_averages,
    length_sums,
    length_type,
)
from elsinore.expressions.lengths import is_length
from elsinore.model.expression import Column
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.numeric import log2, ratio, to_double
from elsinore.numeric.exact import Number, decode, digits
from elsinore.numeric.spread import Extended, exact_spread, spread
from elsinore.operators import ResultForm
from elsinore.operators.kind import QUERY
from elsinore.operators.order import in_order, ranks
from elsinore.operators.ranks import from_ranks
from elsinore.plan import TrendUnit, Unit
from elsinore.plan.aggregates import SPREAD, Aggregation, FieldKind, Outcome, ResultColumn
from elsinore.plan.epochs import turn_of, turns_of
from elsinore.plan.trends import once_per_unit
from elsinore.trends.partials import merge, totals_fields
from elsinore.trends.values import FOREVER, Ints

DECIMAL_LIMIT = 10**38  # the first whole number that decimal(38, 0) does not hold
AT_ONCE = 2**14  # rows whose variances are computed at once: they fit the processor's cache


@once_per_unit
def families(spec: TrendUnit) -> list[list[int]]:
    """Return lists of the places of queries whose results have the same columns and windows."""
    by_form: dict[Hashable, list[int]] = {}
    for place, member in enumerate(spec.members):
        query, aggregation = member.query, member.aggregation
        form = (
            query.window,
            tuple((name, group_column(query, name)) for name in query.group_by),
            aggregation.columns,
            tuple(extreme.kind for extreme in aggregation.extremes),
        )
        by_form.setdefault(form, []).append(place)
    return list(by_form.values())


def family_table(
    unit: Unit,
    spec: TrendUnit,
    family: Sequence[int],
    totals: pa.Table,
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
) -> pa.Table:
    """Return the results of queries of one family: their places, groups, windows and aggregates.

    `totals` are the outputs of the unit's operators for these queries, in any order and pieces,
    and perhaps for queries before the first or behind the last of them; `groups` the values of the
    unit's grouping attributes by group code; `types` the types of the attributes. Bounds of windows
    are int64 like times, null without WITHIN. Rows are in the order of queries, groups and windows.
    """
    groups, totals = _ranked(groups, totals)
    totals = merge(spec, totals, family).combine_chunks()
    template = spec.members[family[0]]
    query = template.query
    by_name = dict(zip(unit.group_by, groups, strict=True))
    codes = totals.column("group")
    columns = {QUERY: totals.column("query")}
    columns |= {group_column(query, name): by_name[name].take(codes) for name in query.group_by}
    bounds: Sequence[pa.Array] = [pa.nulls(totals.num_rows, pa.int64())] * 2
    if query.window is not None:
        bounds = list(map(to_arrow, query.window.bounds(to_numpy(totals.column("window")))))
    columns |= dict(zip(("window_start", "window_end"), bounds, strict=True))
    columns |= _result_columns(template.aggregation, query.window, totals, types)
    return pa.table(columns)


def _ranked(groups: Sequence[pa.Array], totals: pa.Table) -> tuple[Sequence[pa.Array], pa.Table]:
    """Number groups in the order of their values, if that is less work than sorting the result.

    Rows merged in the order of group codes are then in the order of the result.
    """
    if not groups or totals.num_rows < len(groups[0]):
        return groups, totals
    values = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in groups
    ]
    if in_order(values):
        return groups, totals
    order, places = ranks(values)
    codes = to_arrow(places[to_numpy(totals.column("group"))])
    place = totals.column_names.index("group")
    ranked = totals.set_column(place, totals.schema.field("group"), codes)
    return [column.take(order) for column in groups], ranked


def result_form(
    unit: Unit,
    spec: TrendUnit,
    number: int,
    group_types: Sequence[pa.DataType],
    types: Mapping[str, pa.DataType],
) -> ResultForm:
    """Return the columns of a query's result, and how its rows are sorted."""
    query = spec.members[number].query
    order = [group_column(query, name) for name in query.group_by]
    columns = spec.members[number].aggregation.columns
    if spec.exact or any(
        column.outcome is Outcome.EXTREME or is_length(types.get(column.attribute or "", pa.null()))
        for column in columns
    ):
        totals = no_table(totals_fields(spec, exact=spec.exact))
        groups = [pa.nulls(0, kind) for kind in group_types]
        schema = family_table(unit, spec, [number], totals, groups, types).schema.remove(0)
    else:
        kinds = dict(zip(unit.group_by, group_types, strict=True))
        fields = {group_column(query, name): kinds[name] for name in query.group_by}
        fields |= {"window_start": pa.int64(), "window_end": pa.int64()}
        schema = pa.schema(fields | {column.name: pa.float64() for column in columns})
    return ResultForm(
        schema=schema,
        times={"window_start": query.window, "window_end": query.window},
        order=(*order, "window_start"),
    )


def group_column(query: Query, name: str) -> str:
    """Return the name of a grouping attribute in the result: its alias if RETURN has one."""
    for item in query.returns:
        if isinstance(item.expression, Column) and item.expression.name == name and item.alias:
            return item.alias
    return name


def _result_columns(
    aggregation: Aggregation,
    window: Window | None,
    totals: pa.Table,
    types: Mapping[str, pa.DataType],
) -> dict[str, pa.Array]:
    """Return a query's result columns by name from its merged totals, row by row.

    `window`: the query's. `types` gives the attributes' types. Counts and sums are doubles,
    infinite beyond a double's range; SUM, AVG, MIN and MAX of nothing are null, as in SQL. From
    exact totals, counts and sums of whole numbers are decimal(38, 0), with a column `<name>_digits`
    beside them that has the digits of those that do not fit and are null there.
    """
    exact = "digits0" in totals.column_names
    columns: dict[str, pa.Array] = {}
    for column in aggregation.columns:
        field = column.fields[0]
        if column.outcome is Outcome.EXTREME:
            greatest = aggregation.extremes[field].kind is FieldKind.GREATEST
            ranks, edges = (to_numpy(totals.column(f"extreme{x}")) for x in column.fields)
            is_null = (ranks == FOREVER) & (edges == FOREVER)  # an edge is 0 for the rank FOREVER
            kind = types[column.attribute or ""]
            columns[column.name] = from_ranks(~ranks if greatest else ranks, is_null, kind)
        elif exact:
            columns |= _exact_columns(column, totals, types)
        else:
            columns[column.name] = _column(column, window, totals, types)
    return columns


def _column(
    column: ResultColumn,
    window: Window | None,
    totals: pa.Table,
    types: Mapping[str, pa.DataType],
) -> pa.Array:
    sums = [
        (to_numpy(totals.column(f"cell{field}")), to_numpy(totals.column(f"power{field}")))
        for field in column.fields
    ]
    if column.outcome.is_spread:
        indices = to_numpy(totals.column("window"))
        parts = [slice(n, n + AT_ONCE) for n in range(0, max(1, len(indices)), AT_ONCE)]
        return pa.concat_arrays(
            [
                _spreads(
                    column.outcome, window, indices[part], [(a[part], b[part]) for a, b in sums]
                )
                for part in parts
            ]
        )
    (cells, powers), *below = sums
    if column.outcome is Outcome.LOG2:
        return to_arrow(log2(cells, powers))
    if column.outcome is Outcome.COUNT:
        return to_arrow(to_double(cells, powers))
    under, under_powers = below[0]
    nothing = under == 0.0
    kind = types[column.attribute or ""]
    if is_length(kind):
        ticks, counts = to_double(cells, powers), to_double(under, under_powers)
        if column.outcome is Outcome.SUM:
            return length_sums(column.name, ticks, counts, kind)
        quotients = ratio(cells, powers, under, under_powers)
        return length_averages(ticks, counts, quotients, kind)
    if column.outcome is Outcome.SUM:
        return to_arrow(to_double(cells, powers), mask=nothing)
    return to_arrow(ratio(cells, powers, under, under_powers), mask=nothing)


def _spreads(
    outcome: Outcome, window: Window | None, indices: Ints, sums: list[Extended]
) -> pa.Array:
    """Return variances, or their roots, of windows given by their indices, from sums of turns."""
    chosen_sums, turns = sums[: len(SPREAD)], turn_of(window, indices)
    for turn in range(1, turns_of(window)):
        for field in range(len(SPREAD) - 1):  # the number of values is that of all turns
            first, of_turn = chosen_sums[field], sums[len(SPREAD) * turn + field]
            chosen = turns == turn
            chosen_sums[field] = (
                np.where(chosen, of_turn[0], first[0]),
                np.where(chosen, of_turn[1], first[1]),
            )
    return spread(*chosen_sums, of_sample=outcome.of_sample, is_root=outcome.is_root)


def _exact_columns(
    column: ResultColumn, totals: pa.Table, types: Mapping[str, pa.DataType]
) -> dict[str, pa.Array]:
    numbers, *below = (
        [decode(text) for text in totals.column(f"digits{field}").to_pylist()]
        for field in column.fields[: len(SPREAD)]
    )
    if column.outcome is Outcome.LOG2:
        return {column.name: to_arrow([math.log2(number) for number in numbers], pa.float64())}
    if column.outcome.is_spread:
        of_sample, is_root = column.outcome.of_sample, column.outcome.is_root
        spreads = [
            exact_spread(*sums, of_sample=of_sample, is_root=is_root)
            for sums in zip(numbers, *below, strict=True)
        ]
        return {column.name: to_arrow(spreads, pa.float64())}
    kind = types[column.attribute or ""] if column.attribute else pa.null()
    if column.outcome is Outcome.AVG and is_length(kind):
        return {column.name: exact_length_averages(numbers, below[0], kind)}
    if column.outcome is Outcome.AVG:
        averages = [
            _double(Fraction(over, under)) if under else None
            for over, under in zip(numbers, below[0], strict=True)
        ]
        return {column.name: to_arrow(averages, pa.float64())}
    known: list[Number | None] = list(numbers)
    if column.outcome is Outcome.SUM:
        known = [n if under else None for n, under in zip(known, below[0], strict=True)]
        if is_length(kind):
            of_type = length_type(kind)
            return _with_digits(
                column.name, known, LIMIT, lambda ticks: to_arrow(ticks, pa.int64()).cast(of_type)
            )
        if not pa.types.is_integer(kind):
            sums = [None if number is None else _double(number) for number in known]
            return {column.name: to_arrow(sums, pa.float64())}
    return _with_digits(
        column.name, known, DECIMAL_LIMIT, lambda whole: to_arrow(whole, pa.decimal128(38, 0))
    )


def _with_digits(
    name: str,
    numbers: Sequence[Number | None],
    limit: int,
    array_of: Callable[[list[int | None]], pa.Array],
) -> dict[str, pa.Array]:
    """Return whole numbers below a limit as a column, beside one with the digits of the others."""
    whole = [None if number is None else int(number) for number in numbers]
    fits = [number is None or -limit < number < limit for number in whole]
    small = [number if fit else None for number, fit in zip(whole, fits, strict=True)]
    texts = [
        None if fit or number is None else digits(number)
        for number, fit in zip(whole, fits, strict=True)
    ]
    return {name: array_of(small), f"{name}_digits": to_arrow(texts, pa.string())}


def _double(number: Number) -> float:
    """Return the nearest double, infinite beyond a double's range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
