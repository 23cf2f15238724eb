"""Stepping aggregates that users define: compiled by Numba if it is installed, else in Python.

The search calls one function by its address with the doubles of a register: the value, the state
and the arguments from the event, in this order. The function replaces value and state and returns
`STEPPED`; or `HAS_FAILED` if the user's code raised an exception, which `failure` describes.

Compiled code differs from Python for infinities and NaN (a logarithm of 0 is an error in Python,
and minus infinity compiled): then it returns `ASK_PYTHON`, and the search calls the function in
Python.
"""

from __future__ import annotations

import copy
import ctypes
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from elsinore.matches.aggregates import FORMULAS, UserAggregate
from elsinore.matches.arrays import Doubles
from elsinore.matches.operands import Layout
from elsinore.operators.conditions.orders import Order

COMPILE_VARIABLE = "ELSINORE_COMPILE"  # "0": users' aggregates run in Python, for debugging
STEPPED, HAS_FAILED, ASK_PYTHON = range(3)
FOREIGN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # the type of such a function
COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # in the compiler's messages if colorama is installed
ROW = -1  # as an argument: the row of the event instead of a value
_ATOMS = (type(None), bool, int, float, complex, str, bytes)


class Stepper:
    """Steps one aggregate over `arguments` values of each event.

    A state that is an object has a handle in its register: the address of the register that was
    stepped. A depth-first search has a row of registers for each event of the path: a state is
    replaced when its row is used again, and no other path needs it then.
    """

    def __init__(
        self,
        aggregate: UserAggregate,
        arguments: int,
        texts: Sequence[Mapping[int, Any] | None] = (),
    ) -> None:
        """`texts`: for each argument, the texts by the numbers that events have for them.

        An aggregate that chooses one of the texts (`UserAggregate.chooses`) takes the event's row
        as a second argument, and its value is the row of the chosen event.
        """
        self.aggregate = aggregate
        self._texts = texts
        self.failure: str | None = None
        self._arguments = arguments
        self._states: dict[int, Any] = {}
        self._python = FOREIGN(self._step)
        self.python_address = self.address = _address(self._python)
        self._compiled = None
        self.why_not: str | None = None  # the reason why it runs in Python
        if aggregate.initial is None:
            self.why_not = "its state is not a number or a tuple of numbers"
        elif any(values is not None for values in texts):
            self.why_not = "it takes text"
        elif aggregate.name in FORMULAS:
            pass  # the engine has compiled code for it
        elif os.environ.get(COMPILE_VARIABLE) == "0":
            self.why_not = f"{COMPILE_VARIABLE} is 0"
        else:
            self._compiled, self.why_not = _compiled(aggregate, arguments)
        if self._compiled is not None:
            self.address = int(self._compiled.address)

    @property
    def is_choice(self) -> bool:
        """Whether the value is the row of one of the events, whose text is the result."""
        return self.aggregate.chooses and bool(self._texts)

    @property
    def is_compiled(self) -> bool:
        """Whether the user's code is compiled."""
        return self._compiled is not None

    @property
    def initial(self) -> tuple[float, ...]:
        """The state of no events, as doubles."""
        return self.aggregate.initial if self.aggregate.initial is not None else (0.0,)

    def _step(self, pointer: int) -> int:
        """Step in Python; keep an exception as text, as none may pass through compiled code."""
        width = self.aggregate.width
        count = 1 + width + self._arguments
        doubles: Doubles = np.ctypeslib.as_array(
            ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)), (count,)
        )
        arguments: list[Any] = [float(value) for value in doubles[1 + width :]]
        for place, values in enumerate(self._texts):
            if values is not None:
                arguments[place] = values[int(arguments[place])]
        called = "step"
        try:
            before = self._state(doubles, width)
            if self.is_choice:
                state = self.aggregate.methods.step(before, tuple(arguments))
                _, value = self.aggregate.methods.chosen(state)
            else:
                state = self.aggregate.methods.step(before, *arguments)
                called = "value"
                value = self.aggregate.methods.value(state)
            if not isinstance(value, int | float | None | np.number | np.bool_):
                raise TypeError(
                    f"value gave {type(value).__name__}, not a number, a truth value or None"
                )
            result = np.nan if value is None else float(value)
            self._keep(doubles, width, pointer, state)
            doubles[0] = result
        except Exception as error:
            self.failure = f"{called}({', '.join(map(repr, arguments))}) raised "
            self.failure += f"{type(error).__name__}: {error}"
            return HAS_FAILED
        return STEPPED

    def _state(self, doubles: Doubles, width: int) -> Any:
        if self.aggregate.initial is not None:
            parts = tuple(float(part) for part in doubles[1 : 1 + width])
            return parts[0] if self.aggregate.is_single else parts
        handle = int(doubles[1])
        state = self._states[handle] if handle else self.aggregate.methods.init()
        return state if _is_atomic(state) else copy.deepcopy(state)

    def _keep(self, doubles: Doubles, width: int, pointer: int, state: Any) -> None:
        if self.aggregate.initial is None:
            self._states[pointer] = state
            doubles[1] = float(pointer)
            return
        parts = (state,) if self.aggregate.is_single else tuple(state)
        if len(parts) != width or not all(
            isinstance(part, int | float | np.number | np.bool_) for part in parts
        ):
            raise TypeError(f"step gave the state {state!r}, which is not of the form init gives")
        doubles[1 : 1 + width] = parts


@lru_cache(maxsize=64)
def stepper(aggregate: UserAggregate, arguments: int) -> Stepper:
    """Return the stepper of an aggregate, which is compiled once: that takes a second."""
    return Stepper(aggregate, arguments)


def stepper_over(
    aggregate: UserAggregate, attributes: Sequence[str], layout: Layout
) -> tuple[Stepper, list[int]]:
    """Return the stepper of an aggregate over attributes, and the rows of doubles that it reads.

    Texts, and values that are only compared, are read as numbers (`Layout.distinct`); `ROW` stands
    for the event's row.
    """
    rows: list[int] = []
    texts: list[Mapping[int, Any] | None] = []
    for name in attributes:
        is_text = layout.order(name) is Order.TEXT
        rows.append(layout.distinct(name) if is_text or aggregate.counts else layout.double(name))
        texts.append(layout.distinct_values(name) if is_text and not aggregate.counts else None)
    if any(values is not None for values in texts):
        if aggregate.chooses:
            rows.append(ROW)
        return Stepper(aggregate, len(rows), texts), rows
    return stepper(aggregate, len(rows)), rows


def _is_atomic(state: Any) -> bool:
    if isinstance(state, tuple | frozenset):
        return all(map(_is_atomic, state))
    return isinstance(state, _ATOMS)


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _compiled(aggregate: UserAggregate, arguments: int) -> tuple[Any, str | None]:
    """Return the compiled function and None, or None and why the user's code does not compile."""
    try:
        from numba import carray, cfunc, njit, types  # noqa: PLC0415 - an extra
        from numba.core.errors import NumbaError  # noqa: PLC0415
    except ImportError:
        return None, "Numba is not installed"
    width = aggregate.width
    names: dict[str, Any] = {"carray": carray, "np": np}
    words = {}
    for method in ("step", "value"):
        function = getattr(aggregate.methods, method)
        bare = getattr(function, "__func__", function)
        if not hasattr(bare, "__code__"):
            return None, f"{method} is not a function of Python"
        names[method] = njit(bare)
        words[method] = "None, " if hasattr(function, "__func__") else ""
    state = ", ".join(f"a[{1 + n}]" for n in range(width))
    state = state if aggregate.is_single else f"({state},)"
    values = ", ".join(f"a[{1 + width + n}]" for n in range(arguments))
    parts = ["new"] if aggregate.is_single else [f"new[{n}]" for n in range(width)]
    finite = " and ".join(f"np.isfinite(n{n})" for n in range(width))
    lines = [
        "def call(pointer):",
        f"    a = carray(pointer, ({1 + width + arguments},))",
        "    try:",
        f"        new = step({words['step']}{state}, {values})",
        f"        value_of = value({words['value']}new)",
        "        result = np.nan if value_of is None else value_of * 1.0",
        *(f"        n{n} = {part} * 1.0" for n, part in enumerate(parts)),
        *(
            []
            if aggregate.is_single
            else [f"        if len(new) != {width}:", "            raise ValueError"]
        ),
        "    except Exception:",
        f"        return {ASK_PYTHON}",
        f"    if not ({finite} and np.isfinite(result)):",
        f"        return {ASK_PYTHON}",
        *(f"    a[{1 + n}] = n{n}" for n in range(width)),
        "    a[0] = result",
        f"    return {STEPPED}",
    ]
    exec("\n".join(lines), names)
    try:
        return cfunc(types.int64(types.CPointer(types.float64)))(names["call"]), None
    except (
        NumbaError,
        NotImplementedError,
        TypeError,
        ValueError,
        AssertionError,
        KeyError,
    ) as error:
        return None, f"it does not compile: {_cause(error)}"


def _cause(error: Exception) -> str:
    """Return the most informative line of the compiler's message, without colours."""
    lines = [line for part in COLOUR.sub("", str(error)).splitlines() if (line := part.strip())]
    telling = [line for line in lines if re.match(r"(Unknown|Cannot|Use of|Untyped|No )", line)]
    return (telling or lines or [type(error).__name__])[0].rstrip(".")
