"""Derived columns: fields of structs, and SQL expressions over single events.

A query names fields with dots: `e.user.id` reads field `id` of column `user`. Fields become columns
before a run, unless a column has that name; so do expressions that SQL computes (`model.computed`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import no_table
from elsinore.errors import InputError
from elsinore.model import expression as ex
from elsinore.model.computed import ComputedName, columns_of
from elsinore.model.expression import Expression
from elsinore.model.query import Form, Query
from elsinore.runtime.user_functions import Function, apply, typed

FUNCTION = "__function_"  # prefix of the columns with results of user-defined functions


def derived_names(queries: Iterable[Query]) -> tuple[str, ...]:
    """Return the attributes of queries that may be derived columns: dotted, then computed names."""
    names: dict[str, None] = {}
    forms: set[Form] = set()  # queries of one form read the same attributes
    for query in queries:
        if query.form_instance is not None:
            if query.form_instance.form in forms:
                continue
            forms.add(query.form_instance.form)
        names |= dict.fromkeys([*query.equivalence, *query.group_by])
        for expression in query.expressions:
            for node in ex.walk(expression):
                if isinstance(node, ex.Attribute | ex.Column) and node.name is not None:
                    names[node.name] = None
    computed_names = [name for name in names if isinstance(name, ComputedName)]
    attributes = dict.fromkeys(attributes for name in names for attributes in columns_of(name))
    return (*(name for name in attributes if "." in name), *computed_names)


def fields_of(schema: pa.Schema, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the path of each name that is a field of a schema's structs.

    >>> user = pa.struct([("id", pa.int64())])
    >>> fields_of(pa.schema([("user", user), ("a.b", pa.int64())]), ["user.id", "a.b", "user.x"])
    {'user.id': ('user', 'id')}
    """
    paths: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name not in schema.names:
            path = _path(pa.struct(schema), name.split("."))
            if path is not None:
                paths[name] = path
    return paths


def _path(kind: pa.DataType, parts: list[str]) -> tuple[str, ...] | None:
    """Return the path of struct fields that dotted parts name; field names may contain dots."""
    if not pa.types.is_struct(kind):
        return None
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        if kind.get_field_index(name) < 0:
            continue
        if count == len(parts):
            return (name,)
        further = _path(kind.field(name).type, parts[count:])
        if further is not None:
            return (name, *further)
    return None


def computable(names: Iterable[str], columns: Collection[str]) -> list[ComputedName]:
    """Return the computed names whose attributes are all among `columns`."""
    available = set(columns)
    return [
        name
        for name in names
        if isinstance(name, ComputedName) and available.issuperset(columns_of(name))
    ]


def without_functions(
    expression: Expression, call: Callable[[Function, list[Expression]], str]
) -> Expression:
    """Replace calls of user-defined functions in an expression by columns.

    `call` evaluates a function for arguments without such calls and returns its column's name.
    """
    parts = [without_functions(part, call) for part in ex.children(expression)]
    if isinstance(expression, ex.Call) and expression.function is not None:
        name = call(expression.function, parts)
        return ex.Attribute("", name, span=expression.span)
    return ex.with_children(expression, tuple(parts))


def with_derived(table: pa.Table, names: Collection[str]) -> pa.Table:
    """Add a column to a table for each name that is a field of a struct or is computed.

    A field of a null struct is null. Computed names that read a missing column are skipped. Raises
    QuerySemanticError for SQL that is only computed by Spark.

    >>> table = pa.table({"user": [{"id": 7}, None]})
    >>> with_derived(table, ["user.id"])["user.id"].to_pylist()
    [7, None]
    """
    for name, path in fields_of(table.schema, names).items():
        column, *inner = path
        table = table.append_column(name, pc.struct_field(table.column(column), inner))
    computed_names = computable(names, table.column_names)
    if not computed_names:
        return table
    conflicting = set(computed_names).intersection(table.column_names)
    if conflicting:
        raise name_conflict(min(conflicting))
    from elsinore.runtime.sql.evaluation import evaluate_all  # noqa: PLC0415 - DuckDB, where needed

    with_results = table  # and a column per call of a user-defined function

    def call(function: Function, arguments: list[Expression]) -> str:
        nonlocal with_results
        columns = evaluate_all(dict(enumerate(arguments)), with_results)
        name = f"{FUNCTION}{with_results.num_columns}"
        result = apply(typed(function), list(columns.values()), with_results.num_rows)
        with_results = with_results.append_column(name, result)
        return name

    expressions = {str(name): without_functions(name.expression, call) for name in computed_names}
    for computed_name, column in evaluate_all(expressions, with_results).items():
        table = table.append_column(computed_name, column)
    return table


def name_conflict(name: str) -> InputError:
    """Return the error for a column of the events with the name of a computed value."""
    return InputError(f"The events have a column '{name}', which a query computes. Rename it.")


def schema_with_derived(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Return the schema of `with_derived`."""
    return with_derived(no_table(schema), names).schema
