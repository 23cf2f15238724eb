"""Quantitative queries as a kind of query: planning, checking, results and explanations.

The engine is imported with the first query of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from elsinore.errors import QueryError, QuerySemanticError, raise_errors
from elsinore.model.query import PythonQuery, Query
from elsinore.model.schema import Schema
from elsinore.operators import (
    Kind,
    Operator,
    OperatorOptions,
    OperatorStatistics,
    ResultForm,
)
from elsinore.plan import Carried, Partition, PlanOptions, Travel, Unit
from elsinore.plan.classes import classes_of

if TYPE_CHECKING:
    from elsinore.quantitative.conditions import Conditions
    from elsinore.quantitative.operator import Spec
    from elsinore.quantitative.runnable import Chain, Keyed, Runnable

CHAIN = (
    "each query after the first reads the whole result of the query before it, and a live stream's "
    "result never ends. Run the first query live, and the others over its rows."
)
VALUE = "value"  # the column of values in results


class Quantitative(Kind):
    """Queries written in Python, with one value for each event at which they match."""

    name = "quantitative"

    def claims(self, query: Query) -> bool:
        """Return whether a query is written in Python."""
        return isinstance(query, PythonQuery)

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan each query as a unit."""
        del options
        errors: list[QueryError] = []
        units = []
        for number, query in queries:
            try:
                units.append(self._unit(number, query))
            except QueryError as error:
                error.query = query.name
                errors.append(error)
        raise_errors(errors)
        return units

    def _unit(self, number: int, query: Query) -> Unit:
        from elsinore.quantitative.target import resolved  # noqa: PLC0415 - the engine

        assert isinstance(query, PythonQuery)
        runnable, by, after = resolved(query)
        return unit_of(runnable, by, name=query.name, number=number, after=after)

    def knows_attributes(self, unit: Unit) -> bool:
        """Return False: functions may read any attribute of the events."""
        del unit
        return False

    def specialize(self, unit: Unit, types: Mapping[str, pa.DataType], *, declared: bool) -> Unit:
        """Return the unit with the columns that the query's functions read."""
        from elsinore.quantitative.operator import ITEM, SHOWN  # noqa: PLC0415 - the engine
        from elsinore.quantitative.regex import TYPE  # noqa: PLC0415
        from elsinore.quantitative.target import attributes_of, value_type  # noqa: PLC0415

        spec = spec_of(unit)
        attributes = attributes_of(spec.query)  # None: functions may read all
        items = tuple(name for name in types if attributes is None or name in attributes)
        item_types = tuple((name, _plain(types[name])) for name in items)
        value = value_type(spec.query, dict(item_types))
        if declared and value is None:
            raise QuerySemanticError(
                f"query {unit.names[0]}: the type of its values is unknown before it runs, and "
                "Spark needs it. Declare the return type of the last function, as in "
                "`def total(...) -> float`, or run with the local engine.",
                query=unit.names[0],
            )
        if attributes is None or TYPE in attributes:
            items = tuple(dict.fromkeys((*items, TYPE)))
        columns = [Carried(f"{ITEM}{name}", name, Travel.RAW) for name, _ in item_types]
        columns += _condition_columns(spec.conditions)
        if spec.shown is not None:
            columns.append(Carried(SHOWN, spec.shown[0], Travel.RAW))
        spec = replace(spec, items=items, types=item_types, value=value)
        return replace(unit, columns=tuple(columns), spec=spec)

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator."""
        from elsinore.quantitative.operator import QuantitativeOperator  # noqa: PLC0415

        return QuantitativeOperator(unit, options)

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator whose state was saved."""
        from elsinore.quantitative.operator import QuantitativeOperator  # noqa: PLC0415

        return QuantitativeOperator.load(unit, blob)

    def partials(self, unit: Unit, types: Mapping[str, pa.DataType]) -> Sequence[pa.Schema]:
        """Return the columns of an operator's output."""
        del types
        return [spec_of(unit).schema]

    def result(
        self,
        unit: Unit,
        query: int,
        groups: Sequence[pa.DataType],
        types: Mapping[str, pa.DataType],
    ) -> ResultForm:
        """Return the form of the result: the key's attributes, the event's time, the value."""
        del query, types
        spec = spec_of(unit)
        key_types = dict(zip(unit.group_by, groups, strict=True))
        fields = [(name, key_types[name]) for name in spec.by]
        times: dict[str, None] = {} if spec.shown is not None else {spec.called: None}
        fields += [(spec.called, spec.time), (VALUE, spec.value or pa.null())]
        return ResultForm(schema=pa.schema(fields), times=times)

    def finish(
        self,
        unit: Unit,
        query: int,
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return the result from operators' outputs."""
        from elsinore.quantitative.operator import decoded  # noqa: PLC0415 - the engine

        del query, types
        spec = spec_of(unit)
        partials = partials.combine_chunks()
        by_name = dict(zip(unit.group_by, groups, strict=True))
        codes = partials.column("group")
        columns = [by_name[name].take(codes) for name in spec.by]
        values = partials.column(VALUE)
        if spec.value is None:
            values = decoded(values)
        columns += [partials.column("time"), values]
        return pa.table(columns, names=[*spec.by, spec.called, VALUE])

    def after(self, unit: Unit) -> Callable[[Any], Any] | None:
        """Return a function that runs the other queries of a chain over the first one's values."""
        from elsinore.quantitative.runnable import after  # noqa: PLC0415 - the engine

        stages = spec_of(unit).after
        return partial(after, stages=stages) if stages else None

    def adds_up(self, unit: Unit) -> bool:
        """Return False: each value is a row of the result."""
        del unit
        return False

    def check(self, query: Query, schema: Schema) -> Iterator[QueryError]:
        """Yield the errors of a query's conditions and keys for events of a schema."""
        from elsinore.quantitative.check import errors  # noqa: PLC0415 - the engine

        spec = spec_of(self._unit(0, query))
        for error in errors(spec.conditions.parts, spec.by, schema):
            error.span, error.query = query.places.get("FROM", query.span), query.name
            yield error

    def open_windows(
        self,
        unit: Unit,
        last_time: int,
        statistics: OperatorStatistics | None,
    ) -> Sequence[int | None]:
        """Return zeros: every value is final at its event."""
        return [0] * len(unit.queries)

    def meaning(self, query: Query) -> str:
        """Return the query's combinators, predicates and functions by name, and its keys."""
        from elsinore.quantitative.fingerprint import fingerprint  # noqa: PLC0415 - the engine

        spec = spec_of(self._unit(0, query))
        return f"{fingerprint(spec.query.stages)} by {', '.join(spec.by)}"

    def streams(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return the query, with the reason, if it is a chain over the values of all keys."""
        return [(0, CHAIN)] if spec_of(unit).after else ()

    def warnings(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return warnings of rates that never match."""
        return [(0, text) for text in _complete(unit).warnings]

    def facts(self, unit: Unit) -> dict[str, Any]:
        """Return the query's expression tree, with rates."""
        return {"queries": [{"name": unit.names[0], "tree": _complete(unit).explain()}]}

    def lines(self, unit: Unit, facts: Mapping[str, Any]) -> Sequence[str]:
        """Return the expression tree as lines of text."""
        lines = []
        for query in facts["queries"]:
            lines.append(f"  {query['name']}: {self.name}")
            lines += [f"    {line}" for line in query["tree"].splitlines()]
        return lines


def unit_of(
    query: Runnable,
    by: tuple[str, ...],
    *,
    name: str,
    number: int = 0,
    after: tuple[Runnable | Keyed, ...] = (),
) -> Unit:
    """Return the unit of a query or pipeline with a stream for each value of the attributes `by`.

    Its values are the items of the queries `after`.
    """
    from elsinore.quantitative.conditions import Conditions  # noqa: PLC0415 - the engine
    from elsinore.quantitative.machine.predicates import bits_of  # noqa: PLC0415
    from elsinore.quantitative.operator import Spec  # noqa: PLC0415

    conditions = Conditions(bits_of(query.stages[0]))
    return Unit(
        kind=__name__,
        queries=(number,),
        names=(name,),
        types_of=(conditions.types,),
        partition=Partition(group_by=tuple(sorted(by))),
        classes=classes_of((kind, ()) for kind in conditions.types),
        columns=tuple(_condition_columns(conditions)),
        keeps_all=True,
        spec=Spec(query, by, conditions, after=after),
    )


def _condition_columns(conditions: Conditions) -> list[Carried]:
    """Return the columns of the truth values of a query's conditions."""
    from elsinore.quantitative.operator import PART  # noqa: PLC0415 - the engine

    return [Carried(f"{PART}{n}", part, Travel.RAW) for n, part in enumerate(conditions.parts)]


def spec_of(unit: Unit) -> Spec:
    """Return a unit's specification for its operators."""
    from elsinore.quantitative.operator import Spec  # noqa: PLC0415 - the engine

    assert isinstance(unit.spec, Spec)
    return unit.spec


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _complete(unit: Unit) -> Runnable | Keyed | Chain:
    """Return the query, with its keys and the other queries of a chain, that a unit runs."""
    from elsinore.quantitative.runnable import Chain, Keyed  # noqa: PLC0415 - the engine

    spec = spec_of(unit)
    first = Keyed(spec.query, spec.by) if spec.by else spec.query
    return Chain((first, *spec.after)) if spec.after else first


KIND = Quantitative()
