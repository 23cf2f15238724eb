"""From a query to the source of its machine: one pass, constant state and time per item.

The paper's algorithm (StreamQRE, Section 4, Figures 3 and 4) keeps at each atom the stack of values
with which the thread that waits there was started. What lies on that stack is known when the query
is compiled: the values of the earlier parts of each `split` around the atom and the accumulator of
each `iterate`. So an atom is a flag, whether a thread waits there, and a few variables. Unambiguity
lets at most one thread that can still succeed wait at an atom, and at most one end at a node with
an item.

For an item, atoms are gone through with the later parts of a `split` before the earlier ones: a
thread that ends starts others only at atoms that have been gone through already, so the variables
are changed in place. A node that threads may end at in several ways, or that is started anew when
they do, notes the value, and goes on after its own atoms ("join").

`lowered.emit` says how each step is written, over words of memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from elsinore.quantitative.functions import left, right, unit
from elsinore.quantitative.machine.layout import (
    is_kept,
    is_unit,
    nodes_of,
    reads,
    value_is_read,
)
from elsinore.quantitative.machine.page import INDENT
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
    without_value,
)
from elsinore.quantitative.regex import ALWAYS, nullable


@dataclass(slots=True)
class Source:
    """Lines of a machine's code, and what they refer to by name."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Place:
    """Where a node stands in the query: below which node, as which part, with how many values."""

    parent: Node | None
    part: int
    depth: int


@dataclass(slots=True)
class _Ended:
    """A thread that ended at a node: the variables of its value and of the values kept below."""

    node: Node
    value: str
    stack: list[str]


class Emitter(ABC):
    """Writes what happens when threads start at a query, and when they take an item.

    flags: the names of the atoms' flags, from left to right.
    """

    def __init__(self, query: Node, masks: dict[Any, str], first: int) -> None:
        self.source = Source()
        self.flags: list[str] = []
        self._first = first  # the number of the first node
        self._query = query
        self._masks = masks  # condition -> how the code asks whether it holds of the item
        self._places: dict[int, _Place] = {}
        self._numbers: dict[int, int] = {}
        self._rates: dict[int, Node] = {}  # of each `map_collect`, when it collects
        self.nodes: list[Node] = []
        self._done: set[int] = set()  # nodes whose atoms have been gone through with an item
        self._open: set[int] = set()  # joins that have not gone on yet
        self._collecting: dict[int, list[str]] = {}
        self._level = 0
        self._fresh = 0
        self._place(query, None, 0, 0)

    # --- the two functions ----------------------------------------------------------------------

    def begin(self, level: int) -> None:
        """Write the start of a thread at the whole query."""
        self._level = level
        self._done = set(self._numbers)
        self._start(self._query, [])

    def item(self, level: int) -> None:
        """Write what happens with an item `x`, of whose predicates `b` tells."""
        self._level = level
        self._done = set()
        self._feed()
        self._item(self._query)

    def rate_of(self, node: MapCollect) -> Node:
        """Return the query that says when a `map_collect` collects."""
        return self._rates[id(node)]

    def number(self, node: Node) -> int:
        """Return the number that a node's variables are named by."""
        return self._numbers[id(node)]

    # --- places ---------------------------------------------------------------------------------

    def _place(self, node: Node, parent: Node | None, part: int, depth: int) -> None:
        """Give a node its place, where `depth` values lie below its own on a thread's stack."""
        if id(node) in self._places:  # one node in two places of a query is two nodes
            raise TypeError("a node stands in one place; see `fresh`")
        self.nodes.append(node)
        self._places[id(node)] = _Place(parent, part, depth)
        number = self._numbers[id(node)] = self._first + len(self._numbers)
        match node:
            case Atom():
                self.flags.append(f"a{number}")
            case Split(parts, op):
                for place, piece in enumerate(parts):
                    self._place(piece, node, place, depth)
                    depth += is_kept(op, place, piece)
            case Iterate(body, _, step):
                self._place(body, node, 0, depth if step is unit else depth + 1)
            case Window(body, _):
                self._place(body, node, 0, depth + 1)
            case MapCollect():
                rate = self._rates[id(node)] = fresh(without_value(node.rate))
                self._place(rate, node, 0, depth + 1)
            case _:
                for place, piece in enumerate(node.parts):
                    self._place(piece, node, place, depth)

    def value_is_read(self, node: Node) -> bool:
        """Return whether a node's value may make a difference to the whole query's."""
        place = self._places[id(node)]
        return value_is_read(place.parent, place.part)

    def thread_slots(self) -> list[tuple[str, str, MapCollect]]:
        """Return the atoms at which keys' threads wait, and the variables that hold these."""
        slots = []
        for node in self.nodes:
            if not isinstance(node, MapCollect):
                continue
            slot = self._places[id(node)].depth
            for below in nodes_of(self._rates[id(node)]):
                if isinstance(below, Atom):
                    flag = f"a{self._numbers[id(below)]}"
                    slots.append((flag, f"{flag}_{slot}", node))
        return slots

    # --- threads that start ---------------------------------------------------------------------

    def _start(self, node: Node, stack: list[str]) -> None:
        number = self._numbers[id(node)]
        match node:
            case Atom():
                self._wait(number, stack)
            case Constant(value):
                self._end(node, self._name(f"k{number}", value), stack)
            case Split(parts, _):
                self._start(parts[0], stack)
            case Iterate(body, init, step):
                start = self._name(f"k{number}", init)
                self._start(body, stack if step is unit else [*stack, start])
                self._end(node, start, stack)
            case Either(parts):
                for piece in parts:
                    self._start(piece, stack)
            case Combine(parts, _):
                self._start_abreast(node, parts, stack)
            case Window(body):
                self._start(body, [*stack, self._empty(node)])
            case MapCollect():
                self._start(self._rates[id(node)], [*stack, self._keys(node)])
            case _:
                raise TypeError(f"not a query: {node!r}")

    def _start_abreast(self, node: Combine, parts: tuple[Node, ...], stack: list[str]) -> None:
        """Start all parts; where they match the empty sequence, so does the whole."""
        values: list[str] = []
        self._collecting[id(node)] = values
        for piece in parts:
            self._start(piece, stack)
        del self._collecting[id(node)]
        if values:
            self._end(node, self._call(node, "op", node.op, values), stack)

    # --- threads that end -----------------------------------------------------------------------

    def _end(self, node: Node, value: str, stack: Sequence[str]) -> None:
        """Go on after a thread ended at a node: here, or at the node's join."""
        self._follow(_Ended(node, value, list(stack)))

    def _follow(self, ended: _Ended | None) -> None:
        """Go on after a thread ended at a node, then at the node around it, up to a join."""
        while ended is not None:
            if self._waits_for_join(ended):
                return
            ended = self._go_on(ended.node, ended.value, ended.stack)

    def _waits_for_join(self, ended: _Ended) -> bool:
        """Return whether the thread goes on at the node's join; if so, note its values there."""
        node = ended.node
        if id(node) in self._done or not self._joins(node):
            return False
        number = self._numbers[id(node)]
        self._line(f"j{number} = True")
        if not is_unit(node):
            self._line(f"j{number}_v = {ended.value}")
        for slot, variable in enumerate(ended.stack):
            self._line(f"j{number}_{slot} = {variable}")
        return True

    def _joins(self, node: Node) -> bool:
        """Return whether threads that end at a node go on only after all its atoms.

        That is so if the node is started again when they end, or if they end at several places of
        the code: after each part of an `either`; and after the last part of a `split` as well as
        after the part before it, if the last matches the empty sequence.
        """
        if isinstance(node, Atom):
            return False
        if isinstance(self._places[id(node)].parent, Iterate | Window):
            return True
        if isinstance(node, Split):
            return nullable(node.parts[-1].rate)
        return isinstance(node, Either)

    def _go_on(self, node: Node, value: str, stack: list[str]) -> _Ended | None:
        """Write what follows a node's end; return the node around it if that ends as well."""
        place = self._places[id(node)]
        parent = place.parent
        match parent:
            case None:
                self._result(value)
                return None
            case Split(parts, op):
                if place.part < len(parts) - 1:
                    kept = is_kept(op, place.part, node)
                    self._start(parts[place.part + 1], [*stack, value] if kept else stack)
                    return None
                depth = self._places[id(parent)].depth
                outer, values = stack[:depth], iter(stack[depth:])
                given = [
                    next(values) if is_kept(op, n, piece) else "None"
                    for n, piece in enumerate(parts[:-1])
                ]
                result = self._call(parent, "op", op, [*given, value])
                return _Ended(parent, result, outer)
            case Iterate(body, _, step):
                if step is unit:
                    self._start(body, stack)
                    return _Ended(parent, "None", stack)
                total = self._call(parent, "step", step, [stack[-1], value])
                self._start(body, [*stack[:-1], total])
                return _Ended(parent, total, stack[:-1])
            case Window(body):
                state, result = self._push(parent, stack[-1], value)
                self._start(body, [*stack[:-1], state])
                return _Ended(parent, result, stack[:-1])
            case Combine(parts, op):
                return self._end_abreast(parent, place.part, value, stack)
            case MapCollect():
                return _Ended(parent, self._collect(parent, stack[-1]), stack[:-1])
            case _:
                return _Ended(parent, value, stack)

    def _end_abreast(self, node: Combine, part: int, value: str, stack: list[str]) -> _Ended | None:
        if id(node) in self._collecting:
            self._collecting[id(node)].append(value)
        elif len(node.parallel) == 1:
            return _Ended(node, self._call(node, "op", node.op, [value]), stack)
        else:
            number = self._numbers[id(node)]
            self._line(f"g{number}_{part} = {value}")
            if part == len(node.parallel) - 1:
                self._line(f"g{number} = True")
                for slot, context in enumerate(stack):
                    self._line(f"g{number}_c{slot} = {context}")
        return None

    # --- an item --------------------------------------------------------------------------------

    def _item(self, node: Node) -> None:
        number = self._numbers[id(node)]
        if self._joins(node):
            self._line(f"j{number} = False")
            self._open.add(id(node))
        match node:
            case Atom(predicate, op):
                self._line(f"if a{number}:")
                self._level += 1
                self._line(f"a{number} = False")
                if predicate.condition != ALWAYS:
                    self._line(f"if {self._masks[predicate.condition]}:")
                    self._level += 1
                stack = self._waited(number, self._places[id(node)].depth)
                if op is None:
                    value = "x"
                elif op is unit:
                    value = "None"
                else:
                    value = self._call(node, "op", op, ["x"])
                self._end(node, value, stack)
                self._level -= 2 if predicate.condition != ALWAYS else 1
            case Split(parts, _):
                for piece in reversed(parts):
                    self._item(piece)
            case Combine(parts, op) if len(parts) > 1:
                self._line(f"g{number} = False")
                for piece in parts:
                    self._item(piece)
                self._line(f"if g{number}:")
                self._level += 1
                given = [f"g{number}_{place}" for place in range(len(parts))]
                depth = self._places[id(node)].depth
                result = self._call(node, "op", op, given)
                self._end(node, result, [f"g{number}_c{slot}" for slot in range(depth)])
                self._level -= 1
            case MapCollect():
                self._item(self._rates[id(node)])
            case _:
                for piece in node.parts:
                    self._item(piece)
        self._join(node, number)

    def _join(self, node: Node, number: int) -> None:
        self._done.add(id(node))
        if not self._joins(node):
            return
        self._open.discard(id(node))
        self._line(f"if j{number}:")
        self._level += 1
        value = "None" if is_unit(node) else f"j{number}_v"
        depth = self._places[id(node)].depth
        self._follow(self._go_on(node, value, [f"j{number}_{slot}" for slot in range(depth)]))
        self._level -= 1

    # --- how it is written ----------------------------------------------------------------------

    @abstractmethod
    def _wait(self, number: int, stack: list[str]) -> None:
        """Write that a thread waits at an atom, with values."""

    @abstractmethod
    def _waited(self, number: int, depth: int) -> list[str]:
        """Return the variables with the values of the thread that waited at an atom."""

    @abstractmethod
    def _result(self, value: str) -> None:
        """Write that the query has a value."""

    @abstractmethod
    def _name(self, name: str, value: Any) -> str:
        """Return the expression of a constant of the query, by its name."""

    @abstractmethod
    def _empty(self, node: Window) -> str:
        """Return the state of a window that has no values."""

    @abstractmethod
    def _push(self, node: Window, state: str, value: str) -> tuple[str, str]:
        """Write that a window gets a value; return the window's state and value then."""

    @abstractmethod
    def _keys(self, node: MapCollect) -> str:
        """Write new threads of keys; return the variable that holds them."""

    @abstractmethod
    def _feed(self) -> None:
        """Write that the item goes to the threads of keys."""

    @abstractmethod
    def _collect(self, node: MapCollect, keys: str) -> str:
        """Write that the keys' values are collected; return the variable that holds the map."""

    def _line(self, text: str) -> None:
        self.source.lines.append(INDENT * self._level + text)

    def _temporary(self) -> str:
        self._fresh += 1
        return f"t{self._first}_{self._fresh}"

    def _call(self, node: Node, role: str, function: Any, arguments: list[str]) -> str:
        """Write the call of a user's function; return the variable that holds its value."""
        if function is unit:
            return "None"
        if function is right:
            return arguments[-1]
        if function is left:
            return arguments[0]
        arguments = [a if reads(function, n) else "None" for n, a in enumerate(arguments)]
        name = f"f{self._numbers[id(node)]}{role}"
        self.source.names[name] = function
        result = self._temporary()
        self._line(f"{result} = {name}({', '.join(arguments)})")
        return result


def fresh(node: Node) -> Node:
    """Return the query with each node in one place: a node used twice becomes two.

    The rules have been checked, so the copies are made without checking them again.
    """
    copy = object.__new__(type(node))
    for name in node.__dataclass_fields__:  # type: ignore[attr-defined]
        value = getattr(node, name)
        if isinstance(value, Node):
            value = fresh(value)
        elif isinstance(value, tuple) and all(isinstance(v, Node) for v in value):
            value = tuple(fresh(piece) for piece in value)
        object.__setattr__(copy, name, value)
    return copy
