"""Dataclasses and named tuples in saved states: looked up by name, made without their functions."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Sequence
from types import MemberDescriptorType
from typing import Any


class UnsupportedValueError(Exception):
    """A value that saved states do not hold; the text says which type it has."""


def is_class(kind: type) -> bool:
    """Return whether a class is a dataclass or a named tuple."""
    is_named = issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)
    return is_named or dataclasses.is_dataclass(kind)


def class_name(kind: type) -> str:
    """Return by which name a dataclass or named tuple is looked up when a state is read.

    Raises UnsupportedValueError if it cannot be found by it.
    """
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        found = class_named(name)
    except (KeyError, TypeError, ValueError):
        found = None
    if found is not kind:
        raise UnsupportedValueError(
            f"a {kind.__module__}.{kind.__qualname__}, which is not found by that name (define the "
            "class at the top of a module)"
        )
    return name


def class_named(name: str) -> type:
    """Return a dataclass or named tuple of a module that is loaded, by `module:name`.

    Raises ValueError, KeyError or TypeError for other names; calls no function of a module.
    """
    module, _, qualified = name.partition(":")
    if module not in sys.modules:
        raise ValueError(f"the module {module!r:.100} is not loaded; import it first")
    found: Any = sys.modules[module]
    for part in qualified.split("."):
        found = vars(found)[part]
    if not isinstance(found, type) or not is_class(found):
        raise ValueError(f"{name!r:.100} is neither a dataclass nor a named tuple")
    return found


def stored_values(value: Any) -> Sequence[Any]:
    """Return the values of the fields of a dataclass or a named tuple.

    Raises UnsupportedValueError for fields that are computed, or have no value.
    """
    if not dataclasses.is_dataclass(value):
        return tuple(value)
    kind = type(value)
    names = [field.name for field in dataclasses.fields(value)]
    for name in names:
        if not _is_stored(kind, name):
            raise UnsupportedValueError(
                f"a {kind.__qualname__}, whose field '{name}' is computed and not stored"
            )
        if not hasattr(value, name):
            raise UnsupportedValueError(f"a {kind.__qualname__} without a value of '{name}'")
    return [getattr(value, name) for name in names]


def object_of(name: str, values: Sequence[Any]) -> Any:
    """Return a dataclass or a named tuple with these fields, calling no function of its class."""
    kind = class_named(name)
    if not dataclasses.is_dataclass(kind):
        if len(kind._fields) != len(values):  # type: ignore[attr-defined]
            raise ValueError(f"{name} has other fields now")
        return tuple.__new__(kind, values)
    made: Any = object.__new__(kind)
    for field, value in zip(dataclasses.fields(kind), values, strict=True):
        if not _is_stored(kind, field.name):
            raise ValueError(f"the field '{field.name}' of {name} is computed")
        object.__setattr__(made, field.name, value)
    return made


def _is_stored(kind: type, name: str) -> bool:
    """Return whether setting a field of an object calls no function of its class."""
    descriptor = inspect.getattr_static(kind, name, None)
    return isinstance(descriptor, MemberDescriptorType) or not hasattr(type(descriptor), "__set__")
