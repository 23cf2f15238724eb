"""Users' functions as kernels, with the functions that they call."""

from __future__ import annotations

import builtins
import dataclasses
import dis
import functools
import math
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from numba.core.errors import NumbaError
from numba.extending import is_jitted

from elsinore.kernels import is_kernel
from elsinore.kernels.decorator import compiled
from elsinore.kernels.source import global_names
from elsinore.quantitative import generated
from elsinore.quantitative.folds import is_comparable
from elsinore.quantitative.lowered import mathematics
from elsinore.quantitative.lowered.records import can_be_field, record_class
from elsinore.quantitative.lowered.whole import (
    GREATEST,
    CheckingCompiler,
    fits,
    rounding,
)
from elsinore.quantitative.regex import name_of

# Kernels are kept for code of this package. What is compiled from users' code is kept as well:
# under a key that tells all that it is made from.
HOME = generated.__name__
FILE = str(generated.__file__)
AS_THEY_ARE = (min, max, abs, float, bool, len, range, enumerate, zip, tuple, None, True, False)
CHECKED = {int: rounding("int", "llvm.trunc"), round: rounding("round", "llvm.rint")}
PLAIN = (min, max, abs, int, float, bool, round)  # of Python's own, those that may be handed over
REPLACED = CHECKED | mathematics.SAME
REASON = 160  # characters of the compiler's reason


class CannotCompile(Exception):  # noqa: N818 - a reason, which is told and not raised to users
    """Why a query runs in Python."""


def jitted(function: Any, known: dict[int, Any] | None = None) -> Any:
    """Return a user's function as a kernel; the Python functions that it calls as well.

    Dataclasses that it makes become named tuples of the same fields.
    """
    known = {} if known is None else known
    if id(function) in known:
        if known[id(function)] is None:
            raise CannotCompile(f"{name_of(function)} calls itself")
        return known[id(function)]
    if is_kernel(function) or is_jitted(function):
        return function
    if any(function is known_one for known_one in PLAIN):
        return _wrapped(function)
    if not isinstance(function, FunctionType):
        raise CannotCompile(f"{name_of(function)} is no plain Python function")
    known[id(function)] = None  # while the functions that it calls are compiled
    code = function.__code__.replace(co_filename=FILE)
    _check_constants(code, name_of(function))
    names = {name: _value(_global(function, name), known) for name in globals_read(code)}
    names |= {"__name__": HOME, "__builtins__": function.__globals__.get("__builtins__")}
    cells = tuple(CellType(_value(c.cell_contents, known)) for c in function.__closure__ or ())
    copy = FunctionType(code, names, function.__name__, function.__defaults__, cells)
    copy.__module__ = HOME
    copy.__qualname__ = function.__qualname__
    known[id(function)] = checked(copy)
    return known[id(function)]


def checked(function: Any) -> Any:
    """Return a function compiled such that its whole numbers are Python's."""
    return compiled(function, pipeline=CheckingCompiler)


def key_kernel(attribute: str) -> Any:
    """Return the function of an item's attribute as a kernel."""
    if not can_be_field(attribute):
        raise CannotCompile(f"the attribute {attribute!r} cannot be that of a record")
    names: dict[str, Any] = {"__name__": HOME}
    exec(compile(f"def key(item):\n    return item.{attribute}\n", FILE, "exec"), names)
    return checked(names["key"])


def returned(function: Any, arguments: tuple[Any, ...], name: str) -> Any:
    """Return the type of a kernel's value for types of arguments.

    Raises CannotCompile with the compiler's reason where there is none.
    """
    try:
        function.compile(arguments)
    except (NumbaError, TypeError, AttributeError, NotImplementedError, ValueError) as error:
        text = " ".join(str(error).split())
        reason = text.split("No implementation of function")[-1]
        raise CannotCompile(f"{name} cannot be compiled: {reason[:REASON]}") from error
    return function.overloads[arguments].signature.return_type


def attributes_read(functions: Any) -> set[str]:
    """Return the names that functions may read as attributes, with the functions they call."""
    attributes: set[str] = set()
    pending = [f for f in functions if isinstance(f, FunctionType)]
    seen: set[int] = set()
    while pending:
        function = pending.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        attributes |= _names(function.__code__)
        inner = [cell.cell_contents for cell in function.__closure__ or ()]
        inner += [function.__globals__.get(name) for name in globals_read(function.__code__)]
        pending += [value for value in inner if isinstance(value, FunctionType)]
    return attributes


def texts_of(functions: Any) -> frozenset[str]:
    """Return the texts that functions, and those that they call, spell out."""
    texts: set[str] = set()
    pending = [f.__code__ for f in captured(functions) if isinstance(f, FunctionType)]
    while pending:
        constants = pending.pop().co_consts
        texts |= {constant for constant in constants if isinstance(constant, str)}
        pending += [constant for constant in constants if isinstance(constant, CodeType)]
    return frozenset(texts)


def captured(functions: Any) -> list[Any]:
    """Return functions, those that they call, and the values that they take from around them.

    Where these are the same objects, the same machine code is made of them.
    """
    values: list[Any] = []
    pending = list(functions)
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        values.append(value)
        if isinstance(value, FunctionType):
            pending += [cell.cell_contents for cell in value.__closure__ or ()]
            names = sorted(globals_read(value.__code__))
            pending += [value.__globals__[name] for name in names if name in value.__globals__]
    return values


def globals_read(code: CodeType) -> set[str]:
    """Return the names of what code reads from its module; not those of attributes.

    >>> sorted(globals_read((lambda item: len(item.name)).__code__))
    ['len']
    """
    names = {i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_GLOBAL")}
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names.union(*map(globals_read, inner))


def as_named_tuple(kind: type) -> Any:
    """Return the named tuple that stands for a dataclass in compiled code."""
    names = [field.name for field in dataclasses.fields(kind)]
    if not all(map(can_be_field, names)):
        raise CannotCompile(f"the fields of {kind.__name__} cannot all be those of a named tuple")
    return record_class(kind.__name__.strip("_") or "Record", names)


def _names(code: CodeType) -> set[str]:
    return global_names(code) | {
        constant for constant in code.co_consts if isinstance(constant, str)
    }


def _global(function: FunctionType, name: str) -> Any:
    """Return what a function means by a name: its module's, or Python's own."""
    if name in function.__globals__:
        return function.__globals__[name]
    value = getattr(builtins, name, None)
    known = (*CHECKED, *AS_THEY_ARE)
    if not any(value is value_known for value_known in known):
        raise CannotCompile(f"{name_of(function)} reads {name}, which is not compiled")
    return value


def _value(value: Any, known: dict[int, Any]) -> Any:
    """Return what compiled code reads instead of a value."""
    if value is is_comparable:
        return _is_comparable()
    if isinstance(value, FunctionType):
        return jitted(value, known)
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return as_named_tuple(value)
    if value is math:
        return mathematics
    if isinstance(value, ModuleType):
        raise CannotCompile(f"the module {value.__name__} is not compiled, but math is")
    if isinstance(value, type | BuiltinFunctionType) and value in REPLACED:
        return REPLACED[value]
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "math":
        raise CannotCompile(f"math.{value.__name__} is not compiled")
    if not fits(value):
        raise CannotCompile(f"the number {value} is greater than {GREATEST}")
    return value


def _check_constants(code: CodeType, name: str) -> None:
    """Raise CannotCompile where code holds a number that is too great."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _check_constants(constant, name)
        elif not fits(constant):
            raise CannotCompile(f"{name} holds a number greater than {GREATEST}")


@functools.cache
def _is_comparable() -> Any:
    """Return what compiled code calls for `is_comparable`: it raises for whatever has NaN in it."""
    source = "def is_comparable(value):\n    if value != value:\n        raise ValueError\n"
    names: dict[str, Any] = {"__name__": HOME}
    exec(compile(f"{source}    return True\n", FILE, "exec"), names)
    return checked(names["is_comparable"])


def _wrapped(function: Any) -> Any:
    """Return a built-in function, which takes one value or, to choose from, two, as a kernel."""
    values = "one, other" if function in {min, max} else "one"
    source = f"def of({values}):\n    return {function.__name__}({values})\n"
    names: dict[str, Any] = {"__name__": HOME, function.__name__: REPLACED.get(function, function)}
    exec(compile(source, FILE, "exec"), names)
    return checked(names["of"])
