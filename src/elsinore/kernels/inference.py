"""Type inference: what an operator makes of numbers is asked once, and names are of one type.

For each operator in each function Numba goes through all that the operator may mean, anew: half a
millisecond for a sum of two numbers, and most of the time of working out types. What it finds for
numbers, and for words behind a pointer, is the same every time.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler_machinery import register_pass
from numba.core.errors import TypingError
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


@register_pass(mutates_CFG=True, analysis_only=False)
class OneTypeInference(RememberingInference):
    """That pass for kernels whose names have one type each (compiled without SSA).

    There a name for a float here and an integer there would be a float in both, without a word.
    """

    _name = "elsinore_one_type_inference"

    def run_pass(self, state: Any) -> bool:
        """Work out the types; TypingError where a name is for floats and for integers."""
        super().run_pass(state)
        if not state.flags.enable_ssa:
            for block in state.func_ir.blocks.values():
                for assignment in block.find_insts(ir.Assign):
                    _check_type(state, assignment)
        return True


def _check_type(state: Any, assignment: Any) -> None:
    """Raise TypingError where an integer is assigned to a name whose type is a float's."""
    name = assignment.target.name
    if name.startswith("$"):  # the compiler's own, each assigned once
        return
    kind, given = state.typemap[name], _assigned(state, assignment.value)
    if given is not None and _is_widened(kind, given):
        raise TypingError(
            f"The name {name!r} is for {types.unliteral(kind)} and, here, for "
            f"{types.unliteral(given)}: {state.func_id.func_qualname} is compiled such that a name "
            "has one type. Use two names, or write a number as a float.",
            loc=assignment.loc,
        )


def _assigned(state: Any, value: Any) -> Any:
    """Return the type of what is assigned, or None where it is not told."""
    known, context = state.typemap, state.typingctx
    if isinstance(value, ir.Var):
        return known[value.name]
    if isinstance(value, ir.Arg):
        return known[f"arg.{value.name}"]
    if isinstance(value, ir.Const | ir.Global | ir.FreeVar):
        return None if value.value is ir.UNDEFINED else context.resolve_value_type(value.value)
    if isinstance(value, ir.Expr) and value.op == "getattr":
        return context.resolve_getattr(known[value.value.name], value.attr)
    if isinstance(value, ir.Expr) and value.op == "build_tuple":
        return types.BaseTuple.from_types([known[item.name] for item in value.items])
    signature = state.calltypes.get(value)
    return None if signature is None else signature.return_type


def _is_widened(kind: Any, given: Any) -> bool:
    """Return whether an integer becomes a float, alone or in a tuple."""
    if isinstance(kind, types.BaseTuple) and isinstance(given, types.BaseTuple):
        return any(map(_is_widened, kind.types, given.types))
    return isinstance(kind, types.Float) and isinstance(given, types.Integer | types.Boolean)
