"""A query's machine as a kernel over columns: one call takes a batch of items."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import types
from numba.core.errors import NumbaError
from numba.extending import intrinsic
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.quantitative.lowered.functions import (
    FILE,
    HOME,
    REASON,
    CannotCompile,
    as_named_tuple,
    attributes_read,
    captured,
    jitted,
)
from elsinore.quantitative.lowered.layout import (
    Fields,
    as_arrow,
    constant,
    fields,
    getter,
    put,
    read,
    type_of,
    write,
)
from elsinore.quantitative.lowered.records import can_be_field, record_class
from elsinore.quantitative.lowered.types import Types
from elsinore.quantitative.machine.emit import INDENT, Emitter, fresh
from elsinore.quantitative.machine.program import Bits, bits_of, emitted
from elsinore.quantitative.query import Atom, Constant, Iterate, MapCollect, Query, Window

Records = NDArray[Any]
MOST_PREDICATES = 62  # bits of the integer that tells of an item's predicates
KINDS = {
    **dict.fromkeys(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"], types.int64),
    **dict.fromkeys(["float", "double"], types.float64),
    "bool": types.boolean,
}
ARRAYS = {types.int64: np.int64, types.float64: np.float64, types.boolean: np.bool_}


@intrinsic  # type: ignore[untyped-decorator]
def some(_: Any, value: Any) -> Any:
    """Return an optional value that is there."""
    if not isinstance(value, types.Optional):
        return value(value), lambda context, builder, signature, given: given[0]

    def code(context: Any, builder: Any, _: Any, given: Any) -> Any:
        return context.cast(builder, given[0], value, value.type)

    return value.type(value), code


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A compiled machine. States are records, one for each stream that it runs.

    `columns` are the attributes that the query's functions read. `run` takes items `begin` to
    `stop`, item i of the stream `codes[i]`, writes after which of them there are values and which,
    and how far it came, also where it raises: into `progress`, items and values.
    """

    query: Query
    bits: Bits
    source: str
    columns: tuple[str, ...]
    variables: tuple[tuple[str, Any], ...]
    flags: frozenset[str]
    state_type: np.dtype[Any]
    value_type: Any
    output_type: np.dtype[Any]
    classes: Mapping[Any, type]
    run: Callable[..., int]
    unread: frozenset[int]  # atoms of the items whose value nobody reads

    def states(self, state: tuple[Any, ...], count: int) -> Records:
        """Return records of `count` streams, all in a state of the interpreter's machine."""
        found = np.zeros(count, self.state_type)
        if count:
            self.put(found, 0, state)
            found[:] = found[0]
        return found

    def put(self, states: Records, place: int, state: tuple[Any, ...]) -> None:
        """Write a state of the interpreter's machine to a record."""
        active = {
            name: bool(value)
            for (name, _), value in zip(self.variables, state, strict=True)
            if name in self.flags
        }
        for (name, kind), value in zip(self.variables, state, strict=True):
            if name in self.flags or active[name.partition("_")[0]]:
                put(states[place], name, kind, value)

    def state(self, record: Any) -> tuple[Any, ...]:
        """Return a record as a state of the interpreter's machine."""
        found: list[Any] = []
        for name, kind in self.variables:
            waiting = bool(record[name.partition("_")[0]])
            if name in self.flags:
                found.append(waiting)
            else:
                found.append(getter(name, kind, self.classes)(record) if waiting else None)
        return tuple(found)

    def readers(self, name: str) -> int | None:
        """Return the bits of the predicates of which an item is kept, or an attribute read.

        None where such an item need satisfy no predicate that has a bit.
        """
        told = {leaf.condition: 1 << place for place, leaf in enumerate(self.bits.told)}
        mask = 0
        for node in _nodes(self.query):
            if not isinstance(node, Atom) or id(node) in self.unread:
                continue
            if node.op is None or name in attributes_read([node.op]):
                if node.predicate.condition not in told:
                    return None
                mask |= told[node.predicate.condition]
        return mask

    @staticmethod
    def column(column: pa.Array) -> Any:
        """Return a column as the kernel reads it; nulls, which it must not read, as zeros."""
        kind = ARRAYS[KINDS[str(column.type)]]
        filled = column.fill_null(column.type.to_pandas_dtype()(0)) if column.null_count else column
        return np.ascontiguousarray(filled.to_numpy(zero_copy_only=False), dtype=kind)

    def values(self, outputs: Records) -> pa.Array:
        """Return the values of outputs as an Arrow array."""
        return as_arrow(outputs, "out", self.value_type)

    def no_values(self) -> Records:
        """Return outputs of no values."""
        return np.zeros(0, self.output_type)

    def python_values(self, outputs: Records) -> list[Any]:
        """Return the values of outputs as Python's."""
        get = getter("out", self.value_type, self.classes)
        return [get(record) for record in outputs]


def why_not(query: Query, schema: Mapping[str, pa.DataType] | None = None) -> str | None:
    """Return why a query is not compiled for attributes of these types, None where it is.

    Without a schema every attribute counts as a double.
    """
    if schema is None:
        used = attributes_read(value for node in _nodes(query) for value in _functions(node))
        schema = dict.fromkeys(sorted(used), pa.float64())
    try:
        _typed(query, schema)
    except CannotCompile as reason:
        return str(reason)
    return None


def value_of(query: Query, schema: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type of a query's values over items with such attributes.

    Raises CannotCompile where it is not compiled.
    """
    query, _, _, _, _, typing = _typed(query, schema)
    kind = typing.value(query)
    none = np.zeros(0, np.dtype([*fields("out", kind), ("nothing", "u1")]))
    return as_arrow(none, "out", kind).type


def lowered(query: Query, schema: Mapping[str, pa.DataType]) -> Lowered:
    """Compile a query for items with attributes of these types.

    Raises CannotCompile with the reason where it, or the types, cannot be.
    """
    query, bits, emitter, columns, kinds, typing = _typed(query, schema)
    source = emitter.source
    value_type = typing.value(query)
    names: dict[str, Any] = {"__name__": HOME, "Item": typing.item_class, "some": some}
    text = _source(emitter, typing, bits, columns, names, query)
    exec(compile(text, FILE, "exec"), names)
    body = names["run"]
    variables = tuple(
        (name, types.boolean if name in source.flags else typing.variables[name])
        for name in source.variables
    )
    layout: Fields = [pair for name, kind in variables for pair in fields(name, kind)]
    found = Lowered(
        query=query,
        bits=bits,
        source=text,
        columns=columns,
        variables=variables,
        flags=frozenset(source.flags),
        state_type=np.dtype([*layout, ("nothing", "u1")]),
        value_type=value_type,
        output_type=np.dtype([*fields("out", value_type), ("nothing", "u1")]),
        classes={as_named_tuple(kind): kind for kind in _dataclasses(query)},
        run=kernel(body),
        unread=frozenset(
            id(node)
            for node in emitter.nodes
            if isinstance(node, Atom) and node.op is None and not emitter.value_is_read(node)
        ),
    )
    _compile(found, kinds if columns else [])
    return found


_KEPT: dict[Any, tuple[Lowered, list[Any]]] = {}
MOST_KEPT = 32  # machines


def kept_machine(query: Query, schema: Mapping[str, pa.DataType]) -> Lowered:
    """Return what `lowered` does; once made, it is kept for the query's next run.

    What functions take from around them must be the same objects as then.
    """
    around = captured(value for node in _nodes(query) for value in _functions(node))
    columns = tuple((name, str(kind)) for name, kind in schema.items())
    key = (id(query), columns, tuple(map(id, around)))
    if key not in _KEPT:
        while len(_KEPT) >= MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = lowered(query, schema), [query, *around]  # these keep their identities
    return _KEPT[key][0]


def _typed(
    query: Query, schema: Mapping[str, pa.DataType]
) -> tuple[Query, Bits, Emitter, tuple[str, ...], list[Any], Types]:
    """Work out the types of all values; CannotCompile where a function stands in the way."""
    _refuse(query)
    bits = bits_of(query)
    if len(bits.told) > MOST_PREDICATES:
        raise CannotCompile(f"{len(bits.told)} predicates do not fit an integer's bits")
    query = fresh(query)
    emitter, _ = emitted(query, bits)
    used = attributes_read(
        value for node in emitter.nodes for value in _functions(node)
    ) | attributes_read(test for leaf in bits.asked for _, test in leaf.tests)
    columns = tuple(
        name
        for name, kind in schema.items()
        if name in used and str(kind) in KINDS and can_be_field(name)
    )
    item = record_class("Item", columns or ("nothing",))
    kinds = [KINDS[str(schema[name])] for name in columns] or [types.int64]
    typing = Types(emitter, types.NamedTuple(kinds, item))
    if _holds(typing.value(query), item):
        raise CannotCompile("the values hold whole items, which keep attributes of all types")
    typing.place(query, ())
    return query, bits, emitter, columns, kinds, typing


def _compile(found: Lowered, kinds: Sequence[Any]) -> None:
    """Compile the kernel, so that what cannot be is known before any item is taken."""
    try:
        found.run(
            np.zeros(1, found.state_type),
            np.zeros(0, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, found.output_type),
            np.zeros(0, np.int64),
            np.zeros(2, np.int64),
            0,
            0,
            *(np.zeros(0, ARRAYS[kind]) for kind in kinds),
        )
    except (NumbaError, TypeError, NotImplementedError) as error:
        raise CannotCompile(f"the machine: {' '.join(str(error).split())[:REASON]}") from error


def _source(
    emitter: Emitter,
    typing: Types,
    bits: Bits,
    columns: Sequence[str],
    names: dict[str, Any],
    query: Query,
) -> str:
    """Return the source of the kernel, and put what it refers to into `names`."""
    source = emitter.source
    emitter.item(2)
    body, source.lines[:] = list(source.lines), []
    lines = [
        "def run(S, bits, codes, O, P, progress, begin, stop"
        + "".join(f", c{n}" for n in range(len(columns)))
        + "):",
        f"{INDENT}n = 0",
    ]
    constants = {
        f"k{emitter.number(node)}": (
            (node.init, typing.value(node))
            if isinstance(node, Iterate)
            else (node.value, type_of(node.value))
        )
        for node in emitter.nodes
        if isinstance(node, Iterate | Constant)
    }
    for name, value in source.names.items():
        if name in constants:
            lines.append(f"{INDENT}{name} = {constant(*constants[name], names)}")
        else:
            names[name] = typing.kernel(value)
    for place, leaf in enumerate(bits.asked):
        if len(leaf.tests) != 1 or leaf.condition.name != leaf.tests[0][0]:  # type: ignore[union-attr]
            raise CannotCompile(f"the predicate {leaf.name} joins plain Python with conditions")
        names[f"p{place}"] = jitted(leaf.tests[0][1], typing.kernels)
    lines += [
        f"{INDENT}for i in range(begin, stop):",
        f"{INDENT * 2}r = S[codes[i]]",
        f"{INDENT * 2}b = bits[i]",
        f"{INDENT * 2}x = Item({', '.join(f'c{n}[i]' for n in range(len(columns))) or '0'})",
    ]
    for name in source.variables:
        kind = types.boolean if name in source.flags else typing.variables[name]
        lines.append(f"{INDENT * 2}{name} = {read('r', name, kind, names)}")
    lines += [f"{INDENT * 2}has = False", *body]
    for name in source.variables:
        kind = types.boolean if name in source.flags else typing.variables[name]
        lines += [INDENT * 2 + text for text in write("r", name, kind, name)]
    lines += [f"{INDENT * 2}if has:", f"{INDENT * 3}P[n] = i", f"{INDENT * 3}o = O[n]"]
    lines += [INDENT * 3 + text for text in write("o", "out", typing.value(query), "out")]
    lines += [
        f"{INDENT * 3}n += 1",
        f"{INDENT * 2}progress[0] = i + 1",
        f"{INDENT * 2}progress[1] = n",
        f"{INDENT}return n",
        "",
    ]
    return "\n".join(lines)


def _refuse(query: Query) -> None:
    """Raise CannotCompile for what has no compiled form."""
    match query:
        case MapCollect():
            raise CannotCompile("map_collect runs in Python; `by` is compiled")
        case Window():
            raise CannotCompile("sliding windows run in Python")
    for part in query.parts:
        _refuse(part)


def _nodes(query: Query) -> list[Query]:
    return [query, *(node for part in query.parts for node in _nodes(part))]


def _functions(node: Query) -> list[Any]:
    return [
        value
        for name in ("op", "step")
        if (value := getattr(node, name, None)) is not None and callable(value)
    ]


def _holds(kind: Any, item: Any) -> bool:
    if isinstance(kind, types.Optional):
        return _holds(kind.type, item)
    if isinstance(kind, types.BaseTuple):
        whole = isinstance(kind, types.BaseNamedTuple) and kind.instance_class is item
        return whole or any(_holds(part, item) for part in kind.types)
    return False


def _dataclasses(query: Query) -> set[type]:
    """Return the dataclasses that a query's constants and functions name."""
    found: set[type] = set()
    for function in _functions(query):
        scope = getattr(function, "__globals__", {})
        code = getattr(function, "__code__", None)
        for name in code.co_names if code is not None else ():
            value = scope.get(name)
            if isinstance(value, type) and dataclasses.is_dataclass(value):
                found.add(value)
    init = getattr(query, "init", None)
    if dataclasses.is_dataclass(init):
        found.add(type(init))
    for part in query.parts:
        found |= _dataclasses(part)
    return found
