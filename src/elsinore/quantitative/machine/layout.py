"""A query's nodes, each in its place: what an item goes through, in what order, and what is read.

The paper's algorithm (StreamQRE, Section 4, Figures 3 and 4) keeps at each atom the stack of values
with which the thread that waits there was started. What lies on that stack is known from the query
alone: the values of the earlier parts of each `split` around the atom that its function reads, and
the accumulator of each `iterate`. So a state is, for each atom, its stack or None.
"""

from __future__ import annotations

import dis
import functools
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from elsinore.quantitative.functions import Key, left, right, unit
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Node,
    Split,
    Window,
    shortly,
    without_value,
)
from elsinore.quantitative.regex import name_of, predicates
from elsinore.quantitative.windows import WindowState


@dataclass(slots=True, eq=False)
class Place:
    """A node in its place of the tree: a node that is used twice has two.

    number: in the order of the text; part: which part of its parent; below: the places that gave
    the values on a thread's stack below the node's own: earlier parts of a `split`, and nodes
    around this one, of which it is the accumulator, the window's values, or the keys;
    function: the node's, if it calls one, and which of its
    arguments it `reads`, None for all; atom: the number of an atom among all atoms, else -1;
    kept: of a `split`, whether the value of each part but the last is kept for the function;
    finish: as a place in `Layout.order`, when all atoms below the node have taken the item.
    """

    node: Node
    number: int
    parent: Place | None
    part: int
    below: tuple[Place, ...]
    function: Any = None
    reads: tuple[bool, ...] | None = None
    atom: int = -1
    kept: tuple[bool, ...] = ()
    parts: list[Place] = field(default_factory=list)
    finish: int = -1

    @property
    def depth(self) -> int:
        """The number of values on a thread's stack below the node's own."""
        return len(self.below)

    @property
    def window(self) -> WindowState:
        """The window of a node that is one."""
        assert isinstance(self.node, Window)
        return self.node.window

    @property
    def value_is_read(self) -> bool:
        """Whether the node's value may make a difference to the whole query's."""
        match None if self.parent is None else self.parent.node:
            case Split(parts, op) | Combine(parts, op):
                return reads(op, self.part, len(parts))
            case Iterate(_, _, step):
                return reads(step, 1, 2)
            case _:
                return True


class Layout:
    """The places of a query's nodes.

    order: the places that an item is given to, one after another: an atom takes it; any other place
    stands after all that is below it, and threads that ended there go on. The later parts of a
    `split` come before the earlier ones: a thread that ends starts others only at atoms that have
    taken the item already, so that stacks are changed in place.
    """

    def __init__(self, node: Node) -> None:
        self.places: list[Place] = []
        self.atoms: list[Place] = []
        self.order: list[Place] = []
        self.collectors: list[tuple[Place, tuple[int, ...]]] = []  # with the atoms of their rates
        self.root = self._place(node, None, 0, ())
        self._put_in_order(self.root)

    def _place(
        self, node: Node, parent: Place | None, part: int, below: tuple[Place, ...]
    ) -> Place:
        """Give a node its place; `below` are those that give the values on its stack."""
        place = Place(node, len(self.places), parent, part, below, *_function(node))
        self.places.append(place)
        match node:
            case Atom():
                place.atom = len(self.atoms)
                self.atoms.append(place)
            case Split(pieces, op):
                count = len(pieces)
                place.kept = tuple(
                    reads(op, n, count) and not is_unit(piece)
                    for n, piece in enumerate(pieces[:-1])
                )
                for n, piece in enumerate(pieces):
                    place.parts.append(self._place(piece, place, n, below))
                    if n < len(place.kept) and place.kept[n]:
                        below = (*below, place.parts[n])
            case Iterate(body, _, step):
                inside = below if step is unit else (*below, place)
                place.parts.append(self._place(body, place, 0, inside))
            case Window(body, _):
                place.parts.append(self._place(body, place, 0, (*below, place)))
            case MapCollect():
                first, rate = len(self.atoms), without_value(node.rate)
                place.parts.append(self._place(rate, place, 0, (*below, place)))
                self.collectors.append((place, tuple(range(first, len(self.atoms)))))
            case Constant() | Either() | Combine():
                for n, piece in enumerate(node.parts):
                    place.parts.append(self._place(piece, place, n, below))
            case _:
                raise TypeError(f"not a query: {node!r}")
        return place

    def _put_in_order(self, place: Place) -> None:
        parts = reversed(place.parts) if isinstance(place.node, Split) else place.parts
        for part in parts:
            self._put_in_order(part)
        place.finish = len(self.order)
        self.order.append(place)


def _function(node: Node) -> tuple[Any, tuple[bool, ...] | None]:
    """Return the function that a node calls, and which arguments it reads, None for all."""
    match node:
        case Atom(op=function):
            count = 1
        case Split(parts, function) | Combine(parts, function):
            count = len(parts)
        case Iterate(step=function):
            count = 2
        case _:
            return None, None
    read = tuple(reads(function, n, count) for n in range(count))
    return function, None if all(read) else read


@functools.cache
def reads(function: Any, place: int, count: int) -> bool:
    """Return whether a function may read the argument at a place, of `count` arguments.

    >>> [reads(lambda begin, mean, end: mean, place, 3) for place in range(3)]
    [False, True, False]
    """
    if function in {unit, left, right}:
        return {unit: False, left: place == 0, right: place == count - 1}[function]
    if not isinstance(function, FunctionType) or place >= function.__code__.co_argcount:
        return True
    name = function.__code__.co_varnames[place]
    return any(
        instruction.argval == name  # or, from Python 3.13 on, one of two that are loaded at once
        or (isinstance(instruction.argval, tuple) and name in instruction.argval)
        for instruction in dis.get_instructions(function)
    )


def is_unit(node: Node) -> bool:
    """Return whether a node's value is always None, as that of `match` is."""
    match node:
        case Atom(op=op) | Split(op=op) | Combine(op=op):
            return op is unit
        case Iterate(init=init, step=step):
            return step is unit and init is None
        case Constant(value):
            return value is None
        case Either(parts):
            return all(map(is_unit, parts))
        case _:
            return False


def maker_of(node: Node) -> str:
    """Return the function that gives a node's values, or its accumulator, for messages."""
    match node:
        case Atom(op=op) | Split(op=op) | Combine(op=op) if op is not None:
            return f"{name_of(op)} of {shortly(node)}"
        case Iterate(step=step):
            return f"{name_of(step)} of {shortly(node)}"
        case Window(window=window):
            return f"{window.fold.name} of {shortly(node)}"
        case _:
            return f"the value of {shortly(node)}"


# --- what functions read of items ---------------------------------------------------------------


def attributes_read_of(node: Node) -> set[str] | None:
    """Return the attributes that a query's functions may read of items; None where it may be any.

    Those of conditions are not among them.
    """
    attributes: set[str] = set()
    functions: list[Any] = []
    for place in Layout(node).places:
        match place.node:
            case Atom(predicate, op):
                if op is None and place.value_is_read:
                    return None
                functions += [op] if op not in {None, unit} else []
                functions += [test for _, test in predicate.tests]
            case MapCollect(sync, key, body, over):
                if isinstance(key, Key):
                    attributes.add(key.attribute)
                else:
                    functions.append(key)
                functions += [t for leaf in (sync, *predicates(over)) for _, t in leaf.tests]
                inner = attributes_read_of(body)
                if inner is None:
                    return None
                attributes |= inner
    for function in functions:
        read = item_reads(function)
        if read is None:
            return None
        attributes |= read
    return attributes


def item_reads(function: Any) -> set[str] | None:
    """Return the attributes that a function of an item reads; None where it may read any.

    >>> item_reads(lambda m: m.value * m.weight) == {"value", "weight"}, item_reads(lambda m: [m])
    (True, None)
    """
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or code.co_argcount < 1:
        return None
    name = code.co_varnames[0]
    if name in code.co_cellvars:
        return None
    attributes: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for place, instruction in enumerate(instructions):
        if instruction.argval != name or not instruction.opname.endswith("_FAST"):
            if isinstance(instruction.argval, tuple) and name in instruction.argval:
                return None
            continue
        after = instructions[place + 1] if place + 1 < len(instructions) else None
        if instruction.opname != "LOAD_FAST" or after is None or after.opname != "LOAD_ATTR":
            return None
        attributes.add(after.argval)
    return attributes
