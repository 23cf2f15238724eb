"""The states of a machine that is run by flat loops, and how they take a batch of items."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow, to_numpy
from elsinore.model.garbage import without_garbage_collection
from elsinore.quantitative.machine.control import Automaton, NotFlat, filled
from elsinore.quantitative.machine.derive import VALUE, Kind
from elsinore.quantitative.machine.evaluate import Keys, Program
from elsinore.quantitative.machine.flat import Loops, loops
from elsinore.quantitative.machine.scope import cells
from elsinore.quantitative.machine.walk import State
from elsinore.quantitative.values import Made
from elsinore.quantitative.versions import Counts

CHUNK = 1 << 16  # items that columns are made lists for at a time
IDLE = 255  # the number of classes of which items change nothing; the others have less


class FlatStates:
    """The states of a query's streams, told by codes 0, 1, ..., and the loops that run them.

    columns: the attributes that items have, None where items are objects.
    """

    def __init__(
        self, program: Program, columns: tuple[str, ...] | None = None, record: Any = None
    ) -> None:
        self._automaton = Automaton.from_program(program)
        if self._automaton.has_nested_keys:
            raise NotFlat("keys within keys")
        self._program, self._columns, self._record = program, columns, record
        self._order: list[int] = []  # the classes, the most frequent first
        self._shown: frozenset[Kind] = frozenset()
        self._loops: dict[bool, Loops] = {}  # by whether there are several streams
        self._cells: list[list[Any]] = [[]]  # by code: the control states, -1: not begun; registers
        self.taken: Any = np.zeros(0, np.int64)  # items, by code

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self._cells[0])

    def grow(self, count: int) -> None:
        """Make room for streams with codes below `count`."""
        added = count - self.count
        if added > 0:
            for place, cell in enumerate(self._cells):
                cell.extend([None if place else -1] * added)
            self.taken = np.concatenate([self.taken, np.zeros(added, np.int64)])

    def keep_only(self, code: int) -> None:
        """Let go of all streams but one, which gets the code 0."""
        self._cells = [[cell[code]] for cell in self._cells]
        self.taken = self.taken[code : code + 1].copy()

    def forget(self, code: int) -> None:
        """Let a stream be as a new one."""
        for place, cell in enumerate(self._cells):
            cell[code] = None if place else -1
        self.taken[code] = 0

    # --- a batch --------------------------------------------------------------------------------

    def run(
        self, bits: Any, codes: Any, items: Mapping[str, pa.Array] | Sequence[Any]
    ) -> tuple[Any, list[Any] | Made, int | None]:
        """Take items: columns by name, or objects. `taken` is the caller's to change.

        Returns after which of them there are values, the values, and the item at which a function
        raised, if one did: the states are those before it. Raises NotFlat, before any item is
        taken, where they lead to too many states.
        """
        many = self.count > 1
        if many and self._program.has_keys:
            raise NotFlat("keys within several streams")
        self._meet(bits)
        numbers = self._numbered(bits)
        machine = self._machine(many=many)
        self._begin(machine)
        acting = np.flatnonzero(numbers != IDLE)
        rows = None if len(acting) == len(bits) else acting
        states: Any = self._cells if many else [cell[0] for cell in self._cells]
        values: list[list[Any]] = [[] for _ in range(machine.width)]
        places: list[Any] = [np.zeros(0, np.int64)]
        stopped: int | None = None
        expected = np.array(machine.expected, bool)
        for begin in range(0, len(acting), CHUNK):
            few = acting[begin : begin + CHUNK]
            where = few if rows is not None else slice(begin, begin + len(few))
            given: list[Any] = [numbers[where].tobytes()] if machine.numbered else []
            given += [codes[where].tolist()] if many else []
            given += self._lists(items, machine.columns, where)
            first = iter(given[0])
            odd: list[int] = []
            with without_garbage_collection():
                raised = machine.run(
                    states,
                    zip(first, *given[1:], strict=True) if len(given) > 1 else first,
                    first.__length_hint__,
                    odd.append,
                    [each.append for each in values],
                )
            has = expected[numbers[where]]
            has[len(few) - 1 - np.array(odd, np.int64)] ^= True
            if raised:
                at = len(few) - 1 - first.__length_hint__()
                stopped, has[at:] = int(few[at]), False
            places.append(few[has])
            if raised:
                break
        if not many:
            for cell, state in zip(self._cells, states, strict=True):
                cell[0] = state
        made: Any = values[0] if machine.made is None else Made(values, machine.made)
        return np.concatenate(places), made, stopped

    def _begin(self, machine: Loops) -> None:
        """Begin streams that have not, and make room for the registers of the loops."""
        self._cells += [[None] * self.count for _ in range(machine.cells - len(self._cells))]
        fresh = [code for code, number in enumerate(self._cells[0]) if number < 0]
        if not fresh:
            return
        kinds = self._automaton.states[0].kinds
        alike = all(kind.of == VALUE or kind in self._shown for kind in kinds)  # may be shared
        states = [machine.begin()] * len(fresh) if alike else [machine.begin() for _ in fresh]
        for place, cell in enumerate(self._cells[: len(states[0])]):
            if alike and len(fresh) == self.count:
                cell[:] = [states[0][place]] * self.count
                continue
            for code, state in zip(fresh, states, strict=True):
                cell[code] = state[place]

    def _put(self, code: int, state: Sequence[Any]) -> None:
        self._cells += [[None] * self.count for _ in range(len(state) - len(self._cells))]
        for place, cell in enumerate(self._cells):
            cell[code] = state[place] if place < len(state) else None

    @staticmethod
    def _lists(items: Any, used: Sequence[str], where: Any) -> list[list[Any]]:
        if isinstance(items, Mapping):
            return [as_list(items[name], where) for name in used]
        if isinstance(where, slice):
            return [list(items[where])]
        return [[items[row] for row in where.tolist()]]

    # --- classes --------------------------------------------------------------------------------

    def _meet(self, bits: Any) -> None:
        """Learn what items of the classes among some do."""
        known = self._automaton.classes
        few = len(bits) and int(bits.max()) < CHUNK if bits.dtype != object else False
        if few:
            numbers = np.bincount(bits)
            present = np.flatnonzero(numbers)
            numbers = numbers[present]
        else:
            present, numbers = np.unique(bits, return_counts=True)
        new = [int(each) for each in present if int(each) not in known]
        if not new and self._loops:
            return
        frequent = dict(zip(present.tolist(), numbers.tolist(), strict=True))
        if self._automaton.meet(new) or not self._loops:
            self._write(sorted(self._automaton.classes, key=lambda b: -frequent.get(b, 0)))

    def _write(self, classes: Sequence[int]) -> None:
        """Write the loops anew; states become such as these have them."""
        shown = frozenset(self._automaton.shown())
        if shown != self._shown:
            states = [self.state(code) for code in range(self.count)]
            self._shown = shown
            for code, state in enumerate(states):
                if state is not None:
                    self._put(code, flattened(self._automaton, state, shown))
        self._order = [bits for bits in classes if not self._automaton.idle(bits)]
        self._loops = {}

    def _machine(self, *, many: bool) -> Loops:
        """Return the loops, for several streams or for one."""
        if many not in self._loops:
            self._loops[many] = loops(
                *(self._automaton, self._columns, self._record, self._order),
                many=many,
                shown=self._shown,
            )
        return self._loops[many]

    def _numbered(self, bits: Any) -> Any:
        """Return the numbers of items' classes, IDLE for what changes nothing."""
        if len(self._order) >= IDLE:
            raise NotFlat("too many classes of items")
        if bits.dtype == object or (len(bits) and int(bits.max()) >= CHUNK):
            numbers = {word: n for n, word in enumerate(self._order)}
            return np.array([numbers.get(int(word), IDLE) for word in bits], np.uint8)
        table = np.full(CHUNK, IDLE, np.uint8)
        table[[word for word in self._order if word < CHUNK]] = [
            n for n, word in enumerate(self._order) if word < CHUNK
        ]
        return table[bits]

    # --- states of stacks -----------------------------------------------------------------------

    def state(self, code: int) -> State | None:
        """Return a stream's state as stacks; None before its first item."""
        state = [cell[code] for cell in self._cells]
        return None if state[0] < 0 else as_stacks(self._automaton, state, self._shown)

    def put(self, code: int, state: State) -> None:
        """Take a state of stacks. Raises NotFlat where none of the loops can."""
        had = len(self._automaton.states)
        self._put(code, flattened(self._automaton, state, self._shown))
        if len(self._automaton.states) > had:
            self._automaton.meet(())
            self._write(self._order or self._automaton.classes)


def as_stacks(automaton: Automaton, state: Sequence[Any], shown: frozenset[Kind]) -> State:
    """Return the stacks that are in a loop's variables."""
    control = automaton.states[state[0]]
    registers: list[Any] = []
    at = 1
    for kind in control.kinds:
        parts = state[at : at + cells(kind)]
        registers.append(_as_value(automaton, kind, parts, shown))
        at += cells(kind)
    return filled(control, registers)


def _as_value(
    automaton: Automaton, kind: Kind, parts: Sequence[Any], shown: frozenset[Kind]
) -> Any:
    if kind.of == VALUE or kind in shown:
        return parts[0]
    if kind.of == "counts":
        return Counts(parts[0])
    if kind.of == "tuple":
        return tuple(parts)
    if kind.of == "window":
        return list(parts[0]), 0, len(parts[0]), parts[1]
    inner = automaton.inner[kind.number]
    states = {key: as_stacks(inner, state, shown) for key, state in parts[0].items()}
    return Keys(automaton.keys_of(kind.number), as_stacks(inner, parts[1], shown), states)


def flattened(automaton: Automaton, state: State, shown: frozenset[Kind]) -> list[Any]:
    """Return stacks as a loop's variables."""
    number, registers = automaton.place(state)
    cells: list[Any] = [number]
    for kind, value in zip(automaton.states[number].kinds, registers, strict=True):
        if kind.of == VALUE or kind in shown:
            cells.append(value)
        elif kind.of == "counts":
            cells.append(dict(value))
        elif kind.of == "tuple":
            cells += value
        elif kind.of == "window":
            kept, first, beyond, total = value
            cells += [deque(kept[first:beyond], automaton.windows[kind.number].size), total]
        else:
            assert isinstance(value, Keys)
            inner = automaton.inner[kind.number]
            states = {key: flattened(inner, each, shown) for key, each in value.states.items()}
            cells += [states, flattened(inner, value.idle, shown)]
    return cells


def as_list(column: pa.Array, rows: Any) -> list[Any]:
    """Return some rows of a column, an array of them or a slice, as Python's values.

    >>> as_list(pa.array([1.5, None, 2.5]), np.array([1, 2])), as_list(pa.array([7, 8]), slice(1))
    ([None, 2.5], [7])
    """
    if pa.types.is_dictionary(column.type) and not column.null_count:
        names = np.array([*column.dictionary.to_pylist(), None], object)
        return names[to_numpy(column.indices)[rows]].tolist()  # type: ignore[no-any-return]
    few = column[rows] if isinstance(rows, slice) else column.take(to_arrow(rows))
    return few.to_pylist()  # type: ignore[no-any-return]
