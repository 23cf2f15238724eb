"""Fields of structs as attributes: `e.user.id` reads field `id` of column `user`.

They become columns before a run, unless there is a column of the dotted name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.model import expression as ex
from elsinore.model.query import Form, Query


def names_with_dots(queries: Iterable[Query]) -> tuple[str, ...]:
    """Return the attributes with a dot in their names that queries read, each once."""
    names: dict[str, None] = {}
    forms: set[Form] = set()  # whose queries read the same attributes
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
    return tuple(name for name in names if "." in name)


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


def with_fields(table: pa.Table, names: Collection[str]) -> pa.Table:
    """Return a table with a column for each name that is a field of one of its structs.

    A field of a null struct is null.

    >>> table = pa.table({"user": [{"id": 7}, None]})
    >>> with_fields(table, ["user.id"])["user.id"].to_pylist()
    [7, None]
    """
    for name, path in fields_of(table.schema, names).items():
        column, *inner = path
        table = table.append_column(name, pc.struct_field(table.column(column), inner))
    return table


def schema_with_fields(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Return the schema of `with_fields`."""
    return with_fields(schema.empty_table(), names).schema
