"""The threads of a `map_collect`: a machine's state for each key (StreamQRE, Figure 4).

Keys that have had synchronization items only are all in one state, and it is kept once. A step
takes effect when the next item comes, so that an item at which a user's function raises can be
taken back everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from elsinore.errors import InputError
from elsinore.quantitative.nodes import Node

State = tuple[Any, ...]


class Failures:
    """The serial numbers of items that were taken back."""

    __slots__ = ("serials",)

    def __init__(self) -> None:
        self.serials: set[int] = set()


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The machine of a query.

    `begin()` returns the initial state, and whether the query has a value on the empty sequence and
    which. `run(state, items, bits, serial, positions, values)` takes items and returns the state
    after them; it appends where the query has values, counted from 0, and the values. `step` takes
    one item and returns the state, None where nothing can follow, and the value if there is one.
    """

    query: Node
    code: CodeType  # of the three functions, for who runs them with other names around them
    labels: dict[int, str]
    begin: Callable[[], tuple[State, bool, Any]]
    run: Callable[..., State]
    step: Callable[[State, Any, int, int], tuple[State | None, bool, Any]]
    keyed: tuple[Program, ...] = ()
    filename: str = ""
    variables: tuple[str, ...] = ()  # of the state: an atom's flag, and what is kept at the atom
    threads: tuple[int, ...] = ()  # places of the state that hold keys' threads
    keys: tuple[Callable[[], KeyThreads], ...] = ()  # what makes such threads
    makers: Mapping[str, str] = field(default_factory=dict)  # variable -> what gives its values
    failures: Failures = field(default_factory=Failures)


class KeyThreads:
    """The keys' states since one start of a `map_collect`.

    `idle` is the state of a key that has had synchronization items only, None where such a key can
    have no value any more. A key whose state is None can have no value any more.
    """

    __slots__ = (
        "_idle",
        "_key",
        "_mask",
        "_next_idle",
        "_next_states",
        "_outputs",
        "_program",
        "_serial",
        "_states",
        "_test",
        "failures",
    )

    def __init__(
        self,
        program: Program,
        key: Callable[[Any], Any],
        mask: int,
        test: Callable[[Any], bool] | None,
        idle: State | None,
        failures: Failures,
    ) -> None:
        self._program, self._key, self._mask, self._test = program, key, mask, test
        self._idle = fork(program, idle)
        self._states: dict[Any, State | None] = {}
        self._next_states: dict[Any, State | None] | None = None
        self._next_idle: State | None = self._idle
        self._outputs: dict[Any, Any] = {}
        self._serial = -1
        self.failures = failures

    def feed(self, item: Any, bits: int, serial: int) -> None:
        """Give an item to the keys that it concerns; once, however often it is called for one."""
        if serial == self._serial:
            return
        self.settle()
        self._serial = serial
        step = self._program.step
        if bits & self._mask if self._test is None else self._test(item):
            outputs: dict[Any, Any] = {}
            states: dict[Any, State | None] = {}
            for key, state in self._states.items():
                if state is None:
                    states[key] = None
                    continue
                states[key], has, value = step(state, item, bits, serial)
                if has:
                    outputs[key] = value
            idle = None if self._idle is None else step(self._idle, item, bits, serial)[0]
            self._next_states, self._next_idle, self._outputs = states, idle, outputs
        else:
            key = self._key(item)
            try:
                known = key in self._states
            except TypeError as error:
                raise InputError(
                    f"The key {key!r} cannot be told from others: a {type(key).__name__} has no "
                    "hash. Use a number, a text or a tuple."
                ) from error
            state = self._states[key] if known else fork(self._program, self._idle)
            self._outputs = {}
            self._next_idle = self._idle
            if state is not None:
                self._next_states = {key: step(state, item, bits, serial)[0]}
            elif not known:
                self._next_states = {key: None}

    def collect(self) -> dict[Any, Any]:
        """Return the values of the keys that have one after the last item."""
        return dict(self._outputs)

    def settle(self) -> None:
        """Let the last item take effect, unless it was taken back."""
        if self._next_states is not None or self._next_idle is not self._idle:
            if self._serial not in self.failures.serials:
                if self._next_states is not None:
                    self._states.update(self._next_states)
                self._idle = self._next_idle
            self._next_states, self._next_idle = None, self._idle

    def copy(self) -> KeyThreads:
        """Return threads in the same states, that go on by themselves."""
        self.settle()
        copy = KeyThreads(
            self._program, self._key, self._mask, self._test, self._idle, self.failures
        )
        copy._states = {key: fork(self._program, state) for key, state in self._states.items()}
        copy._outputs, copy._serial = dict(self._outputs), self._serial
        return copy

    def __len__(self) -> int:
        return len(self._states)

    @property
    def program(self) -> Program:
        """The machine of a key."""
        return self._program

    @property
    def key(self) -> Callable[[Any], Any]:
        """The function of an item that is its key."""
        return self._key

    @property
    def mask(self) -> int:
        """The bit of the synchronization items; -1: all are."""
        return self._mask

    @property
    def test(self) -> Callable[[Any], bool] | None:
        """What tells synchronization items, where no bit does."""
        return self._test

    def states(self) -> tuple[State | None, dict[Any, State | None]]:
        """Return the state of idle keys and those of the others, for saving."""
        self.settle()
        return self._idle, self._states

    def restore(self, idle: State | None, states: dict[Any, State | None]) -> None:
        """Take over states that were saved."""
        self._idle = self._next_idle = idle
        self._states = states


def fork(program: Program, state: State | None) -> State | None:
    """Return a state that goes on by itself: threads in it are copied."""
    if state is None or not program.threads:
        return state
    copies: dict[int, KeyThreads] = {}
    values = list(state)
    for place in program.threads:
        threads = values[place]
        if isinstance(threads, KeyThreads):
            values[place] = copies.setdefault(id(threads), threads.copy())
    return tuple(values)
