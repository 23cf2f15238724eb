"""The source of a machine as one loop over columns: what a person would write for the query.

The loop stands in one control state at a time (`control`), and goes on to another loop where an
item leads to another state; items come as a number for what is true of their predicates and the
attributes that functions read, without an object for each. A function that is one expression is
written out (`inline`); another one gets the item as a view that is changed from item to item.

At an item everything is computed before anything is changed, so that where a function raises the
state is the one before the item.
"""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from elsinore.quantitative.machine.control import (
    Automaton,
    Outcome,
    State,
    outcomes_of,
)
from elsinore.quantitative.machine.derive import Kind
from elsinore.quantitative.machine.names import INDENT, Page, is_name
from elsinore.quantitative.machine.scope import Scope, cells

COLUMN = re.compile(r"\bc(\d+)\b")
GIVEN = "*given"  # stands in the source for what turns out to be read of an item
IDLE = object()  # the key that stands for all that have had synchronization items only


def forked(state: list[Any]) -> list[Any]:
    """Return a key's state that goes on by itself: counts, which are changed in place, copied."""
    return [cell.copy() if type(cell) is dict else cell for cell in state]


@dataclass(slots=True)
class Writer(Page):
    """Writes the loops of an automaton.

    many: whether each item is of a stream of its own, told by a code, by which the states lie in
    lists; order: the classes by the numbers that items come with, the others are idle.
    """

    automaton: Automaton = field(kw_only=True)
    record: Any = field(kw_only=True)  # makes an item of all columns
    many: bool = field(kw_only=True)
    order: Sequence[int] = field(kw_only=True)

    @property
    def most_cells(self) -> int:
        """How many variables a state has at most."""
        return max(sum(map(cells, state.kinds)) for state in self.automaton.states)

    @property
    def registers(self) -> str:
        """What a state is unpacked to."""
        letters = ("Q", "R") if self.many else ("q", "r")
        return ", ".join([letters[0], *(f"{letters[1]}{n}" for n in range(self.most_cells))]) + ","

    def source(self) -> str:
        """Return the source of the loops."""
        self.names |= {"deque": deque, "chain": chain, "forked": forked, "IDLE": IDLE}
        if self.columns is not None:
            self.names |= {"Record": self.record, "View": _view(self.columns)}
        self.line("def begin():")
        self.level = 1
        scope = Scope(self, self.automaton, State((), ()), "r")
        self.line(f"return {scope.first(self.automaton)}")
        head, self.lines = self.lines, []
        self._several() if self.many else self._single()
        width = len(self._fields() or "1")
        head += [
            "def run(state, items, left, odd, puts):",
            f"{INDENT}{self.registers} = state",
            f"{INDENT}{''.join(f'put{n}, ' for n in range(width))}= puts",
            f"{INDENT}fresh = None",
            *([f"{INDENT}v = View()"] if self.columns is not None else []),
        ]
        return "\n".join([*head, *self.lines])

    def _fields(self) -> tuple[Any, ...]:
        """Return the fields of the records that values are given out as the fields of."""
        (kind,) = self.given_out if len(self.given_out) == 1 else {None}
        return () if kind is None else dataclasses.fields(kind)

    def _several(self) -> None:
        """Write the loop for items of several streams."""
        states = range(len(self.automaton.states))
        self.line("try:")
        self.level += 1
        self.line(f"for {GIVEN} in items:")
        self.level += 1
        self._classes(lambda bits: self._by_state(bits, states))
        self.level = 1
        self.line("except Exception:")
        self.line(f"{INDENT}return True")
        self.line("return False")

    def _single(self) -> None:
        """Write the loops for items of one stream, one for each control state."""
        self.line("try:")
        self.line(f"{INDENT}while True:")
        self.level += 2
        for number in range(len(self.automaton.states)):
            self.line(f"{'el' if number else ''}if q == {number}:")
            self.level += 1
            self.line(f"for {GIVEN} in items:")
            self.level += 1
            self._classes(lambda bits: self._transition(bits, number))  # noqa: B023
            self.level -= 1
            self.line("else:")
            self.line(f"{INDENT}break")
            self.level -= 1
        self.level = 1
        self.line("except Exception:")
        self.line(f"{INDENT}if fresh is not None and fresh[0] == left(): del fresh[1][fresh[2]]")
        self.line(f"{INDENT}return True")
        self.line("finally:")
        self.line(f"{INDENT}state[:] = [{self.registers}]")
        self.line("return False")

    # --- branches -------------------------------------------------------------------------------

    def _classes(self, write: Callable[[int], bool]) -> None:
        """Write what items of each class do: of the most frequent ones first."""
        wrote = 0
        for number, bits in enumerate(self.order):
            before = len(self.lines)
            if len(self.order) > 1:
                self.line(f"{'el' if wrote else ''}if b == {number}:")
                self.level += 1
            if write(bits):
                wrote += 1
            else:
                del self.lines[before:]
            self.level -= len(self.order) > 1
        if not wrote:
            self.line("pass")

    def _by_state(self, bits: int, states: Sequence[int]) -> bool:
        """Write what an item of a class does, by the state of its stream, likely ones first."""
        acting = [number for number in states if self._acts(number, bits)]
        acting.sort(key=lambda number: _unlikely(self.automaton, number, bits))
        if acting:
            self.chain(acting, lambda number: self._transition(bits, number), "Q[k]")
        return bool(acting)

    def _acts(self, number: int, bits: int) -> bool:
        """Return whether anything is to be written for an item of a class in a state."""
        outcome = self.automaton.outcomes[number, bits]
        idle = isinstance(outcome, Outcome) and outcome.changes_nothing(number)
        return not idle or expects_value(self.automaton, bits)

    def _transition(self, bits: int, number: int) -> bool:
        """Write what an item of a class does in a state; return whether that is anything."""
        if not self._acts(number, bits):
            return False
        state = self.automaton.states[number]
        scope = Scope(self, self.automaton, state, "R" if self.many else "r")
        expected = expects_value(self.automaton, bits)
        scope.choose(
            self.automaton.outcomes[number, bits], number, bits,
            lambda scope, outcome, number: self._leave(scope, outcome, number, expected),
        )  # fmt: skip
        return True

    def _leave(self, scope: Scope, outcome: Outcome, number: int, expected: bool) -> None:
        """Write the state after an item, and its value."""
        if outcome.has:
            self.given_out.add(scope.record)
            texts = [scope.text(outcome.value)] if scope.record is None else scope.fields
            for place, text in enumerate(texts):
                self.line(f"put{place}({text})")
        if outcome.has != expected:
            self.line("odd(left())")
        if self.many:
            scope.assign_columns(outcome, number)
            return
        scope.assign_variables(outcome)
        if outcome.target != number:
            self.line(f"q = {outcome.target}; break")


def expects_value(automaton: Automaton, bits: int) -> bool:
    """Return whether items of a class are expected to have values: those in the likeliest state."""
    likely = min(
        range(len(automaton.states)), key=lambda number: _unlikely(automaton, number, bits)
    )
    return any(outcome.has for outcome in outcomes_of(automaton.outcomes[likely, bits]))


def _unlikely(automaton: Automaton, number: int, bits: int) -> tuple[bool, bool, bool, int]:
    """Return an order of states by how rare items of a class may be in them.

    Streams are mostly where items leave them and change something there, and seldom at an end.
    """
    outcomes = outcomes_of(automaton.outcomes[number, bits])
    idle = all(outcome.changes_nothing(number) for outcome in outcomes)
    leaves = all(outcome.target != number for outcome in outcomes)
    return idle, leaves, not any(outcome.has for outcome in outcomes), number


def _view(columns: Sequence[str]) -> Any:
    """Return the class of the item that functions get, which is changed from item to item."""
    return type("Item", (), {"__slots__": tuple(n for n in columns if is_name(n))})


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of a machine, and the source that they are compiled from.

    A state is a list: the number of the control state, and what its registers hold; the states of
    several streams are lists of these. `begin` returns the first one. `run(state, items, left, odd,
    puts)` takes items, changes the state, and returns whether a function raised, the state being
    the one before the item. `left()` tells how many items there are to come; it is appended by
    `odd` at an item that has a value where its class is expected to have none, or none where one
    is. Values are appended by `puts`, one for each field of the class `made`, or one alone.

    numbered: whether items come with the number of their class; columns: with which attributes;
    cells: the length of a state; expected: by class, whether its items have values.
    """

    source: str
    begin: Callable[[], list[Any]]
    run: Callable[..., bool]
    numbered: bool
    columns: tuple[str, ...]
    cells: int
    made: type | None
    expected: tuple[bool, ...]

    @property
    def width(self) -> int:
        """How many lists values are appended to."""
        return 1 if self.made is None else len(dataclasses.fields(self.made))


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
    given: dict[str, Any] = {
        "automaton": automaton, "record": record, "many": many, "order": order,
    }  # fmt: skip
    writer = Writer(columns, shown, **given)
    text = writer.source()
    if len(writer.given_out) > 1:  # of several kinds: as they are
        writer = Writer(columns, shown, makes=False, **given)
        text = writer.source()
    (made,) = writer.given_out or {None}
    if columns is None:
        used: tuple[str, ...] = ("x",)
        reads = ["x"]
    else:
        numbers = sorted({int(number) for number in COLUMN.findall(text)})
        used = tuple(columns[number] for number in numbers)
        reads = [f"c{number}" for number in numbers]
    numbered = len(order) > 1 or not (reads or many)
    reads = ["b"] * numbered + ["k"] * many + reads
    text = text.replace(GIVEN, ", ".join(reads))
    names = writer.names
    exec(compile(text, "<elsinore loops>", "exec"), names)
    return Loops(
        source=text,
        begin=names["begin"],
        run=names["run"],
        numbered=numbered,
        columns=used,
        cells=1 + writer.most_cells,
        made=made,
        expected=tuple(expects_value(automaton, bits) for bits in order),
    )
