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
from numpy.typing import NDArray

from elsinore.arrow import is_text, present, stored
from elsinore.kernels import is_kernel
from elsinore.kernels.decorator import compiled
from elsinore.kernels.means import shortcuts
from elsinore.model.garbage import without_garbage_collection
from elsinore.quantitative.approximate import CellAt
from elsinore.quantitative.folds import Counting
from elsinore.quantitative.lowered.code import Context
from elsinore.quantitative.lowered.columns import as_arrow, out_size
from elsinore.quantitative.lowered.emit import OF_HEAP, Compiled, constants
from elsinore.quantitative.lowered.functions import (
    FILE,
    HOME,
    REASON,
    CannotCompile,
    as_named_tuple,
    attributes_read,
    captured,
    jitted,
    texts_of,
)
from elsinore.quantitative.lowered.objects import LISTED
from elsinore.quantitative.lowered.records import can_be_field, record_class
from elsinore.quantitative.lowered.shapes import FRESH, FUNCTIONS
from elsinore.quantitative.lowered.texts import TEXT, Texts
from elsinore.quantitative.lowered.words import HELPERS, Dynamic, Ordered, read, size
from elsinore.quantitative.machine.evaluate import Program
from elsinore.quantitative.machine.layout import nodes_of
from elsinore.quantitative.machine.names import INDENT
from elsinore.quantitative.machine.predicates import FEW_TOLD, MOST_TOLD, Bits, bits_of
from elsinore.quantitative.nodes import Atom, MapCollect, Node, Window
from elsinore.quantitative.relations import Aggregate, Join, Project, Select

Words = NDArray[np.int64]
KINDS = {
    **dict.fromkeys(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"], types.int64),
    **dict.fromkeys(["float", "double"], types.float64),
    "bool": types.boolean,
}
ARRAYS = {
    types.int64: np.int64,
    types.float64: np.float64,
    types.boolean: np.bool_,
    TEXT: np.int64,  # their numbers
}
POINTERS = {
    types.int64: "words_at",
    types.float64: "doubles_at",
    types.boolean: "bytes_at",
    TEXT: "words_at",
}
READERS = ("op", "step", "key")  # what a node calls its functions, those of windows aside
ARRAYS_GIVEN = (  # then columns
    *("S", "H", "J", "T", "O", "X", "P", "progress", "taken"),
    *("codes", "idle", "bits"),
)
NOT_WORDS = {"codes": "codes_at", "idle": "bytes_at"}
IDLE_BITS = 1 << FEW_TOLD  # of which `idle` tells whether items with them change nothing


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A compiled machine, for items with some attributes, or for values of another machine.

    `columns` are the attributes that the query's functions read, `nullable` those of them that may
    be null. `run` takes the addresses of arrays (see `call`).
    """

    source: str
    columns: tuple[str, ...]
    nullable: frozenset[str]
    machine: Compiled
    shapes: Words
    run: Callable[..., int]
    classes: Mapping[Any, type]
    spelled_out: frozenset[str]  # the texts that functions know

    @property
    def program(self) -> Program:
        """What evaluates the same query in Python."""
        return self.machine.program

    @property
    def value(self) -> Any:
        """The type of the query's values."""
        return self.machine.value

    @property
    def has_objects(self) -> bool:
        """Whether there is more in the heap than nothing."""
        return len(self.machine.context.shapes.rows) > 1

    @property
    def words(self) -> int:
        """How many words a result has."""
        return out_size(self.value)

    def call(self, arrays: Sequence[Any], begin: int, stop: int) -> None:
        """Take items `begin` to `stop`, item i of the stream `codes[i]`.

        Writes after which of them there are values and which, and how far it came, also where it
        raises. The arrays are those of `ARRAYS_GIVEN`, then columns as `column` makes them.
        """
        if is_kernel(self.run):
            places = [array.__array_interface__["data"][0] for array in arrays]
            self.run(np.array(places, np.int64), begin, stop)
        else:
            self.run(arrays, begin, stop)

    def meets_null(self, name: str, bits: Any) -> bool:
        """Return whether a function may read an attribute of one of some items, by their bits."""
        predicates = self.program.bits
        bit = {leaf.condition: 1 << n for n, leaf in enumerate(predicates.told)}
        some, every = int(np.bitwise_or.reduce(bits)), int(np.bitwise_and.reduce(bits))
        places = [place for machine in _machines(self.machine) for place in machine.layout.places]
        for at in places:
            node = at.node
            if isinstance(node, Atom):
                reads = at.value_is_read if node.op is None else name in attributes_read([node.op])
                condition = node.predicate.condition
                if reads and (condition not in bit or some & bit[condition]):
                    return True
            elif isinstance(node, MapCollect):
                condition = node.sync.condition
                reads = name in attributes_read([node.key]) or name == _attribute(node.key)
                if reads and (condition not in bit or ~every & bit[condition]):
                    return True
        tests = attributes_read(test for leaf in predicates.asked for _, test in leaf.tests)
        return name in tests

    def column(self, name: str, column: pa.Array, texts: Texts) -> list[Any]:
        """Return a column as the kernel reads it: values, and which are there where some may not.

        The values in place of nulls are any: nobody reads them.
        """
        if is_text(column.type):
            arrays = [texts.numbers(column)]
        else:
            arrays = [np.ascontiguousarray(stored(column), dtype=ARRAYS[kind_of(column.type)])]
        if name in self.nullable:
            arrays.append(present(column))
        return arrays

    def values(self, outputs: Words, texts: Texts, entries: Words | None = None) -> pa.Array:
        """Return the values of outputs, a row of words each, as an Arrow array."""
        entries = np.zeros(0, np.int64) if entries is None else entries
        return as_arrow(outputs, self.value, entries, texts)

    def no_values(self) -> Words:
        """Return outputs of no values."""
        return np.zeros((0, self.words), np.int64)


def kind_of(kind: pa.DataType) -> Any:
    """Return the type that a column's values have in compiled code, None where they have none."""
    return TEXT if is_text(kind) else KINDS.get(str(kind))


def why_not(query: Node, schema: Mapping[str, pa.DataType] | None = None) -> str | None:
    """Return why a query is not compiled for attributes of these types, None where it is.

    Without a schema every attribute counts as a double, and keys as whole numbers.
    """
    return reasons((query,), schema)[0]


def reasons(
    stages: Sequence[Node], schema: Mapping[str, pa.DataType] | None = None
) -> list[str | None]:
    """Return, for each query of a pipeline, why it is not compiled, None where it is."""
    if schema is None:
        nodes = list(nodes_of(stages[0]))
        used = attributes_read(value for node in nodes for value in _functions(node))
        keys = {_attribute(node.key) for node in nodes if isinstance(node, MapCollect)} - {None}
        schema = dict.fromkeys(sorted(used), pa.float64()) | dict.fromkeys(keys, pa.int64())
    whys: list[str | None] = []
    value: Any = None
    for stage in stages:
        try:
            if whys:
                check_conditions(stage, value)
            program = Program.from_node(stage)
            machine, _ = _machine(program, None if whys else schema, frozenset(), value)
            value = as_item_type(machine.value) if stage is not stages[-1] else None
            whys.append(None)
        except CannotCompile as reason:
            return [*whys, str(reason)] + [f"stage {len(whys) + 1} does"] * (
                len(stages) - len(whys) - 1
            )
    return whys


def value_of(query: Node, schema: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type of a query's values over items with such attributes.

    Raises CannotCompile where it is not compiled.
    """
    machine, _ = _machine(Program.from_node(query), schema, frozenset())
    none = np.zeros((0, out_size(machine.value)), np.int64)
    return as_arrow(none, machine.value, none, Texts()).type


def lowered(
    program: Program,
    schema: Mapping[str, pa.DataType] | None,
    nullable: frozenset[str] = frozenset(),
    value: Any = None,
) -> Lowered:
    """Compile a query for items with attributes of these types, or that are values of a type.

    Raises CannotCompile with the reason where it, or the types, cannot be.
    """
    with without_garbage_collection():
        return _lowered(program, schema, nullable, value)


def _lowered(
    program: Program,
    schema: Mapping[str, pa.DataType] | None,
    nullable: frozenset[str],
    value: Any,
) -> Lowered:
    machine, columns = _machine(program, schema, nullable, value)
    context, query = machine.context, program.node
    text = _source(machine, program.bits, columns, nullable if value is None else None)
    names = context.names
    exec(compile(text, FILE, "exec"), names)
    lowered = Lowered(
        source=text,
        columns=columns,
        nullable=nullable & set(columns),
        machine=machine,
        shapes=context.shapes.array(),
        run=compiled(names["run"], borrows=True),
        classes={as_named_tuple(kind): kind for kind in _dataclasses(query)},
        spelled_out=context.spelled_out
        | texts_of(value for node in nodes_of(query) for value in _functions(node)),
    )
    _compile(lowered)
    return lowered


Kept = dict[Any, tuple[Lowered, list[Any]]]
MOST_KEPT = 8  # compiled machines of a query


def kept_machine(
    kept: Kept,
    program: Program,
    schema: Mapping[str, pa.DataType] | None,
    nullable: frozenset[str] = frozenset(),
    value: Any = None,
) -> Lowered:
    """Return what `lowered` does; store it in `kept` for the query's next run.

    What functions take from around them must be the same objects as then.
    """
    key, around = _key(program.node, schema, nullable, value)
    if key not in kept:
        while len(kept) >= MOST_KEPT:
            del kept[next(iter(kept))]
        machine = lowered(program, schema, nullable, value)
        kept[key] = machine, around  # these keep their identities
    return kept[key][0]


def as_item_type(value: Any) -> Any:
    """Return the type of values as that of another machine's items; CannotCompile for mappings."""
    if isinstance(value, Dynamic) or (
        isinstance(value, types.BaseTuple) and any(isinstance(v, Dynamic) for v in value.types)
    ):
        raise CannotCompile(f"a {value} is no item of compiled code")
    return value


def has_names(value: Any) -> bool:
    """Return whether conditions can be asked of values as items: plain ones, or with attributes."""
    value = value.type if isinstance(value, types.Optional) else value
    return value in ARRAYS or isinstance(value, types.BaseNamedTuple)


def check_conditions(query: Node, value: Any) -> None:
    """Raise CannotCompile where a query asks conditions of items that have no names for them."""
    predicates = bits_of(query).told
    if predicates and not has_names(value):
        raise CannotCompile(f"{predicates[0].name} is asked of a {value}, which has no attributes")


def is_kept(kept: Kept, query: Node, schema: Mapping[str, pa.DataType]) -> bool:
    """Return whether a query's machine for items with such attributes has been compiled."""
    return _key(query, schema, frozenset(), None)[0] in kept


def _key(query: Node, schema: Any, nullable: Any, value: Any) -> tuple[Any, list[Any]]:
    around = captured(function for node in nodes_of(query) for function in _functions(node))
    columns = tuple((name, str(kind)) for name, kind in (schema or {}).items())
    return (columns, nullable, value, tuple(map(id, around))), around


def _machine(
    program: Program,
    schema: Mapping[str, pa.DataType] | None,
    nullable: frozenset[str],
    value: Any = None,
) -> tuple[Compiled, tuple[str, ...]]:
    """Return a machine with the types of all values, and the columns that it reads.

    Raises CannotCompile where a function stands in the way.
    """
    if shortcuts() is None:
        raise CannotCompile("compiled code needs more of Numba than its documented means")
    if not FUNCTIONS:
        raise CannotCompile("Elsinore's own modules run uncompiled (ELSINORE_PURE)")
    bits = program.bits
    if len(bits.told) > MOST_TOLD:
        raise CannotCompile(f"{len(bits.told)} predicates do not fit an integer's bits")
    nodes = list(nodes_of(program.node))
    used = attributes_read(value for node in nodes for value in _functions(node))
    used |= attributes_read(test for leaf in bits.asked for _, test in leaf.tests)
    used |= {_attribute(node.key) for node in nodes if isinstance(node, MapCollect)} - {None}  # type: ignore[arg-type]
    columns = tuple(
        name
        for name, kind in (schema or {}).items()
        if name in used and kind_of(kind) is not None and can_be_field(name)
    )
    kinds: list[Any] = [kind_of((schema or {})[name]) for name in columns]
    given = [types.Optional(k) if n in nullable else k for n, k in zip(columns, kinds, strict=True)]
    if value is None:
        item = types.NamedTuple(
            given or [types.int64], record_class("Item", columns or ("nothing",))
        )
    else:
        item = value
    machine = Compiled(program, Context(_masks(bits), item), "S", None)
    if isinstance(machine.value, Ordered):
        raise CannotCompile(f"a {machine.value} is given out by Python")
    if value is None and _holds(machine.value, item):
        raise CannotCompile("the values hold whole items, which keep attributes of all types")
    return machine, columns


def _masks(bits: Bits) -> dict[Any, str]:
    """Return how the code of a machine asks whether a condition holds of the item `x`."""
    masks = {leaf.condition: f"b & {bits.mask(leaf)}" for leaf in bits.told}
    return masks | {leaf.condition: f"p{place}(x)" for place, leaf in enumerate(bits.asked)}


def _compile(lowered: Lowered) -> None:
    """Compile the kernel, so that what cannot be is known before any item is taken."""
    try:
        lowered.run.compile((types.Array(types.int64, 1, "C"), types.int64, types.int64))  # type: ignore[attr-defined]
    except (NumbaError, TypeError, NotImplementedError) as error:
        raise CannotCompile(f"the machine: {' '.join(str(error).split())[:REASON]}") from error


def _source(
    machine: Compiled,
    bits: Bits,
    columns: Sequence[str],
    nullable: frozenset[str] | None,
) -> str:
    """Return the source of the kernel, and put what it refers to into the context's names.

    nullable: the columns that may be null; None where items are values of another machine.
    """
    context = machine.context
    names = context.names
    names |= {"__name__": HOME, **HELPERS, **OF_HEAP}
    item, of_item = _item(context, columns, nullable)
    few = bits.kind is np.uint8
    arrays = [(name, NOT_WORDS.get(name, "words_at")) for name in ARRAYS_GIVEN[:-1]]
    arrays += [("bits", "bytes_at" if few else "words_at"), *of_item]
    words, lines = machine.record.words, context.lines
    machine.begin(3)
    start, lines[:] = list(lines), []
    machine.step(2)
    body, lines[:] = list(lines), []
    for place, leaf in enumerate(bits.asked):
        if len(leaf.tests) != 1 or leaf.condition.name != leaf.tests[0][0]:  # type: ignore[union-attr]
            raise CannotCompile(f"the predicate {leaf.name} joins plain Python with conditions")
        names[f"p{place}"] = jitted(leaf.tests[0][1], context.kernels)
    names |= {n: machine.types.kernel(value) for n, value in context.functions.items()}
    lines += [
        "def run(A, begin, stop):",
        *(f"{INDENT}{name} = {kind}(A, {n})" for n, (name, kind) in enumerate(arrays)),
        f"{INDENT}n = 0",
        f"{INDENT}spare = progress[5]",
        f"{INDENT}column = stop - begin",
        *(f"{INDENT}{text}" for text in constants(context)),
        f"{INDENT}for i in range(begin, stop):",
        f"{INDENT * 2}stream = codes[i]",
        f"{INDENT * 2}taken[stream] += 1",
        f"{INDENT * 2}b = bits[i]",
        f"{INDENT * 2}if idle[{'b' if few else f'b & {IDLE_BITS - 1}'}] != 0: continue",
        f"{INDENT * 2}r = stream * {words}",
        f"{INDENT * 2}progress[0] = i",
        f"{INDENT * 2}progress[1] = n",
    ]
    if context.shapes.rows[1:]:  # there may be objects
        lines += [
            f"{INDENT * 2}progress[3] = H[0]",
            f"{INDENT * 2}progress[4] = X[0]",
            f"{INDENT * 2}J[0] = {LISTED}",
            f"{INDENT * 2}s = progress[2] + i",
        ]
    lines.append(f"{INDENT * 2}S[spare] = S[r]")
    lines += [f"{INDENT * 2}S[spare + {word}] = S[r + {word}]" for word in range(1, words)]
    lines += [
        f"{INDENT * 2}if S[r] == {FRESH}:",
        *start,
        f"{INDENT * 2}x = {item}",
        f"{INDENT * 2}has = False",
        *body,
        f"{INDENT * 2}if has:",
        f"{INDENT * 3}P[n] = i",
        f"{INDENT * 3}n += 1",
        f"{INDENT}progress[0] = stop",
        f"{INDENT}progress[1] = n",
        f"{INDENT}return n",
        "",
    ]
    return "\n".join(lines)


def _item(
    context: Context, columns: Sequence[str], nullable: frozenset[str] | None
) -> tuple[str, list[tuple[str, str]]]:
    """Return the expression of an item, and its arrays: names, and what makes pointers of them."""
    arrays: list[tuple[str, str]] = []
    if nullable is None:
        arrays.append(("V", "words_at"))
        return read("V", f"i * {size(context.item)}", 0, context.item, context.names), arrays
    context.names["Item"] = context.item.instance_class
    fields = []
    for n, name in enumerate(columns):
        kind = context.item.types[n]
        kind = kind.type if isinstance(kind, types.Optional) else kind
        arrays.append((f"c{n}", POINTERS[kind]))
        value = {TEXT: f"text_of(c{n}[i])", types.boolean: f"(c{n}[i] != 0)"}.get(kind, f"c{n}[i]")
        if name in nullable:
            arrays.append((f"v{n}", "bytes_at"))
            fields.append(f"({value} if v{n}[i] != 0 else None)")
        else:
            fields.append(value)
    return f"Item({', '.join(fields) or '0'})", arrays


def _machines(machine: Compiled) -> list[Compiled]:
    return [machine, *(part for inner in machine.inner.values() for part in _machines(inner))]


def _functions(node: Node) -> list[Any]:
    functions = [value for name in READERS if callable(value := getattr(node, name, None))]
    if isinstance(node, Window):
        fold = node.window.fold
        functions += [
            f for f in (fold.step, fold.finish, fold.combine, fold.inverse) if f is not None
        ]
    return [plain for function in functions for plain in _written_out(function)]


def _written_out(function: Any) -> list[Any]:
    """Return the plain functions that stand in another one."""
    match function:
        case CellAt(value_of=inner) | Select(inner) | Project(inner) | Join(inner):
            return [inner]
        case Counting(cell=inner) if inner is not None:
            return [inner]
        case Aggregate(fold):
            return [fold.step] if fold.finish is None else [fold.step, fold.finish]
        case _:
            return [function]


def _attribute(key: Any) -> str | None:
    return getattr(key, "attribute", None)


def _holds(kind: Any, item: Any) -> bool:
    if isinstance(kind, Dynamic):
        return any(_holds(part, item) for part in (getattr(kind, "value", None),) if part)
    if isinstance(kind, types.Optional):
        return _holds(kind.type, item)
    if isinstance(kind, types.BaseTuple):
        whole = isinstance(kind, types.BaseNamedTuple) and kind == item
        return whole or any(_holds(part, item) for part in kind.types)
    return False


def _dataclasses(query: Node) -> set[type]:
    """Return the dataclasses that a query's constants and functions name."""
    classes: set[type] = set()
    for node in nodes_of(query):
        for function in _functions(node):
            scope = getattr(function, "__globals__", {})
            code = getattr(function, "__code__", None)
            for name in code.co_names if code is not None else ():
                value = scope.get(name)
                if isinstance(value, type) and dataclasses.is_dataclass(value):
                    classes.add(value)
        init = node.window.fold.init if isinstance(node, Window) and hasattr(
            node.window, "fold") else getattr(node, "init", None)  # fmt: skip
        if dataclasses.is_dataclass(init) and not isinstance(init, type):
            classes.add(type(init))
    return classes
