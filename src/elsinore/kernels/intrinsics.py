"""What stands in compiled code for functions that only Python has the source of.

Each is a function of Python somewhere else, by which kernels call it, and here what the compiler
puts in its place.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, lower_builtin, overload, type_callable

from elsinore.kernels.arrow import array_at
from elsinore.kernels.foreign import call_at
from elsinore.kernels.pointers import pointed

REPLACED = array_at, call_at, pointed  # in compiled code


@type_callable(array_at)  # type: ignore[untyped-decorator]
def _type_of_array_at(_context: Any) -> Any:
    """Return the type: no function that is compiled without references returns `carray`'s."""

    def array(address: Any, length: Any, kind: Any) -> Any:
        whole = isinstance(address, types.Integer) and isinstance(length, types.Integer)
        return types.Array(kind.dtype, 1, "C") if whole else None

    return array


@lower_builtin(array_at, types.Integer, types.Integer, types.Any)  # type: ignore[untyped-decorator]
def _array_at(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    address, length = (
        context.cast(builder, value, kind, types.int64)
        for value, kind in zip(given[:2], signature.args[:2], strict=True)
    )
    kind = signature.return_type
    array = cgutils.create_struct_proxy(kind)(context, builder)  # of nobody's memory, until told
    array.data = builder.inttoptr(address, context.get_value_type(types.CPointer(kind.dtype)))
    array.nitems = length
    array.itemsize = ir.IntType(64)(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    array.shape = cgutils.pack_array(builder, [array.nitems])
    array.strides = cgutils.pack_array(builder, [array.itemsize])
    return array._getvalue()


@intrinsic  # type: ignore[untyped-decorator]
def _call(_typing: Any, address: Any, pointer: Any) -> Any:  # noqa: ARG001 - of the compiler
    def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:  # noqa: ARG001
        word = ir.IntType(64)
        function = builder.inttoptr(given[0], ir.FunctionType(word, [word]).as_pointer())
        return builder.call(function, [given[1]])

    return types.int64(types.int64, types.int64), generate


@overload(call_at)  # type: ignore[untyped-decorator]
def _call_at(address: Any, pointer: Any) -> Any:  # noqa: ARG001 - of the compiler
    def call(address: Any, pointer: Any) -> Any:
        return _call(types.int64(address), types.int64(pointer))

    return call


@intrinsic  # type: ignore[untyped-decorator]
def _begin(_typing: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, given[0]).data

    return types.CPointer(array.dtype)(array), generate


@overload(pointed)  # type: ignore[untyped-decorator]
def _pointed(array: Any) -> Any:
    if array.layout != "C":
        raise TypingError(f"An array that is handed on by where it begins is contiguous: {array}")

    def found(array: Any) -> Any:
        return _begin(array)

    return found
