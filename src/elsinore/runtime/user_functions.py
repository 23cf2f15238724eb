"""Functions of Python that users register for queries: on Arrow arrays, or on single values."""

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
    """Return the Arrow type of a function's results, which its annotation says.

    Raises InputError for an annotation that names none.

    >>> def risk(amount: float) -> float: ...
    >>> result_type(risk)
    DataType(double)
    """
    returned = _annotation(function)
    if isinstance(returned, pa.DataType):
        return returned
    if returned in TYPES:
        return TYPES[returned]
    names = ", ".join(getattr(kind, "__name__", "") for kind in TYPES)
    raise InputError(
        f"The function '{_name(function)}' does not say what it returns: annotate it, as in "
        f"def {_name(function)}(x) -> float. Known are {names}, and Arrow's types for functions of "
        "Arrow arrays, as in -> pa.float64()."
    )


class Typed(NamedTuple):
    """A function with the type of its results; `takes_arrays`: it is called with Arrow arrays.

    Annotations are read where the function is defined: workers may lack the names in them.
    """

    function: Function
    kind: pa.DataType
    takes_arrays: bool


def typed(function: Function) -> Typed:
    """Return a function with what its annotation says. Raises InputError if it says nothing."""
    is_arrow = isinstance(_annotation(function), pa.DataType)
    return Typed(function, result_type(function), is_arrow)


def apply(called: Typed, columns: Sequence[pa.Array], size: int) -> pa.Array:
    """Return a function's result for each row, `size` of them.

    A function of single values is not called where one of them is null: the result is null there.
    Raises InputError where the function fails, or returns something else than it says.

    >>> def doubled(x: int) -> int:
    ...     return 2 * x
    >>> apply(typed(doubled), [pa.array([1, None])], 2).to_pylist()
    [2, None]
    """
    function = called.function
    try:
        if called.takes_arrays:
            return _checked(function, function(*columns), called.kind, size)
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        values = [None if None in row else function(*row) for row in rows]
        return pa.array(values, called.kind)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"The function '{_name(function)}' failed: {type(error).__name__}: {error}"
        ) from error


def checked_functions(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return functions by their names in upper case, as queries call them in any case.

    Raises InputError for what is not a function, or does not say what it returns.
    """
    for name, function in functions.items():
        if name.upper() in LANGUAGE_FUNCTIONS:
            raise InputError(f"{name.upper()} is a function of the language: choose another name.")
        if not callable(function):
            raise InputError(f"'{name}' of functions= is not a function.")
        result_type(function)
    return {name.upper(): function for name, function in functions.items()}


def saying_what_they_return(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return those functions of a module that queries may call, by their names in upper case.

    The others are for the module's own use: no type of a column is what they return.
    """
    return {
        name.upper(): function
        for name, function in functions.items()
        if isinstance(returned := _annotation(function), pa.DataType) or returned in TYPES
    }


def _checked(function: Function, result: object, kind: pa.DataType, size: int) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        result = whole(result)
    if not isinstance(result, pa.Array) or len(result) != size:
        shown = f"{len(result)} rows" if isinstance(result, pa.Array) else type(result).__name__
        raise InputError(
            f"The function '{_name(function)}' returned {shown}, and not an Arrow array of the "
            f"{size} rows that it was given."
        )
    return result.cast(kind)


def _annotation(function: Function) -> object:
    try:
        return inspect.get_annotations(function, eval_str=True).get("return")
    except (NameError, TypeError):
        return None


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)
