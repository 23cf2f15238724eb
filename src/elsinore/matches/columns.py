"""The Arrow types of RETURN's columns, and of what operators give out."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from elsinore.matches.operands import Order, order_of
from elsinore.matches.registers import COMPUTED
from elsinore.matches.returns import Column, ColumnKind, is_windowed
from elsinore.matches.template import MatchTemplate
from elsinore.model import expression as ex


def column_type(column: Column, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the Arrow type of a column of RETURN, given the types of attributes."""
    match column.kind:
        case ColumnKind.VALUE:
            return attribute_type(column.attribute or "", types)
        case ColumnKind.LIST:
            return pa.list_(_listed_type(column.attribute or "", types))
        case ColumnKind.EVENTS:
            fields = [pa.field(name, _listed_type(name, types)) for name in column.fields]
            return pa.list_(pa.struct(fields))
        case ColumnKind.COUNT | ColumnKind.MATCH_NUMBER:
            return pa.int64()
        case ColumnKind.SUM:
            whole = order_of(attribute_type(column.attribute or "", types)) is Order.WHOLE
            return pa.int64() if whole else pa.float64()
        case _:
            return pa.bool_() if _is_truth(column.expression) else pa.float64()


def attribute_type(name: str, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type of an attribute's values; what is computed of an event is a double."""
    return pa.float64() if name.startswith(COMPUTED) else types[name]


def _listed_type(name: str, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type of an attribute's values in lists; Arrow cannot choose among untyped ones."""
    kind = attribute_type(name, types)
    return pa.float64() if pa.types.is_null(kind) else kind


def _is_truth(node: ex.Expression | None) -> bool:
    match node:
        case ex.Not() | ex.IsNull() | ex.InList() | ex.Literal(bool()):
            return True
        case ex.Binary(operator, _, _):
            return not operator.is_arithmetic
        case _:
            return False


def partial_schema(template: MatchTemplate, types: Mapping[str, pa.DataType]) -> pa.Schema:
    """Return the columns of what operators give out for a query: `c0`, ... are those of RETURN."""
    fields = [pa.field("query", pa.int32()), pa.field("group", pa.int32())]
    if is_windowed(template.query):
        fields.append(pa.field("window", pa.int64()))
    for number, column in enumerate(template.columns):
        fields.append(pa.field(f"c{number}", column_type(column, types)))
    return pa.schema(fields)
