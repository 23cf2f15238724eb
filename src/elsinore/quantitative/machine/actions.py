"""A query with many control states: a function for each state and class of items that is met.

The loops of `flat` stand for all states that items can lead to, so there may only be few. Here a
state and a class of items are looked up in a table; what such an item does is derived and written
as a function when that is first asked for. The states of keys have tables of their own, also those
of keys within keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from elsinore.model.garbage import without_garbage_collection
from elsinore.quantitative.machine.control import Automaton, NotFlat, Outcome, State
from elsinore.quantitative.machine.derive import ITEM, Kind, Op
from elsinore.quantitative.machine.evaluate import Program
from elsinore.quantitative.machine.flat_states import as_stacks, flattened
from elsinore.quantitative.machine.names import Page
from elsinore.quantitative.machine.scope import Scope, cells
from elsinore.quantitative.machine.walk import State as Stacks

MOST_ACTIONS = 5_000  # of a table
NOTHING = object()  # what a function returns where there is no value


class Table:
    """What items do in the control states of an automaton.

    A state is a list: the number of the control state, and what its registers hold; a function of
    it and an item changes it, and returns the value, or NOTHING. Everything is computed before
    anything is changed, so that where a user's function raises the state is that before the item.
    """

    def __init__(self, automaton: Automaton, shown: frozenset[Kind]) -> None:
        self.automaton = automaton
        self._shown = shown
        self._actions: dict[tuple[int, int], Any] = {}
        self._inner = {n: Table(inner, shown) for n, inner in automaton.inner.items()}

    def take(self, state: list[Any], item: Any, bits: int) -> Any:
        """Take an item of a class; return the value, or NOTHING."""
        action = self._actions.get((state[0], bits)) or self._written(state[0], bits)
        return action(state, item)

    def feed(self, states: dict[Any, Any], idle: Any, key: Any, item: Any, bits: int) -> None:
        """Give an item to its own key, one of the states of keys."""
        state = states.get(key)
        if state is None:
            state = self.forked(idle)
            self.take(state, item, bits)
            states[key] = state
        else:
            self.take(state, item, bits)

    def feed_all(
        self, states: dict[Any, Any], idle: Any, item: Any, bits: int
    ) -> tuple[dict[Any, Any], dict[Any, Any], list[Any]]:
        """Return the states of all keys after an item, their values, and the state of idle keys."""
        after: dict[Any, Any] = {}
        values: dict[Any, Any] = {}
        for key, state in states.items():
            after[key] = self.forked(state)
            value = self.take(after[key], item, bits)
            if value is not NOTHING:
                values[key] = value
        idle = self.forked(idle)
        self.take(idle, item, bits)
        return after, values, idle

    def forked(self, state: list[Any]) -> list[Any]:
        """Return a state of a key that goes on by itself."""
        fork, at = state[:], 1
        if not self._inner:
            return fork
        for kind in self.automaton.states[state[0]].kinds:
            if kind.of == "keys":
                inner = self._inner[kind.number]
                fork[at] = {key: inner.forked(each) for key, each in state[at].items()}
                fork[at + 1] = inner.forked(state[at + 1])
            at += cells(kind)
        return fork

    def begin(self) -> list[Any]:
        """Return the state before any item."""
        page = self._page()
        page.line("def begin():")
        page.level = 1
        scope = _Action(page, self.automaton, State((), ()), "u")
        page.line(f"return {scope.first(self.automaton)}")
        state: list[Any] = _run(page, "begin")()
        return state

    def _page(self) -> Page:
        page = Page(None, self._shown, makes=False)
        page.names |= {"deque": deque, "NOTHING": NOTHING}
        page.names |= {f"table{number}": inner for number, inner in self._inner.items()}
        return page

    def _written(self, number: int, bits: int) -> Any:
        """Write what an item of a class does in a state; return it as a function."""
        if len(self._actions) >= MOST_ACTIONS:
            raise NotFlat("too many states")
        outcome = self.automaton.outcome(number, bits)
        page = self._page()
        page.line("def act(u, x):")
        page.level = 1
        scope = _Action(page, self.automaton, self.automaton.states[number], "u")
        scope.choose(outcome, number, bits, _leave)
        action = self._actions[number, bits] = _run(page, "act")
        return action


class _Action(Scope):
    """Writes operations on keys as calls of their table."""

    def feed_own(self, op: Op, bits: int) -> None:
        """Write that an item goes to its own key."""
        threads = op.given[0]
        number = threads.kind.number
        key = self._assign(self.call(self.automaton.keys_of(number).key, (ITEM,)))
        states = f"{self.text(threads)}, {self._second(threads)}"
        self.writer.line(f"table{number}.feed({states}, {key}, x, {bits})")

    def feed_all(self, op: Op, outcome: Outcome, bits: int) -> None:
        """Write that an item goes to all keys; and the keys' values then."""
        del outcome
        threads = op.given[0]
        after, out, idle = (self.writer.temporary() for _ in range(3))
        states = f"{self.text(threads)}, {self._second(threads)}"
        call = f"table{threads.kind.number}.feed_all({states}, x, {bits})"
        self.writer.line(f"{after}, {out}, {idle} = {call}")
        self.outs[id(threads)] = out
        self.texts[id(threads)], self.seconds[id(threads)] = after, idle


def _leave(scope: Scope, outcome: Outcome, number: int) -> None:
    """Write the state after an item, and its value."""
    writer = scope.writer
    if outcome.has:
        writer.line(f"value = {scope.text(outcome.value)}")
    scope.assign_list(outcome, number, "u")
    writer.line(f"return {'value' if outcome.has else 'NOTHING'}")


def _run(page: Page, name: str) -> Any:
    """Return the function that a page defines."""
    exec(compile("\n".join(page.lines), "<elsinore action>", "exec"), page.names)
    return page.names[name]


class Actions:
    """The states of a query's streams, told by codes 0, 1, ..., and the table that runs them."""

    def __init__(self, program: Program) -> None:
        automaton = Automaton.from_program(program)
        self._shown = frozenset(_counts(automaton))
        self._table = Table(automaton, self._shown)
        self._states: list[list[Any] | None] = []

    def grow(self, count: int) -> None:
        """Make room for streams with codes below `count`."""
        self._states += [None] * (count - len(self._states))

    def run(self, bits: Any, codes: Any, items: Sequence[Any]) -> tuple[Any, list[Any], int | None]:
        """Take items, up to one at which a function raises, which is not taken.

        Returns after which of them there are values, the values, and the item at which a function
        raised, if one did. Raises NotFlat where there are too many states, or keys that are not
        written; then the states are of no use.
        """
        for code, state in enumerate(self._states):
            if state is None:
                self._states[code] = self._table.begin()
        places: list[int] = []
        values: list[Any] = []
        states: list[Any] = self._states
        given = zip(bits.tolist(), codes.tolist(), items, strict=True)
        take = self._table.take
        with without_garbage_collection():
            for row, (word, code, item) in enumerate(given):
                try:
                    value = take(states[code], item, word)
                except NotFlat:
                    raise
                except Exception:  # what it says is for the generic loop to tell
                    return np.array(places, np.int64), values, row
                if value is not NOTHING:
                    places.append(row)
                    values.append(value)
        return np.array(places, np.int64), values, None

    def state(self, code: int) -> Stacks | None:
        """Return a stream's state as stacks; None before its first item."""
        state = self._states[code]
        return None if state is None else as_stacks(self._table.automaton, state, self._shown)

    def put(self, code: int, state: Stacks) -> None:
        """Take a state of stacks."""
        self._states[code] = flattened(self._table.automaton, state, self._shown)


def _counts(automaton: Automaton) -> list[Kind]:
    """Return the counts of an automaton, which are values that nothing changes in place."""
    places = automaton.program.layout.places
    inner = [kind for each in automaton.inner.values() for kind in _counts(each)]
    return [*inner, *(Kind("counts", place.number) for place in places)]
