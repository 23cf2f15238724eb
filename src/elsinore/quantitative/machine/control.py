"""A machine's control states: what it does at an item, by where its threads wait.

Which threads wait where is all that a machine's branches depend on, with what is true of the item.
So a machine is a finite automaton whose transitions are straight code over registers, a cost
register automaton (Alur, D'Antoni, Deshmukh, Raghothaman and Yuan, Regular Functions and Cost
Register Automata, LICS 2013). Its states and transitions are found by running the machine itself
on symbols in place of values, as far as items of some classes lead. Two variables that hold the
same value in a state are one register there, and what is computed twice from the same values is
computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from elsinore.quantitative.folds import Merging, most_common
from elsinore.quantitative.machine.keys import KeyThreads, Program
from elsinore.quantitative.machine.tracer import PLAIN, Asked, Kind, Op, Symbol, Tracer, registers
from elsinore.quantitative.windows import Sliding

MOST_STATES = 48  # of a machine; one with more runs as it is
MOST_TRANSITIONS = 600


class NotFlat(Exception):  # noqa: N818 - a reason, which nobody has to mend
    """Why a machine is not written state by state."""


@dataclass(frozen=True, slots=True)
class State:
    """A control state: which atoms threads wait at, and in which registers their values are."""

    waiting: tuple[bool, ...]  # by variable of the machine; False for those that are no flags
    registers: tuple[int | None, ...]  # by variable; None for flags, and where nobody waits
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

    name: str
    yes: Outcome | Choice
    no: Outcome | Choice


NOTHING = object()  # the value of a variable where nobody waits


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
    """The control states of a machine, and what items of some classes do in them."""

    program: Program
    tracer: Tracer
    states: list[State] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)  # bits of predicates
    outcomes: dict[tuple[int, int], Outcome | Choice] = field(default_factory=dict)
    begins: tuple[Any, ...] = ()  # what the first state's registers hold
    first_ops: tuple[Op, ...] = ()
    inner: dict[int, Automaton] = field(default_factory=dict)  # of keys, by number of the node
    samples: dict[int, KeyThreads] = field(default_factory=dict)
    _places: dict[State, int] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, *, is_inner: bool = False) -> Automaton:
        """Return the automaton with the first state. Raises NotFlat where there can be none."""
        if is_inner and program.keyed:
            raise NotFlat("keys within keys")
        tracer = Tracer(program, windows=not is_inner)
        automaton = cls(program, tracer)
        names = [n for n in tracer.functions if n.startswith("keys")]
        for name, inner, make in zip(names, program.keyed, program.keys, strict=True):
            number = int(name.removeprefix("keys"))
            automaton.inner[number] = cls.of(inner, is_inner=True)
            automaton.samples[number] = make()
            if automaton.samples[number].test is not None:
                raise NotFlat("a synchronization predicate in plain Python")
        state = tracer.begin()
        automaton.first_ops = tuple(tracer.ops)
        if any(op.role not in {"keys", "call", "collect"} for op in automaton.first_ops):
            raise NotFlat("a window with values at the beginning")
        _, automaton.begins = automaton._state(state)
        return automaton

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
                    self.outcomes[place, bits] = self._outcome(place, bits, {})
                    if len(self.outcomes) > MOST_TRANSITIONS or len(self.states) > MOST_STATES:
                        raise NotFlat("too many states")
            place += 1
        return len(self.outcomes) > had

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
                kinds |= _shown(each, self.tracer.windows)
                for op in each.ops:
                    if op.role == "feed":
                        number = op.given[0].kind.number
                        if bits & self.samples[number].mask:  # its effect must be put off
                            inner = self.inner[number]
                            for place in range(len(inner.states)):
                                for each_outcome in outcomes_of(inner.outcomes[place, bits]):
                                    kinds |= {
                                        o.result.kind for o in each_outcome.ops if o.role == "count"
                                    }
        return kinds.union(*(inner.shown() for inner in self.inner.values()))

    def place(self, waiting: tuple[bool, ...], values: tuple[Any, ...]) -> tuple[int, list[Any]]:
        """Return a state that variables can be in, and the values of its registers.

        values: by variable, NOTHING for flags, and where nobody waits.
        """
        best: tuple[int, list[Any]] | None = None
        for number, state in enumerate(self.states):
            fitting = self._held(state, values) if state.waiting == waiting else None
            if fitting is not None and (best is None or len(fitting) < len(best[1])):
                best = number, fitting
        if best is not None:
            return best
        if self.tracer.windows or self.program.threads:
            raise NotFlat("a state that none of the items so far leads to")
        fitting, place = [], []
        for value in values:
            known = next(
                (n for n, each in enumerate(fitting) if is_same(each, value)), len(fitting)
            )
            place.append(None if value is NOTHING else known)
            fitting += [value] if value is not NOTHING and known == len(fitting) else []
        return self._number(State(waiting, tuple(place), (PLAIN,) * len(fitting))), fitting

    @staticmethod
    def _held(state: State, values: tuple[Any, ...]) -> list[Any] | None:
        registers: list[Any] = [NOTHING] * len(state.kinds)
        for register, value in zip(state.registers, values, strict=True):
            if register is None:
                continue
            if registers[register] is not NOTHING and not is_same(registers[register], value):
                return None
            registers[register] = value
        return registers

    # --- one item -------------------------------------------------------------------------------

    def _outcome(self, place: int, bits: int, truths: dict[str, bool]) -> Outcome | Choice:
        result = self.tracer.step(self._marks(self.states[place]), bits, truths)
        if isinstance(result, Asked):
            yes, no = ({**truths, result.name: truth} for truth in (True, False))
            return Choice(
                result.name, self._outcome(place, bits, yes), self._outcome(place, bits, no)
            )
        after, has, value = result
        ops = tuple(self.tracer.ops)
        self._check(ops, bits)
        if after is None:
            after = tuple(False if "_" not in name else None for name in self.program.variables)
        target, values = self._state(after)
        return Outcome(ops, target, values, bool(has), value)

    def _check(self, ops: tuple[Op, ...], bits: int) -> None:
        """Raise NotFlat for what is not written: an item of a key that goes to several maps."""
        fed = [op.given[0] for op in ops if op.role == "feed"]
        for symbol in fed:
            if not bits & self.samples[symbol.kind.number].mask:
                collects = any(op.role == "collect" and op.given[0] in fed for op in ops)
                if len(fed) > 1 or collects:
                    raise NotFlat("several maps of keys at once")

    def _marks(self, state: State) -> tuple[Any, ...]:
        symbols = registers(state.kinds)
        for symbol in symbols:
            symbol.tracer = self.tracer
        return tuple(
            waits if register is None and "_" not in name else
            (None if register is None else symbols[register])
            for name, waits, register in zip(
                self.program.variables, state.waiting, state.registers, strict=True
            )
        )  # fmt: skip

    def _state(self, values: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
        """Return the number of a state of the machine in symbols, and what its registers hold."""
        names = self.program.variables
        flags = dict(zip(names, values, strict=True))
        registers: list[Any] = []
        place: list[int | None] = []
        for name, value in zip(names, values, strict=True):
            if "_" not in name or not flags[name.partition("_")[0]]:
                place.append(None)
                continue
            known = next((n for n, register in enumerate(registers) if register is value), None)
            place.append(len(registers) if known is None else known)
            if known is None:
                registers.append(value)
        waiting = tuple("_" not in n and bool(v) for n, v in zip(names, values, strict=True))
        kinds = tuple(v.kind if isinstance(v, Symbol) else PLAIN for v in registers)
        return self._number(State(waiting, tuple(place), kinds)), tuple(registers)

    def _number(self, state: State) -> int:
        if state not in self._places:
            self._places[state] = len(self.states)
            self.states.append(state)
        return self._places[state]
