"""The functions of `math` in compiled code: the doubles of Python's, bit for bit, or none.

Where a function has no value, or one too great for a double, Python raises and processors do not:
compiled code raises too, and Python says what is wrong. What the compiler computes in another way
than Python (`gamma`, `lgamma`, `hypot`, ...) is not here, and runs in Python.
"""

from __future__ import annotations

import math
from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from elsinore.quantitative.lowered.whole import (
    as_it_is,
    as_of_python,
    double_power,
    is_number,
    numbers,
    rounding,
)

pi, e, tau, inf, nan = math.pi, math.e, math.tau, math.inf, math.nan
isnan, isinf, isfinite = math.isnan, math.isinf, math.isfinite
floor = rounding("floor", "llvm.floor")
ceil = rounding("ceil", "llvm.ceil")
trunc = rounding("trunc", "llvm.trunc")


def _of_one(function: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def checked(typing: Any, argument: Any) -> Any:
        if not is_number(argument):
            raise TypingError(f"{function.__name__} is not for {argument}")
        signature, generate = as_it_is(typing, function, (types.float64,))

        def code(target: Any, builder: Any, given: Any, values: Any) -> Any:
            doubles = numbers(target, builder, given, values, types.float64)
            found = generate(target, builder, signature, doubles)
            return as_of_python(target, builder, found, doubles)

        return types.float64(argument), code

    return checked


def _of_two(function: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def checked(typing: Any, first: Any, second: Any) -> Any:
        if not (is_number(first) and is_number(second)):
            raise TypingError(f"{function.__name__} is not for {first} and {second}")
        signature, generate = as_it_is(typing, function, (types.float64, types.float64))

        def code(target: Any, builder: Any, given: Any, values: Any) -> Any:
            doubles = numbers(target, builder, given, values, types.float64)
            return generate(target, builder, signature, doubles)

        return types.float64(first, second), code

    return checked


@intrinsic  # type: ignore[untyped-decorator]
def pow(_: Any, base: Any, exponent: Any) -> Any:  # noqa: A001 - the name in `math`
    """Return a power of doubles."""
    if not (is_number(base) and is_number(exponent)):
        raise TypingError(f"pow is not for {base} and {exponent}")
    return types.float64(base, exponent), double_power


sqrt, exp, expm1 = _of_one(math.sqrt), _of_one(math.exp), _of_one(math.expm1)
log, log2, log10, log1p = map(_of_one, (math.log, math.log2, math.log10, math.log1p))
sin, cos, tan = _of_one(math.sin), _of_one(math.cos), _of_one(math.tan)
asin, acos, atan = _of_one(math.asin), _of_one(math.acos), _of_one(math.atan)
sinh, cosh, tanh = _of_one(math.sinh), _of_one(math.cosh), _of_one(math.tanh)
asinh, acosh, atanh = _of_one(math.asinh), _of_one(math.acosh), _of_one(math.atanh)
erf, erfc, fabs = _of_one(math.erf), _of_one(math.erfc), _of_one(math.fabs)
degrees, radians = _of_one(math.degrees), _of_one(math.radians)
atan2, copysign = _of_two(math.atan2), _of_two(math.copysign)

SAME = {  # of `math` -> here
    getattr(math, name): value
    for name, value in list(globals().items())
    if callable(getattr(math, name, None))
}
