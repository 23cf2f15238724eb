"""The generic loop: a query's values, one item after another, as the walk finds them.

It runs queries that are not written as loops (`control`), and the first items of all. A state is a
tuple that no step changes, except for the threads of keys in it (`Keys`): what a step changes in
these is noted, so that an item at which a user's function raises can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from elsinore.errors import InputError
from elsinore.quantitative.machine.layout import Layout, Place
from elsinore.quantitative.machine.predicates import ALL, Bits, Test, bits_of
from elsinore.quantitative.machine.walk import ItemWalk, State
from elsinore.quantitative.nodes import Atom, MapCollect, Node, Window, shortly
from elsinore.quantitative.regex import name_of

Undo = list[Callable[[], None]]


@dataclass(slots=True, eq=False)
class Program:
    """A query, laid out to be evaluated; that of a `map_collect`'s keys has the same predicates.

    keyed: by the number of the `map_collect`'s place, what runs its keys; masks, tests: by atom,
    the bit of its predicate (`ALL`: all items satisfy it), or 0 and the test in plain Python.
    """

    node: Node
    layout: Layout
    bits: Bits
    keyed: dict[int, KeyProgram] = field(default_factory=dict)
    masks: list[int] = field(default_factory=list)
    tests: list[Test | None] = field(default_factory=list)

    @classmethod
    def from_node(cls, node: Node, bits: Bits | None = None, name: str = "") -> Program:
        """Lay a query out; `name` is that of the `map_collect` whose body it is."""
        program = cls(node, Layout(node), bits_of(node) if bits is None else bits)
        for place in program.layout.atoms:
            assert isinstance(place.node, Atom)
            mask, test = program.bits.mask_or_test(place.node.predicate)
            program.masks.append(mask)
            program.tests.append(test)
        for place, _ in program.layout.collectors:
            program.keyed[place.number] = KeyProgram.from_node(
                place.node, program.bits, f"{name}.{place.number}"
            )
        return program

    def begin(self) -> tuple[State, bool, Any]:
        """Return the state before any item, whether there is a value, and which.

        >>> from elsinore.quantitative import atom, event, iterate
        >>> query = iterate(atom(event("M")), 0, lambda n, m: n + 1)
        >>> program = Program.from_node(query.node)
        >>> state, has, value = program.begin()
        >>> has, value, program.step(state, "an item", 1)[1:]
        (True, 0, (True, 1))
        """
        evaluator = Evaluator(self, Attempt())
        state = evaluator.begin()
        return state, evaluator.has, evaluator.value

    def step(
        self, state: State, item: Any, bits: int, attempt: Attempt | None = None
    ) -> tuple[State, bool, Any]:
        """Return the state after an item, whether there is a value, and which.

        attempt: notes what is changed in place, and which function is called.
        """
        evaluator = Evaluator(self, attempt or Attempt(), item, bits)
        after = evaluator.step(state)
        return after, evaluator.has, evaluator.value

    @property
    def has_keys(self) -> bool:
        """Whether states hold threads of keys."""
        return bool(self.keyed)


@dataclass(slots=True, eq=False)
class KeyProgram:
    """What runs the keys of a `map_collect`.

    name: under which states are saved, of all of a query's; mask: the bit of items that go to all
    keys, `ALL`, or 0 where `test` tells; first: the state of a key without items.
    """

    name: str
    program: Program
    key: Callable[[Any], Any]
    mask: int
    test: Callable[[Any], bool] | None
    first: State

    @classmethod
    def from_node(cls, node: Node, bits: Bits, name: str) -> KeyProgram:
        """Lay out the body of a `map_collect`."""
        assert isinstance(node, MapCollect)
        program = Program.from_node(node.body, bits, name)
        mask, test = bits.mask_or_test(node.sync)
        return cls(name, program, node.key, mask, test, program.begin()[0])

    def is_synchronizing(self, item: Any, bits: int) -> bool:
        """Return whether an item goes to all keys."""
        if self.test is not None:
            return self.test(item)
        return self.mask == ALL or bool(bits & self.mask)


@dataclass(slots=True)
class Attempt:
    """What is done at one item: changes, to be taken back, and the function that is called."""

    undo: Undo = field(default_factory=list)
    place: Place | None = None  # of the node whose function is called, the innermost
    function: str | None = None  # what it is called, None: by its name

    def take_back(self) -> None:
        """Take back what was changed."""
        while self.undo:
            self.undo.pop()()

    @property
    def label(self) -> str | None:
        """The function that was called last, and its sub-expression."""
        if self.place is None:
            return None
        function = name_of(self.place.function) if self.function is None else self.function
        return f"{function} of {shortly(self.place.node)}"


class Keys:
    """The states of keys since one start of a `map_collect` (StreamQRE, Figure 4).

    `idle` is the state of all keys that have had synchronization items only.
    """

    __slots__ = ("_attempt", "_outputs", "idle", "program", "states")

    def __init__(self, program: KeyProgram, idle: State, states: dict[Any, State]) -> None:
        self.program, self.idle, self.states = program, idle, states
        self._outputs: dict[Any, Any] = {}
        self._attempt: Attempt | None = None  # of the last item, which is taken once

    def feed(self, item: Any, bits: int, attempt: Attempt) -> None:
        """Give an item to the keys that it concerns."""
        if self._attempt is attempt:
            return
        before = self.idle, self.states, self._outputs, self._attempt
        attempt.undo.append(lambda: self._restore(*before))
        self._attempt, self._outputs = attempt, {}
        program = self.program.program
        if self.program.is_synchronizing(item, bits):
            outputs: dict[Any, Any] = {}
            states: dict[Any, State] = {}
            for known, before_item in self.states.items():
                states[known], has, value = program.step(before_item, item, bits, attempt)
                if has:
                    outputs[known] = value
            self.idle = program.step(self.idle, item, bits, attempt)[0]
            self.states, self._outputs = states, outputs
            return
        key = self.program.key(item)
        try:
            state = self.states.get(key)
        except TypeError as error:
            raise InputError(
                f"The key {key!r} cannot be told from others: a {type(key).__name__} has no "
                "hash. Use a number, a text or a tuple."
            ) from error
        of_key = forked(self.idle) if state is None else state
        after = program.step(of_key, item, bits, attempt)[0]
        attempt.undo.append(lambda: self._put(key, state))
        self.states[key] = after

    def collect(self) -> dict[Any, Any]:
        """Return the values of the keys that have one after the last item."""
        return dict(self._outputs)

    def copy(self) -> Keys:
        """Return the same states, that change by themselves."""
        copies = {key: forked(state) for key, state in self.states.items()}
        copy = Keys(self.program, forked(self.idle), copies)
        copy._outputs, copy._attempt = self._outputs, self._attempt
        return copy

    def __len__(self) -> int:
        return len(self.states)

    def _put(self, key: Any, state: State | None) -> None:
        if state is None:
            del self.states[key]
        else:
            self.states[key] = state

    def _restore(
        self, idle: State, states: dict[Any, State], outputs: dict[Any, Any], last: Attempt | None
    ) -> None:
        self.idle, self.states, self._outputs, self._attempt = idle, states, outputs, last


def key_programs(program: Program) -> dict[str, KeyProgram]:
    """Return what runs keys in a query, also keys within keys, by name."""
    programs = {keyed.name: keyed for keyed in program.keyed.values()}
    for keyed in list(programs.values()):
        programs |= key_programs(keyed.program)
    return programs


def check_state(program: Program, state: object) -> None:
    """Raise ValueError for what is no state of a program, or holds other keys than its."""
    atoms = program.layout.atoms
    if type(state) is not tuple or len(state) != len(atoms):
        raise ValueError("a state does not fit the query's machine")
    for place, stack in zip(atoms, state, strict=True):
        if stack is not None and (type(stack) is not tuple or len(stack) != place.depth):
            raise ValueError("the values at an atom do not fit the query's machine")
    for place, numbers in program.layout.collectors:
        for number in numbers:
            stack = state[number]
            threads = None if stack is None else stack[place.depth]
            fits = type(threads) is Keys and threads.program is program.keyed[place.number]
            if stack is not None and not fits:
                raise ValueError("the states of keys are missing")


def forked(state: State) -> State:
    """Return a state that changes by itself: the threads of keys in it are copied."""
    copies: dict[int, Keys] = {}

    def of(value: Any) -> Any:
        return copies.setdefault(id(value), value.copy()) if isinstance(value, Keys) else value

    if not any(isinstance(v, Keys) for stack in state if stack is not None for v in stack):
        return state
    return tuple(None if stack is None else tuple(map(of, stack)) for stack in state)


class Evaluator(ItemWalk):
    """Computes values."""

    def __init__(self, program: Program, attempt: Attempt, item: Any = None, bits: int = 0) -> None:
        super().__init__(program.layout)
        self._program, self._attempt, self._item, self._bits = program, attempt, item, bits

    def holds(self, place: Place) -> bool:
        """Return whether the item satisfies an atom's predicate."""
        mask = self._program.masks[place.atom]
        if mask:
            return self._bits & mask != 0 or mask == ALL
        self._attempt.place = None  # a test in plain Python stands in no expression
        test = self._program.tests[place.atom]
        assert test is not None
        return test(self._item)

    def item(self) -> Any:
        """Return the item."""
        return self._item

    def constant(self, place: Place, value: Any) -> Any:
        """Return the value."""
        del place
        return value

    def call(self, place: Place, arguments: list[Any]) -> Any:
        """Return the function's value."""
        attempt = self._attempt
        attempt.place, attempt.function = place, None
        return place.function(*arguments)

    def push(self, place: Place, state: Any, value: Any) -> tuple[Any, Any]:
        """Return the window's state with a value, and the window's value."""
        node = place.node
        assert isinstance(node, Window)
        attempt = self._attempt
        attempt.place, attempt.function = place, "step"
        after = node.window.push(state, value)
        attempt.function = node.window.fold.name
        return after, node.window.value(after)

    def keys(self, place: Place) -> Keys:
        """Return threads without keys."""
        program = self._program.keyed[place.number]
        return Keys(program, forked(program.first), {})

    def feed(self, place: Place, threads: Keys) -> None:
        """Give the item to threads of keys."""
        node = place.node
        assert isinstance(node, MapCollect)
        self._attempt.place, self._attempt.function = place, name_of(node.key)
        threads.feed(self._item, self._bits, self._attempt)

    def collect(self, place: Place, threads: Keys) -> dict[Any, Any]:
        """Return the values of the keys."""
        del place
        return threads.collect()
