"""Type inference that asks once what an operator makes of numbers.

For each operator in each function Numba goes through all that the operator may mean, anew: half a
millisecond for a sum of two numbers, and most of the time of working out types. What it finds for
numbers, and for words behind a pointer, is the same every time.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NopythonTypeInference

OPERATORS = frozenset(
    [bool, *(value for name, value in vars(operator).items() if name in operator.__all__)]
)
PLAIN = types.Number, types.Boolean, types.NoneType, types.CPointer
KNOWN: dict[Any, Any] = {}  # operator and types -> signature


class Remembering:
    """Numba's typing context, with a memory for operators on numbers."""

    __slots__ = ("_context",)

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, given: Any, by_name: Any) -> Any:
        """Return the signature that a function has for types of arguments."""
        if by_name or getattr(function, "typing_key", None) not in OPERATORS:
            return self._context.resolve_function_type(function, given, by_name)
        if not all(isinstance(types.unliteral(kind), PLAIN) for kind in given):
            return self._context.resolve_function_type(function, given, by_name)
        key = function, tuple(given)
        found = KNOWN.get(key)
        if found is None:
            found = self._context.resolve_function_type(function, given, by_name)
            if found is not None:
                KNOWN[key] = found
        return found


@register_pass(mutates_CFG=True, analysis_only=False)
class RememberingInference(NopythonTypeInference):  # type: ignore[misc]
    """Numba's pass over a function's types, in that context."""

    _name = "elsinore_remembering_inference"

    def run_pass(self, state: Any) -> bool:
        """Work out the types; return True, as that is what all do."""
        context = state.typingctx
        state.typingctx = Remembering(context)
        try:
            super().run_pass(state)
        finally:
            state.typingctx = context
        return True
