"""The Arrow types of RETURN's columns, and of partial outputs."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from elsinore.expressions.columns import type_of
from elsinore.matches.returns import Column, ColumnKind, is_windowed
from elsinore.matches.template import MatchTemplate
from elsinore.matches.values import expression_type


def column_type(
    column: Column, template: MatchTemplate, types: Mapping[str, pa.DataType]
) -> pa.DataType:
    """Return the Arrow type of a column of RETURN, given the types of attributes."""
    types = types_with_computed(template, types)
    match column.kind:
        case ColumnKind.VALUE:
            return types[column.attribute or ""]
        case ColumnKind.LIST:
            return pa.list_(_listed_type(column.attribute or "", types))
        case ColumnKind.EVENTS:
            fields = [pa.field(name, _listed_type(name, types)) for name in column.fields]
            return pa.list_(pa.struct(fields))
        case ColumnKind.COUNT | ColumnKind.MATCH_NUMBER:
            return pa.int64()
        case _:
            assert column.expression is not None
            return expression_type(column.expression, template.registers, types)


def types_with_computed(
    template: MatchTemplate, types: Mapping[str, pa.DataType]
) -> Mapping[str, pa.DataType]:
    """Return the types of attributes, and of values computed from single events."""
    if not template.computed:
        return types
    unknown = ((name, how) for name, how in template.computed if name not in types)
    return {**types} | {name: type_of(how, types) for name, how in unknown}


def _listed_type(name: str, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type of an attribute's values in lists; Arrow cannot choose among untyped ones."""
    kind = types[name]
    return pa.float64() if pa.types.is_null(kind) else kind


def partial_schema(template: MatchTemplate, types: Mapping[str, pa.DataType]) -> pa.Schema:
    """Return the schema of a query's partial outputs: columns `c0`, ... are those of RETURN."""
    fields = [pa.field("query", pa.int32()), pa.field("group", pa.int32())]
    if is_windowed(template.query):
        fields.append(pa.field("window", pa.int64()))
    for number, column in enumerate(template.columns):
        fields.append(pa.field(f"c{number}", column_type(column, template, types)))
    return pa.schema(fields)
