"""A query's control states: what an item does, by where its threads wait.

Which threads wait where is all that the evaluation's branches depend on, with the predicates that
the item satisfies. So a query is a finite automaton whose transitions are operations on registers,
a cost register automaton (Alur, D'Antoni, Deshmukh, Raghothaman and Yuan, Regular Functions and
Cost Register Automata, LICS 2013). States and transitions are derived from the query by walking
with symbols in place of values (`derive`), as far as items of some classes lead. Two places of
stacks with the same value in a state are one register, and what is computed twice from the same
values is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elsinore.quantitative.folds import Merging, most_common
from elsinore.quantitative.machine.derive import (
    PLAIN,
    Asked,
    Derivation,
    Kind,
    Op,
    Symbol,
    registers,
)
from elsinore.quantitative.machine.evaluate import KeyProgram, Program
from elsinore.quantitative.machine.predicates import ALL
from elsinore.quantitative.machine.walk import State as Stacks
from elsinore.quantitative.windows import Sliding

MOST_STATES = 48  # of a machine; one with more runs as it is
MOST_TRANSITIONS = 600
MOST_BITS = 6  # predicates of which all combinations are looked at


class NotFlat(Exception):  # noqa: N818 - a reason, which nobody has to mend
    """Why a machine is not written state by state."""


@dataclass(frozen=True, slots=True)
class State:
    """A control state: by atom, the registers with the values of the thread that waits, or None."""

    waiting: tuple[tuple[int, ...] | None, ...]
    kinds: tuple[Kind, ...]  # of the registers


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an item does in a state: operations, the state after it, its registers, the value."""

    ops: tuple[Op, ...]
    target: int
    values: tuple[Any, ...]  # of the target's registers: symbols, or None, True and False
    has: bool
    value: Any

    def changes_nothing(self, state: int) -> bool:
        """Return whether the item need not be given to a machine in a state."""
        same = all(
            isinstance(value, Symbol) and value.name == f"r{place}"
            for place, value in enumerate(self.values)
        )
        return self.target == state and same and not self.ops and not self.has


@dataclass(frozen=True, slots=True)
class Choice:
    """What an item does that depends on a test in plain Python."""

    test: Callable[[Any], bool]
    yes: Outcome | Choice
    no: Outcome | Choice


NOTHING = object()  # the value of a register that no stack has filled yet


def outcomes_of(outcome: Outcome | Choice) -> list[Outcome]:
    """Return what an item may do, whatever tests say of it."""
    if isinstance(outcome, Outcome):
        return [outcome]
    return [*outcomes_of(outcome.yes), *outcomes_of(outcome.no)]


def _shown(outcome: Outcome, windows: Mapping[int, Sliding]) -> set[Kind]:
    counted = {id(op.result) for op in outcome.ops if op.role == "count"}
    read = {outcome.value} if outcome.has else set()
    for op in outcome.ops:
        for place, value in enumerate(op.given):
            in_passing = op.function is most_common or (
                op.role == "count" and place == 0
            ) or (isinstance(op.function, Merging) and place == 1)  # fmt: skip
            if (not in_passing or id(value) in counted) and not (
                place == 1 and op.role == "push" and _is_moved(value, outcome, windows, op)
            ):
                read.add(value)
    return {value.kind for value in read if isinstance(value, Symbol) and value.kind.of == "counts"}


def _is_moved(value: Any, outcome: Outcome, windows: Mapping[int, Sliding], push: Op) -> bool:
    """Return whether counts go into a window that reads them in passing, and grow no more."""
    fold = windows[push.result.kind.number].fold
    goes_on = any(value is kept for kept in outcome.values) or any(
        op.role == "count" and (op.given[0] is value or op.result is value) for op in outcome.ops
    )
    return isinstance(fold.step, Merging) and isinstance(fold.inverse, Merging) and not goes_on


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are one: the same object, or plain ones that nothing tells apart.

    >>> is_same(0.5, 1 / 2), is_same(0.0, -0.0), is_same(1, True), is_same([], [])
    (True, False, False, False)
    """
    if left is right:
        return True
    plain = type(left) is type(right) and type(left) in {int, float, str}
    return plain and repr(left) == repr(right)


@dataclass(slots=True)
class Automaton:
    """The control states of a query, and what items of some classes do in them."""

    program: Program
    derivation: Derivation
    states: list[State] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)  # bits of predicates
    outcomes: dict[tuple[int, int], Outcome | Choice] = field(default_factory=dict)
    begins: tuple[Any, ...] = ()  # what the first state's registers hold
    first_ops: tuple[Op, ...] = ()
    inner: dict[int, Automaton] = field(default_factory=dict)  # of keys, by number of the place
    _places: dict[State, int] = field(default_factory=dict)
    _by_atoms: dict[tuple[bool, ...], list[int]] = field(default_factory=dict)  # where threads wait

    @classmethod
    def from_program(cls, program: Program, *, is_inner: bool = False) -> Automaton:
        """Return the automaton with the first state. Raises NotFlat where there can be none."""
        automaton = cls(program, Derivation(program, windows=not is_inner))
        for number, keyed in program.keyed.items():
            if keyed.test is not None:
                raise NotFlat("a synchronization predicate in plain Python")
            automaton.inner[number] = cls.from_program(keyed.program, is_inner=True)
        stacks = automaton.derivation.first()
        automaton.first_ops = tuple(automaton.derivation.ops)
        if any(op.role not in {"keys", "call", "collect"} for op in automaton.first_ops):
            raise NotFlat("a window with values at the beginning")
        _, automaton.begins = automaton._state(stacks)
        return automaton

    @property
    def windows(self) -> Mapping[int, Sliding]:
        """The windows that values are taken out of, by number of the place."""
        return self.derivation.windows

    @property
    def has_nested_keys(self) -> bool:
        """Whether states of keys hold states of keys."""
        return any(inner.inner for inner in self.inner.values())

    def keys_of(self, number: int) -> KeyProgram:
        """Return what runs the keys of a `map_collect`."""
        return self.program.keyed[number]

    def is_synchronizing(self, number: int, bits: int) -> bool:
        """Return whether items of a class go to all keys of a `map_collect`."""
        mask = self.program.keyed[number].mask
        return mask == ALL or bool(bits & mask)

    def meet(self, classes: Iterable[int]) -> bool:
        """Find the states that items of classes lead to; return whether anything is new."""
        new = [bits for bits in classes if bits not in self.classes]
        self.classes += new
        for inner in self.inner.values():
            inner.meet(new)
        return self._explore() or bool(new)

    def _explore(self) -> bool:
        place, had = 0, len(self.outcomes)
        while place < len(self.states):
            for bits in self.classes:
                if (place, bits) not in self.outcomes:
                    self.outcome(place, bits)
                    if len(self.outcomes) > MOST_TRANSITIONS or len(self.states) > MOST_STATES:
                        raise NotFlat("too many states")
            place += 1
        return len(self.outcomes) > had

    def outcome(self, place: int, bits: int) -> Outcome | Choice:
        """Return what an item of a class does in a state."""
        outcome = self.outcomes.get((place, bits))
        if outcome is None:
            outcome = self.outcomes[place, bits] = self._outcome(place, bits, {})
        return outcome

    def idle(self, bits: int) -> bool:
        """Return whether items of a class change nothing, in whatever state."""
        outcomes = (self.outcomes[n, bits] for n in range(len(self.states)))
        return all(
            isinstance(outcome, Outcome) and outcome.changes_nothing(n)
            for n, outcome in enumerate(outcomes)
        )

    def shown(self) -> set[Kind]:
        """Return the counts that are read other than in passing, so that old ones must last."""
        kinds: set[Kind] = set()
        for (_, bits), outcome in self.outcomes.items():
            for each in outcomes_of(outcome):
                kinds |= _shown(each, self.windows)
                for op in each.ops:
                    if op.role == "feed":
                        number = op.given[0].kind.number
                        if self.is_synchronizing(number, bits):  # its effect must be put off
                            inner = self.inner[number]
                            for place in range(len(inner.states)):
                                for each_outcome in outcomes_of(inner.outcomes[place, bits]):
                                    kinds |= {
                                        o.result.kind for o in each_outcome.ops if o.role == "count"
                                    }
        return kinds.union(*(inner.shown() for inner in self.inner.values()))

    def place(self, stacks: Stacks) -> tuple[int, list[Any]]:
        """Return a state that stacks can be in, and the values of its registers."""
        best: tuple[int, list[Any]] | None = None
        for number in self._by_atoms.get(_atoms_of(stacks), ()):
            fitting = _fitting(self.states[number], stacks)
            if fitting is not None and (best is None or len(fitting) < len(best[1])):
                best = number, fitting
        if best is not None:
            return best
        values: list[Any] = []
        kinds: dict[int, Kind] = {}
        waiting: list[tuple[int, ...] | None] = []
        for atom, stack in zip(self.program.layout.atoms, stacks, strict=True):
            if stack is None:
                waiting.append(None)
                continue
            waiting.append(tuple(_register(values, value, is_same) for value in stack))
            for slot, register in enumerate(waiting[-1] or ()):
                kinds[register] = self.derivation.kind_kept(atom, slot)
        state = State(tuple(waiting), tuple(kinds[register] for register in range(len(values))))
        return self._number(state), values

    # --- one item -------------------------------------------------------------------------------

    def _outcome(self, place: int, bits: int, truths: Mapping[Any, bool]) -> Outcome | Choice:
        state = self.states[place]
        symbols = registers(state.kinds)
        try:
            after, has, value = self.derivation.taken(filled(state, symbols), bits, truths)
        except Asked as asked:
            yes, no = ({**truths, asked.test: truth} for truth in (True, False))
            return Choice(
                asked.test, self._outcome(place, bits, yes), self._outcome(place, bits, no)
            )
        ops = tuple(self.derivation.ops)
        self._check(ops, bits)
        target, values = self._state(after)
        return Outcome(ops, target, values, has, value)

    def _check(self, ops: tuple[Op, ...], bits: int) -> None:
        """Raise NotFlat for what is not written: an item of a key that goes to several maps."""
        fed = [op.given[0] for op in ops if op.role == "feed"]
        for symbol in fed:
            if not self.is_synchronizing(symbol.kind.number, bits):
                collects = any(op.role == "collect" and op.given[0] in fed for op in ops)
                if len(fed) > 1 or collects:
                    raise NotFlat("several maps of keys at once")

    def _state(self, stacks: Stacks) -> tuple[int, tuple[Any, ...]]:
        """Return the number of the state that stacks of symbols are in, and its registers."""
        values: list[Any] = []
        waiting = tuple(
            None if stack is None else tuple(_register(values, v, _is_one) for v in stack)
            for stack in stacks
        )
        kinds = tuple(v.kind if isinstance(v, Symbol) else PLAIN for v in values)
        return self._number(State(waiting, kinds)), tuple(values)

    def _number(self, state: State) -> int:
        if state not in self._places:
            self._places[state] = len(self.states)
            self._by_atoms.setdefault(_atoms_of(state.waiting), []).append(len(self.states))
            self.states.append(state)
        return self._places[state]


def _register(values: list[Any], value: Any, same: Callable[[Any, Any], bool]) -> int:
    """Return the register that has a value, a new one where none has."""
    for number, known in enumerate(values):
        if same(known, value):
            return number
    values.append(value)
    return len(values) - 1


def _is_one(left: Any, right: Any) -> bool:
    return left is right


def _atoms_of(waiting: Sequence[Any]) -> tuple[bool, ...]:
    return tuple(stack is not None for stack in waiting)


def filled(state: State, values: Sequence[Any]) -> Stacks:
    """Return the stacks of a state whose registers have some values."""
    return tuple(
        None if stack is None else tuple(values[register] for register in stack)
        for stack in state.waiting
    )


def _fitting(state: State, stacks: Stacks) -> list[Any] | None:
    """Return what a state's registers hold for some stacks; None where the state is another."""
    values: list[Any] = [NOTHING] * len(state.kinds)
    for places, stack in zip(state.waiting, stacks, strict=True):
        if places is None or stack is None:
            if places is not stack:
                return None
            continue
        for register, value in zip(places, stack, strict=True):
            if values[register] is not NOTHING and not is_same(values[register], value):
                return None
            values[register] = value
    return values


def idle_classes(program: Program) -> list[bool] | None:
    """Return, for each combination of predicates' bits, whether such items never change anything.

    Such are the bids that `(Person | Bid)*` goes over: they need not be given to the program. None
    where there are too many combinations or states, or where items are kept by key.
    """
    predicates = len(program.bits.told)
    if program.has_keys or predicates > MOST_BITS or not program.layout.atoms:
        return None
    try:
        automaton = Automaton.from_program(program)
        automaton.meet(range(1 << predicates))
    except NotFlat:
        return None
    return [automaton.idle(bits) for bits in range(1 << predicates)]
