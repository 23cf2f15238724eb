"""Symbolic automata: states, and transitions labelled with symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from elsinore.automata.symbols import Intersections, Letter, Symbol, letters

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition from state `source` to state `target` for events that satisfy `symbol`."""

    source: int
    symbol: Symbol
    target: int


@dataclass(frozen=True, slots=True)
class Nfa:
    """A nondeterministic automaton over events: states 0 to `states` - 1, with initial state 0.

    Raises ValueError for other states.

    >>> moves = Transition(0, Symbol("A"), 1), Transition(1, Symbol("A"), 1)
    >>> loop = Nfa(2, moves, frozenset({1}))
    >>> loop.accepts([Letter("A"), Letter("A")]), loop.accepts([])
    (True, False)
    """

    states: int
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]
    _outgoing: tuple[tuple[Transition, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        used_states = {0} | self.accepting
        used_states.update(
            state for move in self.transitions for state in (move.source, move.target)
        )
        if not used_states <= set(range(self.states)):
            raise ValueError(f"states are 0 to {self.states - 1}, not {sorted(used_states)}")
        outgoing: list[list[Transition]] = [[] for _ in range(self.states)]
        for move in self.transitions:
            outgoing[move.source].append(move)
        object.__setattr__(self, "_outgoing", tuple(map(tuple, outgoing)))

    def outgoing(self, state: int) -> tuple[Transition, ...]:
        """Return the transitions that leave a state."""
        return self._outgoing[state]

    def symbols(self) -> tuple[Symbol, ...]:
        """Return the symbols of the transitions, each once, in order of first occurrence."""
        return tuple(dict.fromkeys(move.symbol for move in self.transitions))

    def letters(self) -> tuple[Letter, ...]:
        """Return the classes of events that the automaton distinguishes."""
        return letters(self.symbols())

    def successors(self, state: int, letter: Letter) -> tuple[int, ...]:
        """Return the states that an event of a letter may lead to, each once, ascending."""
        return tuple(sorted(self.step((state,), letter)))

    def step(self, states: Iterable[int], letter: Letter) -> frozenset[int]:
        """Return all states that an event of a letter may lead to from any of `states`."""
        return frozenset(
            move.target
            for state in states
            for move in self._outgoing[state]
            if move.symbol.holds(letter)
        )

    def table(self, alphabet: Iterable[Letter]) -> dict[Letter, tuple[tuple[int, ...], ...]]:
        """Return the successors of every state by every letter of an alphabet: [letter][state]."""
        successors = {}
        for letter in alphabet:
            satisfied = {symbol for symbol in self.symbols() if symbol.holds(letter)}
            successors[letter] = tuple(
                tuple(sorted({move.target for move in outgoing if move.symbol in satisfied}))
                for outgoing in self._outgoing
            )
        return successors

    def accepts(self, word: Sequence[Letter]) -> bool:
        """Return whether some run over a word ends in an accepting state."""
        states = frozenset({0})
        for letter in word:
            states = self.step(states, letter)
        return bool(states & self.accepting)

    def trim(self) -> frozenset[int]:
        """Return the states on paths from the initial to an accepting state.

        Transitions whose symbol is a contradiction are ignored.
        """
        dead = {symbol for symbol in self.symbols() if symbol.is_unsatisfiable()}
        live = [move for move in self.transitions if move.symbol not in dead]
        forward = closure({0}, ((move.source, move.target) for move in live))
        return forward & closure(self.accepting, ((move.target, move.source) for move in live))

    def trimmed(self) -> Nfa:
        """Return the automaton without useless states, with the others renumbered in order.

        State 0 remains even if the language is empty.
        """
        useful = self.trim() | {0}
        number = {state: place for place, state in enumerate(sorted(useful))}
        live = {symbol: not symbol.is_unsatisfiable() for symbol in self.symbols()}
        return Nfa(
            len(number),
            tuple(
                Transition(number[move.source], move.symbol, number[move.target])
                for move in self.transitions
                if move.source in useful and move.target in useful and live[move.symbol]
            ),
            frozenset(number[state] for state in self.accepting & useful),
        )

    def reversed(self) -> Nfa:
        """Return an automaton of the reversed words.

        Its state 0 is new and its state p + 1 is state p of this automaton.
        """
        reversed_transitions: list[Transition] = []
        for move in self.transitions:
            if move.target in self.accepting:
                reversed_transitions.append(Transition(0, move.symbol, move.source + 1))
            reversed_transitions.append(Transition(move.target + 1, move.symbol, move.source + 1))
        ends = {0, 1} if 0 in self.accepting else {1}
        return Nfa(self.states + 1, tuple(reversed_transitions), frozenset(ends))


class ParallelRuns:
    """Simultaneous runs of two automata over one word: the edges of their product automaton."""

    def __init__(self, automata: Iterable[Nfa]) -> None:
        self.intersections = Intersections(symbol for nfa in automata for symbol in nfa.symbols())

    def steps(
        self, left: Nfa, state: int, right: Nfa, other_state: int
    ) -> Iterator[tuple[Symbol, int, int]]:
        """Yield each common step of two states: its symbol and the two states after it.

        A pair of states may be yielded more than once.
        """
        for move in left.outgoing(state):
            for other_move in right.outgoing(other_state):
                joint_symbol = self.intersections.intersect(move.symbol, other_move.symbol)
                if joint_symbol is not None:
                    yield joint_symbol, move.target, other_move.target


def closure(states: Iterable[State], steps: Iterable[tuple[State, State]]) -> frozenset[State]:
    """Return the states that are reachable from `states` by any number of steps."""
    onward: dict[State, list[State]] = {}
    for source, target in steps:
        onward.setdefault(source, []).append(target)
    reached = set(states)
    pending = list(reached)
    while pending:
        for target in onward.get(pending.pop(), ()):
            if target not in reached:
                reached.add(target)
                pending.append(target)
    return frozenset(reached)
