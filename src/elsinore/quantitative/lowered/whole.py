"""Whole numbers in compiled code: those of Python, or none.

A whole number in compiled code has a size of at most 2^53. Such numbers are doubles without
rounding, so that wherever Python would turn one into a double, divide two, or compare one with a
double, compiled code does the same. Where a sum, a product, ... would be greater, compiled code
raises: whoever called it goes on in Python, whose whole numbers have any size.

The same holds for what Python refuses and processors do not: a power of a negative number with a
fraction, a power too great for a double. Compiled code raises, and Python says what is wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.core import ir
from numba.core.cgutils import alloca_once
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import TypingError
from numba.core.untyped_passes import IRProcessing
from numba.extending import intrinsic

from elsinore.kernels.means import shortcuts

GREATEST = 1 << 53  # the size up to which all whole numbers are doubles
FRACTION = 53  # bits
BEYOND = "a value is beyond what compiled code computes as Python does"
INTEGER, DOUBLE = llvm.IntType(64), llvm.DoubleType()

Generate = Callable[[Any, Any, Any, Any], Any]  # context, builder, two numbers -> their result


def fits(value: Any) -> bool:
    """Return whether compiled code may hold a value: the whole numbers in it are small enough.

    >>> fits((1, -(2**53), 1e300)), fits((1, (2**53 + 1,)))
    (True, False)
    """
    if isinstance(value, tuple):
        return all(map(fits, value))
    return not isinstance(value, int) or -GREATEST <= value <= GREATEST


def refuse_if(context: Any, builder: Any, condition: Any) -> None:
    """Write that compiled code raises where a condition holds."""
    with builder.if_then(condition, likely=False):
        undocumented = shortcuts()
        assert undocumented is not None  # else nothing is lowered
        undocumented.write_error(context, builder, OverflowError, BEYOND)


def within(context: Any, builder: Any, number: Any) -> Any:
    """Write that a whole number must be small enough; return it."""
    moved = builder.add(number, INTEGER(GREATEST))
    refuse_if(context, builder, builder.icmp_unsigned(">", moved, INTEGER(2 * GREATEST)))
    return number


def as_of_python(context: Any, builder: Any, result: Any, given: Any) -> Any:
    """Write that only NaN may give NaN, and finite numbers give a finite one; return it.

    Everything else Python's functions refuse, with an error that says what is wrong.
    """
    any_nan, any_odd = llvm.IntType(1)(0), llvm.IntType(1)(0)
    for number in given:
        any_nan = builder.or_(any_nan, _is_nan(builder, number))
        any_odd = builder.or_(any_odd, _is_odd(builder, number))
    of_nan = builder.and_(_is_nan(builder, result), builder.not_(any_nan))
    of_finite = builder.and_(_is_odd(builder, result), builder.not_(any_odd))
    refuse_if(context, builder, builder.or_(of_nan, of_finite))
    return result


def _is_nan(builder: Any, number: Any) -> Any:
    return builder.fcmp_unordered("uno", number, number)


def _is_odd(builder: Any, number: Any) -> Any:
    """Write whether a double is infinite or NaN: then its difference from itself is NaN."""
    return _is_nan(builder, builder.fsub(number, number))


def hidden(builder: Any, number: Any) -> Any:
    """Write a double of which the optimizer knows nothing.

    It takes `pow(x, 2.0)` for `x * x`, which is another double now and then.
    """
    bits = builder.bitcast(number, INTEGER)
    kind = llvm.FunctionType(INTEGER, [INTEGER])
    return builder.bitcast(builder.asm(kind, "", "=r,0", [bits], False), DOUBLE)


def plain(kind: Any) -> Any:
    """Return the type of numbers that one is of: without None, not that of a constant."""
    kind = types.unliteral(kind)
    return types.unliteral(kind.type) if isinstance(kind, types.Optional) else kind


def is_whole(kind: Any) -> bool:
    """Return whether values of a type are whole numbers or truth values."""
    return isinstance(plain(kind), types.Integer | types.Boolean)


def is_number(kind: Any) -> bool:
    """Return whether values of a type are numbers or truth values."""
    return is_whole(kind) or isinstance(plain(kind), types.Float)


def as_it_is(context: Any, function: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return what an intrinsic gives that does what the compiler does."""
    kind = context.resolve_value_type(function)
    signature = context.resolve_function_type(kind, arguments, {})
    if signature is None:
        names = ", ".join(map(str, arguments))
        raise TypingError(f"{getattr(function, '__name__', function)} is not for {names}")

    def generate(target: Any, builder: Any, given: Any, values: Any) -> Any:
        cast = [
            target.cast(builder, value, source, target_type)
            for value, source, target_type in zip(values, given.args, signature.args, strict=True)
        ]
        return target.get_function(kind, signature)(builder, cast)

    return signature.return_type(*arguments), generate


def numbers(
    target: Any, builder: Any, given: Any, values: Any, kind: Any = types.int64
) -> list[Any]:
    """Write the arguments of an intrinsic as numbers of one type."""
    return [
        target.cast(builder, value, source, kind)
        for value, source in zip(values, given.args, strict=True)
    ]


def _sum(context: Any, builder: Any, a: Any, b: Any) -> Any:
    return within(context, builder, builder.add(a, b))


def _difference(context: Any, builder: Any, a: Any, b: Any) -> Any:
    return within(context, builder, builder.sub(a, b))


def _product(context: Any, builder: Any, a: Any, b: Any) -> Any:
    both = builder.smul_with_overflow(a, b)
    refuse_if(context, builder, builder.extract_value(both, 1))
    return within(context, builder, builder.extract_value(both, 0))


def _and(context: Any, builder: Any, a: Any, b: Any) -> Any:
    return within(context, builder, builder.and_(a, b))


def _or(context: Any, builder: Any, a: Any, b: Any) -> Any:
    return within(context, builder, builder.or_(a, b))


def _exclusive(context: Any, builder: Any, a: Any, b: Any) -> Any:
    return within(context, builder, builder.xor(a, b))


def _shifted_right(context: Any, builder: Any, a: Any, b: Any) -> Any:
    refuse_if(context, builder, builder.icmp_unsigned(">", b, INTEGER(63)))
    return builder.ashr(a, b)


def _shifted_left(context: Any, builder: Any, a: Any, b: Any) -> Any:
    refuse_if(context, builder, builder.icmp_unsigned(">", b, INTEGER(FRACTION)))
    return _product(context, builder, a, builder.shl(INTEGER(1), b))


def _checked(function: Any, generate: Generate) -> Any:
    """Return an operator for whole numbers; for others it is what it was."""

    @intrinsic  # type: ignore[untyped-decorator]
    def checked(typing: Any, left: Any, right: Any) -> Any:
        truths = all(isinstance(plain(kind), types.Boolean) for kind in (left, right))
        bitwise = function in {operator.and_, operator.or_, operator.xor}
        if not (is_whole(left) and is_whole(right)) or (truths and bitwise):
            return as_it_is(typing, function, (left, right))

        def code(target: Any, builder: Any, given: Any, values: Any) -> Any:
            return generate(target, builder, *numbers(target, builder, given, values))

        return types.int64(left, right), code

    return checked


@intrinsic  # type: ignore[untyped-decorator]
def power(typing: Any, base: Any, exponent: Any) -> Any:
    """Return a power as Python has it: whole numbers of whole ones, doubles of others."""
    if not (is_number(base) and is_number(exponent)):
        return as_it_is(typing, operator.pow, (base, exponent))
    if is_whole(base) and is_whole(exponent):
        return types.int64(base, exponent), _whole_power
    return types.float64(base, exponent), double_power


def double_power(target: Any, builder: Any, given: Any, values: Any) -> Any:
    """Write a power of doubles."""
    signature = types.float64(types.float64, types.float64)
    kind = target.typing_context.resolve_value_type(operator.pow)
    target.typing_context.resolve_function_type(kind, signature.args, {})
    doubles = numbers(target, builder, given, values, types.float64)
    result = target.get_function(kind, signature)(builder, [hidden(builder, d) for d in doubles])
    return as_of_python(target, builder, result, doubles)


def _whole_power(target: Any, builder: Any, given: Any, values: Any) -> Any:
    """Write a power of whole numbers: a product of so many. Raises for a negative exponent."""
    base, exponent = numbers(target, builder, given, values)
    refuse_if(target, builder, builder.icmp_signed("<", exponent, INTEGER(0)))
    small = builder.icmp_unsigned("<=", builder.add(base, INTEGER(1)), INTEGER(2))  # -1, 0 and 1
    parity = builder.sub(INTEGER(2), builder.and_(exponent, INTEGER(1)))
    few = builder.icmp_signed("<=", exponent, INTEGER(1))
    of_small = builder.select(few, exponent, parity)  # after these, their powers come again
    times = builder.select(small, of_small, exponent)
    refuse_if(target, builder, builder.icmp_signed(">", times, INTEGER(FRACTION)))
    total = alloca_once(builder, INTEGER)
    left = alloca_once(builder, INTEGER)
    builder.store(INTEGER(1), total)
    builder.store(times, left)
    test = builder.append_basic_block("power.test")
    body = builder.append_basic_block("power.body")
    end = builder.append_basic_block("power.end")
    builder.branch(test)
    builder.position_at_end(test)
    builder.cbranch(builder.icmp_signed(">", builder.load(left), INTEGER(0)), body, end)
    builder.position_at_end(body)
    builder.store(_product(target, builder, builder.load(total), base), total)
    builder.store(builder.sub(builder.load(left), INTEGER(1)), left)
    builder.branch(test)
    builder.position_at_end(end)
    return builder.load(total)


def as_whole(target: Any, builder: Any, number: Any) -> Any:
    """Write a double that is a whole number as one; NaN and what is too great are refused."""
    size = builder.select(
        builder.fcmp_ordered("<", number, DOUBLE(0.0)), builder.fneg(number), number
    )
    small = builder.fcmp_ordered("<=", size, DOUBLE(float(GREATEST)))  # not so for NaN
    refuse_if(target, builder, builder.not_(small))
    return builder.fptosi(number, INTEGER)


def rounding(name: str, how: str) -> Any:
    """Return a function of one number that gives a whole one; `how`: LLVM's name for it."""

    @intrinsic  # type: ignore[untyped-decorator]
    def rounded(_: Any, argument: Any) -> Any:
        if is_whole(argument):
            return types.int64(argument), lambda *given: numbers(*given)[0]
        if not is_number(argument):
            raise TypingError(f"{name} is not for {argument}")

        def code(target: Any, builder: Any, given: Any, values: Any) -> Any:
            (number,) = numbers(target, builder, given, values, types.float64)
            call = builder.module.declare_intrinsic(how, [DOUBLE])
            return as_whole(target, builder, builder.call(call, [number]))

        return types.int64(argument), code

    return rounded


OPERATORS: dict[Any, Any] = {
    operator.add: _checked(operator.add, _sum),
    operator.sub: _checked(operator.sub, _difference),
    operator.mul: _checked(operator.mul, _product),
    operator.and_: _checked(operator.and_, _and),
    operator.or_: _checked(operator.or_, _or),
    operator.xor: _checked(operator.xor, _exclusive),
    operator.lshift: _checked(operator.lshift, _shifted_left),
    operator.rshift: _checked(operator.rshift, _shifted_right),
    operator.pow: power,
}
UNARY = {operator.neg, operator.pos, operator.invert}  # of truth values those of 0 and 1


@intrinsic  # type: ignore[untyped-decorator]
def as_number(_: Any, argument: Any) -> Any:
    """Return a truth value as 0 or 1, all else as it is."""
    if isinstance(plain(argument), types.Boolean):
        return types.int64(argument), lambda *given: numbers(*given)[0]
    return argument(argument), lambda target, builder, given, values: values[0]


@register_pass(mutates_CFG=False, analysis_only=False)
class CheckNumbers(FunctionPass):  # type: ignore[misc]
    """Puts the checked operators in the place of the compiler's, before types are worked out."""

    _name = "elsinore_check_numbers"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Rewrite a function; return True, as it may have been changed."""
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                body += _rewritten(statement, block.scope)
            block.body[:] = body
        undocumented = shortcuts()
        assert undocumented is not None  # else nothing is lowered
        undocumented.define_anew(state.func_ir)
        return True


def _rewritten(statement: Any, scope: Any) -> list[Any]:
    """Return a statement with its operator checked, after those that name what it calls."""
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Expr):
        return [statement]
    given, where = statement.value, statement.loc
    if given.op in {"binop", "inplace_binop"}:
        function = given.fn if given.op == "binop" else given.immutable_fn
        arguments: tuple[Any, ...] = (given.lhs, given.rhs)
    elif given.op == "unary" and given.fn in UNARY:
        name = scope.redefine("$number", where)
        named, call = _call(as_number, (given.value,), scope, where)
        changed = ir.Expr.unary(given.fn, name, where)
        return [named, ir.Assign(call, name, where), ir.Assign(changed, statement.target, where)]
    else:
        return [statement]
    if function not in OPERATORS:
        return [statement]
    named, call = _call(OPERATORS[function], arguments, scope, where)
    return [named, ir.Assign(call, statement.target, where)]


def _call(function: Any, arguments: tuple[Any, ...], scope: Any, where: Any) -> tuple[Any, Any]:
    name = scope.redefine("$checked", where)
    value = ir.Global("checked", function, where)
    return ir.Assign(value, name, where), ir.Expr.call(name, arguments, (), where)


class CheckingCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with checked numbers."""

    def define_pipelines(self) -> list[Any]:
        """Return the compiler's passes, the one above among them."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(CheckNumbers, IRProcessing)
        passes.finalize()
        return [passes]
