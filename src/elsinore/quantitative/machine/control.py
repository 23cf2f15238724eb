"""A query's control states: what an item does, by where its threads wait.

Which threads wait where is all that the evaluation's branches depend on, with the predicates that
the item satisfies. So a query is a finite automaton whose transitions are operations on registers,
a cost register automaton (Alur, D'Antoni, Deshmukh, Raghothaman and Yuan, Regular Functions and
Cost Register Automata, LICS 2013). A transition is derived when it is first taken, by walking over
the query with symbols in place of values (`derive`). Two places of stacks with the same value are
one register, and what is computed twice from the same values is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.quantitative.approximate import ExponentialHistogram
from elsinore.quantitative.functions import Key
from elsinore.quantitative.machine.derive import Derivation, Stacks, UndecidedTest
from elsinore.quantitative.machine.layout import Layout, Place
from elsinore.quantitative.machine.memory import Control, Memory
from elsinore.quantitative.machine.moments import Keys, Moment
from elsinore.quantitative.machine.numbering import Numbering
from elsinore.quantitative.machine.predicates import Bits, bits_of
from elsinore.quantitative.machine.sliding import compact
from elsinore.quantitative.machine.steps import carry_out_first
from elsinore.quantitative.machine.symbols import Register, in_form, parts_of
from elsinore.quantitative.machine.transitions import Choice, Transition, built
from elsinore.quantitative.nodes import Atom, MapCollect, Node
from elsinore.quantitative.windows import Sliding

MOST_TRANSITIONS = 20_000  # that are known at a time
MOST_BITS = 6  # predicates of which all combinations are looked at
MOST_EXPLORED = 48  # control states in which all combinations are looked at


class Classes:
    """The classes of items: numbers of the combinations of predicates that are true of them.

    bits: by class, the bits of the predicates; they are their own number where they are few.
    """

    def __init__(self, kind: Any) -> None:
        self._are_few = kind is np.uint8
        self.bits: list[int] = list(range(256)) if self._are_few else []
        self._numbers = {bits: bits for bits in self.bits}

    def number(self, bits: int) -> int:
        """Return the class of items with some bits."""
        if bits not in self._numbers:
            self._numbers[bits] = len(self.bits)
            self.bits.append(bits)
        return self._numbers[bits]

    def numbers(self, bits: Any) -> NDArray[np.int32]:
        """Return the class of each item."""
        if self._are_few:
            few: NDArray[np.int32] = bits.astype(np.int32)
            return few
        if bits.dtype == object:
            return np.array([self.number(each) for each in bits.tolist()], np.int32)
        coded = to_arrow(np.ascontiguousarray(bits)).dictionary_encode()
        of_class = [self.number(each) for each in coded.dictionary.to_pylist()]
        numbers: NDArray[np.int32] = np.array(of_class, np.int32)[to_numpy(coded.indices)]
        return numbers


class Program:
    """A query, laid out to be evaluated, with the control states and transitions met so far.

    keyed: by the number of a `map_collect`'s place, the program of its keys, which has the same
    predicates and classes of items; masks, tests: by atom, the bit of its predicate (`ALL`: all
    items satisfy it), or 0 and the test in plain Python; attributes: the names of attributes of
    items that instructions read by their numbers; first: what is done before any item.

    >>> from elsinore.quantitative import atom, event, iterate
    >>> program = Program(iterate(atom(event("M")), 0, lambda n, m: n + 1).node)
    >>> program.begin()[1:]
    (True, 0)
    """

    def __init__(self, node: Node, outer: Program | None = None, name: str = "") -> None:
        self.node, self.layout = node, Layout(node)
        self.bits: Bits = bits_of(node) if outer is None else outer.bits
        self.classes: Classes = Classes(self.bits.kind) if outer is None else outer.classes
        self.attributes: list[str] = [] if outer is None else outer.attributes
        atoms = [place.node for place in self.layout.atoms]
        both = [self.bits.mask_or_test(n.predicate) for n in atoms if isinstance(n, Atom)]
        self.masks, self.tests = [mask for mask, _ in both], [test for _, test in both]
        self.keyed = {
            place.number: KeyedProgram(place.node, self, f"{name}.{place.number}")
            for place, _ in self.layout.collectors
        }
        self._derivation = Derivation(
            self.layout, self.masks, self.tests, self.keyed, self.attributes
        )
        self._controls: dict[Any, Control] = {}  # by where threads wait
        self._known = 0  # transitions
        self._lock = RLock()  # of the above
        self.first = self._transition(0, self._derivation.first(), None)

    # --- states ---------------------------------------------------------------------------------

    def begin(self) -> tuple[Stacks, bool, Any]:
        """Return the stacks before any item, whether there is a value, and which."""
        memory, moment = Memory(1), Moment((), self.attributes)
        carry_out_first(self, memory, moment)
        value = self.first.value
        has = value is not None
        return self.stacks_of(memory, 0), has, built(value, moment.frames[0]) if has else None

    def class_of(self, item: Any) -> int:
        """Return an item's class."""
        return self.classes.number(self.bits.of(item))

    def stacks_of(self, memory: Memory, code: int) -> Stacks:
        """Return, by atom, the values of the thread that waits there, or None."""
        control: Control | None = memory.controls[code]
        if control is None:
            return self.begin()[0]
        begin = code * memory.width
        return tuple(
            None
            if stack is None
            else tuple(
                _saved(_window_of(place, below), built(pattern, memory, begin))
                for below, pattern in zip(place.below, stack, strict=True)
            )
            for place, stack in zip(self.layout.atoms, control.waiting, strict=True)
        )

    def put(self, memory: Memory, code: int, stacks: Stacks) -> None:
        """Set a state to threads that wait with some saved values."""
        values: list[Any] = []
        waiting = tuple(
            None
            if stack is None
            else tuple(
                _pattern(values, _restored(_window_of(place, below), value))
                for below, value in zip(place.below, stack, strict=True)
            )
            for place, stack in zip(self.layout.atoms, stacks, strict=True)
        )
        with self._lock:
            control = self._control(waiting, len(values))
        memory.put(code, control, values)

    def check(self, stacks: object) -> None:
        """Raise ValueError for what are no stacks of this query, or hold keys of another one."""
        atoms = self.layout.atoms
        if type(stacks) is not tuple or len(stacks) != len(atoms):
            raise ValueError("a state does not fit the query's machine")
        for place, stack in zip(atoms, stacks, strict=True):
            if stack is not None and (type(stack) is not tuple or len(stack) != place.depth):
                raise ValueError("the values at an atom do not fit the query's machine")
        for place, numbers in self.layout.collectors:
            for number in numbers:
                stack = stacks[number]
                keys = None if stack is None else stack[place.depth]
                fits = type(keys) is Keys and keys.program is self.keyed[place.number]
                if stack is not None and not fits:
                    raise ValueError("the states of keys are missing")

    # --- transitions ----------------------------------------------------------------------------

    def transition(self, control: Control, item_class: int) -> Transition | Choice:
        """Return what an item of a class does in a control state."""
        with self._lock:
            known = control.transitions
            known += [None] * (item_class + 1 - len(known))
            transition: Transition | Choice | None = known[item_class]
            if transition is None:
                if self._known >= MOST_TRANSITIONS:
                    self._forget()
                self._known += 1
                transition = self._derived(control, self.classes.bits[item_class], {})
                if len(control.transitions) <= item_class:  # they were forgotten
                    control.transitions += [None] * (item_class + 1 - len(control.transitions))
                control.transitions[item_class] = transition
            return transition

    def refresh(self) -> None:
        """Forget all transitions if a name outside of a function stands for another value now."""
        emitter = self._derivation.emitter
        for (_, name), (source, value) in list(emitter.around.items()):
            if source.value_of(name) is not value:
                with self._lock:
                    emitter.around.clear()
                    self._forget()
                    self.first = self._transition(0, self._derivation.first(), None)
                break
        for keyed in self.keyed.values():
            keyed.refresh()

    def _forget(self) -> None:
        """Forget all transitions, so that they cannot become ever more."""
        for control in self._controls.values():
            control.transitions.clear()
        self._controls.clear()
        self._known = 0

    def _derived(
        self, control: Control, bits: int, truths: Mapping[Any, bool]
    ) -> Transition | Choice:
        symbols = list(map(Register, range(control.size)))
        before = tuple(
            None
            if stack is None
            else tuple(in_form(pattern, symbols.__getitem__) for pattern in stack)
            for stack in control.waiting
        )
        try:
            after = self._derivation.taken(before, bits, truths)
        except UndecidedTest as undecided:
            yes, no = (
                self._derived(control, bits, {**truths, undecided.test: truth})
                for truth in (True, False)
            )
            return Choice(undecided.test, yes, no)
        return self._transition(control.size, after, control)

    def _transition(self, size: int, after: Stacks, control: Control | None) -> Transition:
        """Number the values that an item's instructions read and give."""
        derivation = self._derivation
        numbering = Numbering(derivation.emitter, size)
        waiting = tuple(
            None if stack is None else tuple(numbering.pattern(value) for value in stack)
            for stack in after
        )
        value = derivation.value if derivation.has else None
        target = self._control(waiting, len(numbering.kept))
        return numbering.transition(target, value, control)

    def _control(self, waiting: tuple[tuple[int, ...] | None, ...], size: int) -> Control:
        if waiting not in self._controls:
            self._controls[waiting] = Control(waiting, size)
        return self._controls[waiting]

    def idle_classes(self) -> list[bool] | None:
        """Return, for each combination of predicates' bits, whether such items change nothing.

        Such are the bids that `(Person | Bid)*` goes over: nobody needs to take them. None where
        there are too many combinations or control states, or where items are kept by key.
        """
        predicates = len(self.bits.predicates)
        if self.keyed or predicates > MOST_BITS or not self.layout.atoms:
            return None
        idle = [True] * (1 << predicates)
        pending, seen = [self.first.target], {self.first.target}
        while pending:
            control = pending.pop()
            for bits in range(len(idle)):
                known = self.transition(control, self.classes.number(bits))
                idle[bits] &= isinstance(known, Transition) and known.is_idle
                for transition in transitions_of(known):
                    if transition.target not in seen:
                        seen.add(transition.target)
                        pending.append(transition.target)
            if len(seen) > MOST_EXPLORED:
                return None
        return idle


class KeyedProgram(Program):
    """The body of a `map_collect`.

    name: under which states are saved, of all of a query's; key: the key of an item, an attribute
    if `attribute_number` is not -1; mask: the bit of items that go to all keys, `ALL`, or 0 where
    `test` decides.
    """

    def __init__(self, node: Node, outer: Program, name: str) -> None:
        assert isinstance(node, MapCollect)
        super().__init__(node.body, outer, name)
        self.name, self.key, self.attribute_number = name, node.key, -1
        if isinstance(node.key, Key):
            if node.key.attribute not in self.attributes:
                self.attributes.append(node.key.attribute)
            self.attribute_number = self.attributes.index(node.key.attribute)
        self.mask: int
        self.mask, self.test = self.bits.mask_or_test(node.sync)


def key_programs(programs: Sequence[Program]) -> dict[str, KeyedProgram]:
    """Return the programs of keys in queries, also of keys within keys, by name."""
    within = [keyed for program in programs for keyed in program.keyed.values()]
    by_name = {keyed.name: keyed for keyed in within}
    return by_name | key_programs(within) if within else by_name


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are one: the same object, or plain ones that nothing tells apart.

    >>> is_same(0.5, 1 / 2), is_same(0.0, -0.0), is_same(1, True), is_same([], [])
    (True, False, False, False)
    """
    if left is right:
        return True
    plain = type(left) is type(right) and type(left) in {int, float, str}
    return plain and repr(left) == repr(right)


def _pattern(values: list[Any], value: Any) -> Any:
    """Return the register that has a value, or the registers of its parts; note new values."""
    parts = parts_of(value)
    if parts is not None:
        return (type(value), *(_pattern(values, part) for part in parts))
    for number, known in enumerate(values):
        if is_same(known, value):
            return number
    values.append(value)
    return len(values) - 1


def _window_of(atom: Place, below: Place) -> Any:
    """Return the window around an atom whose state a place put on the atom's stack, else None.

    A window that is an earlier part of a `split` put its value there.
    """
    around = atom.parent
    while around is not None and around is not below:
        around = around.parent
    return None if around is None else getattr(around.node, "window", None)


def _saved(window: Any, value: Any) -> Any:
    """Return what is saved of a value on a stack, the state of a window if there is one."""
    if isinstance(window, Sliding):
        return compact(window, value)
    return value.to_tuple() if isinstance(window, ExponentialHistogram) else value


def _restored(window: Any, value: Any) -> Any:
    """Return the value of what was saved of it. Raises ValueError for what is none of a window."""
    return window.empty.restored(value) if isinstance(window, ExponentialHistogram) else value


def transitions_of(transition: Transition | Choice) -> list[Transition]:
    """Return what an item may do, whatever tests say of it."""
    if isinstance(transition, Transition):
        return [transition]
    return [*transitions_of(transition.yes), *transitions_of(transition.no)]
