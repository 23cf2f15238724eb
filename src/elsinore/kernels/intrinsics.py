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
from elsinore.kernels.cycles import cycles
from elsinore.kernels.foreign import call_at
from elsinore.kernels.pointers import pointed
from elsinore.kernels.vectors import FOUR, add_four

REPLACED = add_four, array_at, call_at, cycles, pointed  # in compiled code


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
def _counter(_typing: Any) -> Any:
    """Return the processor's cycle counter."""

    def generate(_context: Any, builder: Any, _signature: Any, _given: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        name = "llvm.readcyclecounter"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [])

    return types.int64(), generate


@overload(cycles)  # type: ignore[untyped-decorator]
def _cycles() -> Any:
    return lambda: _counter()  # noqa: PLW0108  (what is compiled is a function)


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


@intrinsic  # type: ignore[untyped-decorator]
def _add_four(_typing: Any, numbers: Any, to: Any, of: Any, limit: Any) -> Any:
    if not isinstance(numbers, types.CPointer) or numbers.dtype != types.float64:
        raise TypingError(f"Numbers that are added by four are pointed doubles: {numbers}")

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        four = ir.VectorType(ir.DoubleType(), FOUR)
        target, source = (
            builder.bitcast(builder.gep(given[0], [place]), four.as_pointer())
            for place in given[1:3]
        )
        before, added = builder.load(target), builder.load(source)
        total = builder.fadd(before, added)
        stored = builder.store(total, target)
        for access in (before, added, stored):
            access.align = 8  # of one number
        kind, name = ir.FunctionType(four, [four]), "llvm.fabs.v4f64"
        size = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        limits = ir.Constant(four, ir.Undefined)
        for place in range(FOUR):
            limits = builder.insert_element(limits, given[3], ir.IntType(32)(place))
        passed = builder.fcmp_unordered(">=", builder.call(size, [total]), limits)
        mask = builder.bitcast(passed, ir.IntType(FOUR))
        return builder.icmp_unsigned("!=", mask, ir.IntType(FOUR)(0))

    return types.boolean(numbers, to, of, limit), generate


@overload(add_four)  # type: ignore[untyped-decorator]
def _added_four(numbers: Any, to: Any, of: Any, limit: Any) -> Any:  # noqa: ARG001
    def add(numbers: Any, to: Any, of: Any, limit: Any) -> Any:
        return _add_four(numbers, types.uint64(to), types.uint64(of), limit)

    return add
