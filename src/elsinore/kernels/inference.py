"""Names of one type: kernels that only kernels call are compiled such that each name has one.

There a name for a float here and an integer there would be a float in both, without a word.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import TypingError


@register_pass(mutates_CFG=False, analysis_only=True)
class CheckNames(AnalysisPass):  # type: ignore[misc]
    """Refuses names for floats and for integers, after types are known."""

    _name = "elsinore_check_names"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Raise TypingError where a name is of two types; return False: nothing is changed."""
        for block in state.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                _check_type(state, assignment)
        return False


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
