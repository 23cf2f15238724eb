"""What keeps the memory safe that kernels borrow: the compiler refuses what would not be.

References to arrays are not counted in a kernel that borrows, so that each array in it must be a
part of one that its caller keeps until it returns, or lie at an address that was given it. So it
makes no arrays: it is compiled without the functions that allocate. It keeps none, as nothing in it
has memory of its own to keep them in, and returns none, nor where one begins: whoever gets an array
gives it back when it is done. But that a linked kernel may return parts of what it was given, and
only to kernels that borrow as well: they count nothing either, and have the same arrays from their
caller. All this is checked here, by the types that were worked out.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import TypingError

from elsinore.kernels.source import BORROWS

RULE = "It is declared with borrows=True, so that nothing counts references to its arrays"
OWNERS = (  # what is no array, and may keep one in memory of its own
    *(types.List, types.Set, types.ListType, types.DictType, types.UnicodeType, types.Generator),
    *(types.ClassInstanceType, types.StructRef, types.MemInfoPointer),
)
LENT = types.Buffer, types.CPointer, types.ArrayCTypes, types.IteratorType  # arrays, places in them


@register_pass(mutates_CFG=False, analysis_only=True)
class CheckBorrowing(AnalysisPass):  # type: ignore[misc]
    """Refuses what a kernel must not do with arrays that it borrows, after types are known."""

    _name = "elsinore_check_borrowing"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Raise TypingError where the rule is broken; return False, as nothing is changed."""
        statements = [each for block in state.func_ir.blocks.values() for each in block.body]
        calls = [each for each in statements if _is_call(each)]
        if not getattr(state.func_id.func, BORROWS, False):
            for call in calls:
                _check_counting(state, call)
            return False
        for name, kind in {id(kind): (name, kind) for name, kind in state.typemap.items()}.values():
            _check_owner(state, name, kind)  # each type once
        for call in calls:
            _check_call(state, call)
        for each in statements:
            if isinstance(each, ir.Assign) and isinstance(each.value, ir.Yield):
                _refuse(state, "gives values one by one, and arrays may go meanwhile", each.loc)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class CheckResult(AnalysisPass):  # type: ignore[misc]
    """Refuses arrays as results of a kernel that borrows and that Python calls."""

    _name = "elsinore_check_result"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Raise TypingError where an array is returned; return False, as nothing is changed."""
        if getattr(state.func_id.func, BORROWS, False) and _has_references(state.return_type):
            _refuse(state, f"returns {state.return_type}")
        return False


def _is_call(statement: Any) -> bool:
    return (
        isinstance(statement, ir.Assign)
        and isinstance(statement.value, ir.Expr)
        and statement.value.op == "call"
    )


def _parts(kind: Any) -> list[Any]:
    """Return the types that a type is made of: of tuples, and of what may be None."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.BaseTuple):
        return [part for inner in kind.types for part in _parts(inner)]
    return _parts(kind.type) if isinstance(kind, types.Optional) else [kind]


def _has_references(kind: Any) -> bool:
    """Return whether values of a type hold arrays, or where one begins."""
    return any(isinstance(part, LENT + OWNERS) for part in _parts(kind))


def _check_owner(state: Any, name: str, kind: Any) -> None:
    """Raise TypingError where a name is for what has memory of its own, to keep arrays in."""
    if isinstance(kind, types.Literal):
        return  # a text, which is there for good
    for part in _parts(kind):
        if isinstance(part, OWNERS):
            variable = name.removeprefix("arg.").partition(".")[0]
            owner = "a value" if variable.startswith("$") else repr(variable)
            _refuse(state, f"has memory of its own in {owner}, which is {part}")


def _check_call(state: Any, call: Any) -> None:
    """Raise TypingError where an array is got from a kernel that counts: nobody gives it back."""
    callee = state.typemap[call.value.func.name]
    kind = state.typemap[call.target.name]
    if isinstance(callee, types.Dispatcher) and _has_references(kind):
        function = callee.dispatcher.py_func
        if not getattr(function, BORROWS, False):
            _refuse(state, f"gets {kind} from {function.__name__}, which counts them", call.loc)


def _check_counting(state: Any, call: Any) -> None:
    """Raise TypingError if a kernel that counts gets an array from one that borrows."""
    name, callee = state.func_id.func_qualname, state.typemap[call.value.func.name]
    function: Any = callee.dispatcher.py_func if isinstance(callee, types.Dispatcher) else None
    kind = state.typemap[call.target.name]
    if getattr(function, BORROWS, False) and _has_references(kind):
        why = f"gets {kind} from {function.__name__}, as only kernels with borrows=True may"
        raise TypingError(f"{name} {why}.", loc=call.loc)


def _refuse(state: Any, why: str, loc: Any = None) -> None:
    raise TypingError(f"{state.func_id.func_qualname} {why}. {RULE}.", loc=loc)
