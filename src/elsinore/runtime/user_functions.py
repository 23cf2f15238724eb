"""User-defined functions (UDFs) in Python: on Arrow arrays, or on single values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa

from elsinore.arrow import whole
from elsinore.errors import InputError
from elsinore.model.expression import LANGUAGE_FUNCTIONS

Function = Callable[..., object]
TYPES: dict[object, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    datetime: pa.timestamp("us"),
    date: pa.date32(),
    timedelta: pa.duration("us"),
}


def result_type(function: Function) -> pa.DataType:
    """Return the Arrow type of a function's results from its return annotation.

    Raises InputError for a missing or unsupported annotation.

    >>> def risk(amount: float) -> float: ...
    >>> result_type(risk)
    DataType(double)
    """
    annotation = _annotation(function)
    if isinstance(annotation, pa.DataType):
        return annotation
    if annotation in TYPES:
        return TYPES[annotation]
    names = ", ".join(getattr(kind, "__name__", "") for kind in TYPES)
    raise InputError(
        f"The function '{_name(function)}' does not say what it returns: annotate it, as in "
        f"def {_name(function)}(x) -> float. Known are {names}, and Arrow's types for functions of "
        "Arrow arrays, as in -> pa.float64()."
    )


class TypedFunction(NamedTuple):
    """A function with the type of its results; with `takes_arrays` it is called with Arrow arrays.

    Annotations are evaluated in the driver: workers may lack the names in them.
    """

    function: Function
    kind: pa.DataType
    takes_arrays: bool


def typed(function: Function) -> TypedFunction:
    """Return a function with its result type; raise InputError without a return annotation."""
    is_arrow = isinstance(_annotation(function), pa.DataType)
    return TypedFunction(function, result_type(function), is_arrow)


def apply(typed_function: TypedFunction, columns: Sequence[pa.Array], size: int) -> pa.Array:
    """Call a function for `size` rows and return its results.

    A function of single values is not called for rows with a null; their result is null. Raises
    InputError if the function fails, or returns values of another type or number.

    >>> def doubled(x: int) -> int:
    ...     return 2 * x
    >>> apply(typed(doubled), [pa.array([1, None])], 2).to_pylist()
    [2, None]
    """
    function = typed_function.function
    try:
        if typed_function.takes_arrays:
            return _checked(function, function(*columns), typed_function.kind, size)
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        values = [None if None in row else function(*row) for row in rows]
        return pa.array(values, typed_function.kind)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"The function '{_name(function)}' failed: {type(error).__name__}: {error}"
        ) from error


def checked_functions(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return functions by their names in upper case, since queries ignore case.

    Raises InputError for values that are not functions, functions without a return type, and names
    of built-in functions.
    """
    for name, function in functions.items():
        if name.upper() in LANGUAGE_FUNCTIONS:
            raise InputError(f"{name.upper()} is a function of the language: choose another name.")
        if not callable(function):
            raise InputError(f"'{name}' of functions= is not a function.")
        result_type(function)
    return {name.upper(): function for name, function in functions.items()}


def callable_in_queries(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions of a module whose return annotation is a column type, by upper name.

    Queries cannot call the others.
    """
    return {
        name.upper(): function
        for name, function in functions.items()
        if isinstance(annotation := _annotation(function), pa.DataType) or annotation in TYPES
    }


def _checked(function: Function, result: object, kind: pa.DataType, size: int) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        result = whole(result)
    if not isinstance(result, pa.Array) or len(result) != size:
        description = (
            f"{len(result)} rows" if isinstance(result, pa.Array) else type(result).__name__
        )
        raise InputError(
            f"The function '{_name(function)}' returned {description}, and not an Arrow array of "
            f"the {size} rows that it was given."
        )
    return result.cast(kind)


def _annotation(function: Function) -> object:
    try:
        return inspect.get_annotations(function, eval_str=True).get("return")
    except (NameError, TypeError):
        return None


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)
