"""The source of a machine as one loop over columns: what a person would write for the query.

The loop stands in one control state at a time (`control`), and goes on to another loop where an
item leads to another state; items come as a number for what is true of their predicates and the
attributes that functions read, without an object for each. A function that is one expression is
written out (`inline`); another one gets the item as a view that is changed from item to item.

At an item everything is computed before anything is changed, so that where a function raises the
state is the one before the item.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from elsinore.quantitative.machine.control import Automaton, Choice, Kind, Outcome, State
from elsinore.quantitative.machine.emit import INDENT
from elsinore.quantitative.machine.page import Page
from elsinore.quantitative.machine.scope import Scope, cells, is_name

COLUMN = re.compile(r"\bc(\d+)\b")
COLUMNS = ", *columns"  # stands in the source for the columns that turn out to be read
IDLE = object()  # the key that stands for all that have had synchronization items only


def forked(state: list[Any]) -> list[Any]:
    """Return a key's state that goes on by itself: counts, which are changed in place, copied."""
    return [cell.copy() if type(cell) is dict else cell for cell in state]


@dataclass(slots=True)
class Writer(Page):
    """Writes the loops of an automaton.

    many: whether each item is of a stream of its own, told by a code, whose state is in a list.
    """

    automaton: Automaton = field(kw_only=True)
    record: Any = field(kw_only=True)  # makes an item of all columns
    many: bool = field(kw_only=True)
    always: bool = False  # whether there is a value at each item, so that no places are noted

    @property
    def most_cells(self) -> int:
        """How many variables a state has at most."""
        return max(sum(map(cells, state.kinds)) for state in self.automaton.states)

    def source(self, order: Sequence[int]) -> str:
        """Return the source; order: the classes by the numbers they get, the others are idle."""
        self.names |= {"deque": deque, "chain": chain, "forked": forked, "IDLE": IDLE}
        if self.columns is not None:
            self.names |= {"Record": self.record, "View": _view(self.columns)}
        given = "i, b" + (", k" if self.many else "") + COLUMNS
        self.always = all(
            _always_has(self.automaton.outcomes[number, bits])
            for number in range(len(self.automaton.states))
            for bits in order
        )
        most = self.most_cells
        states = range(len(self.automaton.states))
        self.line("def begin():")
        self.level = 1
        scope = Scope(self, self.automaton, State((), (), ()), "r")
        self.line(f"return {scope.first(self.automaton)}")
        self.level = 0
        self.line(f"def run({'S' if self.many else 's'}, items, places, values):")
        self.level = 1
        self.line("i = -1; fresh = None; at = places.append; put = values.append")
        self.line("v = View()" if self.columns is not None else "pass")
        if self.many:
            self.line("try:")
            self.level += 1
            self.line(f"for {given} in items:")
            self.level += 1
            self._classes(order, lambda bits: self._by_state(bits, list(states)))
            self.level -= 2
            self.line("except Exception:")
            self.line(f"{INDENT}return i")
            self.line("return None")
            return "\n".join(self.lines)
        variables, separator = ", ".join(f"r{n}" for n in range(most)), ", " if most else ""
        self.line(f"q, {variables} = s" if most else "q, = s")
        self.line("try:")
        self.line(f"{INDENT}while True:")
        self.level += 2
        for number in states:
            self.line(f"{'el' if number else ''}if q == {number}:")
            self.level += 1
            self.line(f"for {given} in items:")
            self.level += 1
            self._classes(order, lambda bits: self._transition(bits, number))  # noqa: B023
            self.level -= 1
            self.line("else:")
            self.line(f"{INDENT}break")
            self.level -= 1
        self.level = 1
        self.line("except Exception:")
        self.line(f"{INDENT}if fresh is not None and fresh[0] == i: del fresh[1][fresh[2]]")
        self.line(f"{INDENT}s[:] = [q{separator}{variables}]")
        self.line(f"{INDENT}return i")
        self.line(f"s[:] = [q{separator}{variables}]")
        self.line("return None")
        return "\n".join(self.lines)

    # --- branches -------------------------------------------------------------------------------

    def _classes(self, order: Sequence[int], write: Callable[[int], bool]) -> None:
        """Write what items of each class do: of the most frequent ones first."""
        wrote = 0
        for number, bits in enumerate(order):
            before = len(self.lines)
            self.line(f"{'el' if wrote else ''}if b == {number}:")
            self.level += 1
            if write(bits):
                wrote += 1
            else:
                del self.lines[before:]
            self.level -= 1
        if not wrote:
            self.line("pass")

    def _by_state(self, bits: int, states: Sequence[int]) -> bool:
        """Write what an item of a class does, by the state of its stream."""
        found = [n for n in states if not self._is_idle(n, bits)]
        if not found:
            return False
        self.line("s = S[k]")
        self.chain(found, lambda number: self._transition(bits, number))
        return True

    def _is_idle(self, number: int, bits: int) -> bool:
        outcome = self.automaton.outcomes[number, bits]
        return isinstance(outcome, Outcome) and outcome.changes_nothing(number)

    def _transition(self, bits: int, number: int) -> bool:
        """Write what an item of a class does in a state; return whether that is anything."""
        if self._is_idle(number, bits):
            return False
        state = self.automaton.states[number]
        scope = Scope(self, self.automaton, state, "s" if self.many else "r")
        scope.choose(self.automaton.outcomes[number, bits], number, bits, self._leave)
        return True

    def _leave(self, scope: Scope, outcome: Outcome, number: int) -> None:
        """Write the state after an item, and its value."""
        if outcome.has:
            text = scope.text(outcome.value)
            self.given_out.add(scope.record)
            self.line(f"put({text})" if self.always else f"at(i); put({text})")
        if self.many:
            scope.assign_list(outcome, number, "s")
        else:
            scope.assign_variables(outcome)
            if outcome.target != number:
                self.line(f"q = {outcome.target}; break")


def _always_has(outcome: Outcome | Choice) -> bool:
    if isinstance(outcome, Choice):
        return _always_has(outcome.yes) and _always_has(outcome.no)
    return outcome.has


def _view(columns: Sequence[str]) -> Any:
    """Return the class of the item that functions get, which is changed from item to item."""
    return type("Item", (), {"__slots__": tuple(n for n in columns if is_name(n))})


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of a machine, and the source that they are compiled from.

    A state is a list: the number of the control state, and what its registers hold. `begin`
    returns the first one. `run(state, items, places, values)` takes items, whose places it appends
    where there are values; it changes the state, and returns the place of an item that a function
    raised at, the state being the one before it. `columns`: the attributes that items come with;
    `cells`: the length of a state that is run; `made`: the class of the values, where they are
    tuples of its fields; `always`: there is a value at each item, and no places are appended.
    """

    source: str
    begin: Callable[[], list[Any]]
    run: Callable[..., int | None]
    columns: tuple[str, ...]
    cells: int
    made: type | None
    always: bool


def loops(
    automaton: Automaton,
    columns: tuple[str, ...] | None,
    record: Any,
    order: Sequence[int],
    *,
    many: bool,
    shown: frozenset[Kind],
) -> Loops:
    """Write an automaton's loops; `order`: the classes of items, by the numbers they come with.

    shown: the counts of which older versions are read; others are dicts that are changed in place.
    """
    writer = Writer(columns, shown, automaton=automaton, record=record, many=many)
    text = writer.source(order)
    if len(writer.given_out) > 1:  # of several kinds: as they are
        writer = Writer(columns, shown, makes=False, automaton=automaton, record=record, many=many)
        text = writer.source(order)
    (made,) = writer.given_out or {None}
    if columns is None:
        used: tuple[str, ...] = ("x",)
        given = ", x"
    else:
        numbers = sorted({int(n) for n in COLUMN.findall(text)})
        used = tuple(columns[n] for n in numbers)
        given = "".join(f", c{n}" for n in numbers)
    text = text.replace(COLUMNS, given)
    names = writer.names
    exec(compile(text, f"{automaton.program.filename[:-1]}, flat>", "exec"), names)
    size = 1 + writer.most_cells
    return Loops(text, names["begin"], names["run"], used, size, made, writer.always)
