"""Functions of users as instructions: their statements are evaluated with symbols for values.

Names, constants, tuples, arithmetic, comparisons, conditions, attributes and indices are
translated, and so are calls of functions that can be translated themselves. Python computes what
instructions do not (`CannotTranslate`), so a function's values are the same either way.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeVar

from elsinore.quantitative.folds import Adding, Counting, is_comparable
from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.operations import (
    BINARIES,
    ONE_NUMBER,
    CannotTranslate,
    attribute,
    binary,
    check_comparable,
    compared,
    indexed,
    truth_of,
    unpacked,
)
from elsinore.quantitative.machine.source import Source, source_of
from elsinore.quantitative.machine.symbols import (
    Constant,
    Emitter,
    Label,
    Parts,
    Symbol,
    fields_of,
)
from elsinore.quantitative.versions import Bag, Counts

DEEPEST = 4  # functions that call one another
MOST_EXPRESSIONS = 2_000  # of a function: what follows an `if` is translated twice
HASHABLE = {type, type(len)}  # types, and functions of Python itself

Known = TypeVar("Known")


def translated(emitter: Emitter, function: Any, given: Sequence[Symbol]) -> Symbol:
    """Note the instructions of a function's call; return its value.

    Raises CannotTranslate; then nothing is noted.
    """
    return _Calls(emitter).call(function, given)


class _Calls:
    """Calls of functions, one within another.

    depth: how many there are; expressions: counts those that are evaluated.
    """

    def __init__(self, emitter: Emitter) -> None:
        self.emitter, self.depth, self.expressions = emitter, 0, itertools.count()

    def call(self, function: Any, given: Sequence[Symbol]) -> Symbol:
        """Return the value of a function that is translated."""
        if isinstance(function, Counting | Adding):
            return self.collected(function, *given)
        return self.within(function, given, lambda body: body.block(list(body.source.body)))

    def within(
        self, function: Any, given: Sequence[Symbol], evaluate: Callable[[_Body], Known]
    ) -> Known:
        """Return what `evaluate` makes of a function's body for some arguments.

        Raises CannotTranslate; then nothing is noted.
        """
        source = source_of(function)
        if source is None or len(source.parameters) != len(given) or self.depth == DEEPEST:
            raise CannotTranslate
        mark = self.emitter.mark
        self.depth += 1
        try:
            return evaluate(_Body(self, source, dict(zip(source.parameters, given, strict=True))))
        except CannotTranslate:
            self.emitter.go_back(mark)
            raise
        finally:
            self.depth -= 1

    def collected(self, function: Counting | Adding, collection: Symbol, value: Symbol) -> Symbol:
        """Return a collection with one more value."""
        add: Any = Bag.add
        if isinstance(function, Counting):
            add = Counts.add
            if function.cell is not None:
                value = self.called(self.emitter.constant(function.cell), [value])
        else:
            check_comparable(self.emitter, value)
        whole = self.emitter.whole
        return self.emitter.emit(ins.CALL, whole(collection), whole(value), function=add)

    def called(self, function: Symbol, given: list[Symbol]) -> Symbol:
        """Return the value of a function that Python calls if it cannot be translated."""
        if not isinstance(function, Constant):
            raise CannotTranslate
        called, emitter = function.value, self.emitter
        fields = fields_of(called) if isinstance(called, type) else None
        if fields is not None and len(fields) == len(given):
            return Parts(called, given)
        if called is is_comparable and len(given) == 1:
            check_comparable(emitter, given[0])
            return emitter.constant(True)
        if (called is builtins.min or called is builtins.max) and len(given) == 2:
            first, second = given
            code = ins.GREATER if called is builtins.max else ins.LESS
            comparison = binary(emitter, code, second, first)
            return emitter.chosen(comparison, lambda: second, lambda: first)
        if isinstance(called, FunctionType):
            with suppress(CannotTranslate):
                return self.call(called, given)
        if type(called) in HASHABLE and called in ONE_NUMBER and len(given) == 1:
            return emitter.emit(ONE_NUMBER[called], emitter.whole(given[0]))
        return emitter.emit(ins.CALL, *map(emitter.whole, given), function=called, again=True)


class _Body:
    """A function's statements and expressions, evaluated with symbols.

    values: of local names.
    """

    def __init__(self, calls: _Calls, source: Source, values: dict[str, Symbol]) -> None:
        self.calls, self.emitter, self.source, self.values = calls, calls.emitter, source, values

    # --- statements -----------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> Symbol:
        """Return what statements return."""
        for place, statement in enumerate(statements):
            match statement:
                case ast.Return(None):
                    break
                case ast.Return(ast.expr() as value):
                    return self.value(value)
                case ast.Pass() | ast.Expr(ast.Constant()):
                    pass
                case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                    self.assign(target, self.value(value))
                case ast.If(test, body, otherwise):
                    rest = statements[place + 1 :]
                    return self.choice(
                        test,
                        lambda: self.branch().block([*body, *rest]),  # noqa: B023
                        lambda: self.branch().block([*otherwise, *rest]),  # noqa: B023
                    )
                case _:
                    raise CannotTranslate
        return self.emitter.constant(None)

    def branch(self) -> _Body:
        """Return the body with names that are assigned apart from these."""
        return _Body(self.calls, self.source, dict(self.values))

    def assign(self, target: ast.expr, value: Symbol) -> None:
        """Give names to a value or its parts."""
        match target:
            case ast.Name(name):
                self.values[name] = value
            case ast.Tuple(targets) if all(isinstance(each, ast.Name) for each in targets):
                parts = unpacked(self.emitter, value, len(targets))
                for each, part in zip(targets, parts, strict=True):
                    self.assign(each, part)
            case _:
                raise CannotTranslate

    # --- expressions ----------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Symbol:
        """Return the value of an expression."""
        emitter, of = self.emitter, self.value
        if next(self.calls.expressions) >= MOST_EXPRESSIONS:
            raise CannotTranslate
        match node:
            case ast.Constant(value):
                return emitter.constant(value)
            case ast.Name(name):
                return self.name(name)
            case ast.Tuple(parts):
                return Parts(tuple, list(map(of, parts))) if parts else emitter.constant(())
            case ast.BinOp(left, op, right):
                return binary(emitter, BINARIES[type(op)], of(left), of(right))
            case ast.UnaryOp(ast.Not(), operand):
                condition = of(operand)
                known = truth_of(condition)
                if known is not None:
                    return emitter.constant(not known)
                return emitter.emit(ins.NOT, emitter.whole(condition))
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return emitter.constant(-number)
            case ast.UnaryOp(ast.USub(), operand):
                return emitter.emit(ins.NEGATIVE, emitter.whole(of(operand)))
            case ast.BoolOp(op, [first, *rest]):
                return self.either(isinstance(op, ast.Or), of(first), rest)
            case ast.Compare(left, [op], [right]):
                return compared(emitter, op, of(left), of(right))
            case ast.Compare():
                return of(self.in_pairs(node))
            case ast.IfExp(test, yes, no):
                return self.choice(test, lambda: of(yes), lambda: of(no))
            case ast.Attribute(part, name):
                return attribute(emitter, of(part), name)
            case ast.Subscript(part, index):
                return indexed(emitter, of(part), of(index))
            case ast.Call(function):
                return self.called(node, of(function))
            case ast.JoinedStr(parts):
                return emitter.emit(ins.CALL, *map(self.text, parts), function=_concatenated)
            case _:
                raise CannotTranslate

    def name(self, name: str) -> Symbol:
        """Return what a name stands for."""
        if name in self.values:
            return self.values[name]
        try:
            value = self.source.around(name)
        except KeyError:
            raise CannotTranslate from None
        self.emitter.around[id(self.source.function), name] = self.source, value
        return self.emitter.constant(value)

    def called(self, node: ast.Call, function: Symbol) -> Symbol:
        """Return the value of a call."""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise CannotTranslate
        given = list(map(self.value, node.args))
        if node.keywords:
            kind = function.value if isinstance(function, Constant) else None
            fields = (fields_of(kind) if isinstance(kind, type) else None) or ()
            named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
            if not fields or set(named) != set(fields[len(given) :]):
                raise CannotTranslate
            given += [named[name] for name in fields[len(given) :]]
        return self.calls.called(function, given)

    def text(self, part: ast.expr) -> Symbol:
        """Return a part of an f-string without formats."""
        match part:
            case ast.Constant():
                return self.value(part)
            case ast.FormattedValue(value, -1, None):
                whole = self.emitter.whole(self.value(value))
                return self.emitter.emit(ins.CALL, whole, function=format, again=True)
        raise CannotTranslate

    # --- conditions -----------------------------------------------------------------------------

    def either(self, is_or: bool, first: Symbol, rest: list[ast.expr]) -> Symbol:
        """Return the value of `and` or `or`."""
        if not rest:
            return first

        def same() -> Symbol:
            return first

        def other() -> Symbol:
            return self.either(is_or, self.value(rest[0]), rest[1:])

        known = truth_of(first)
        if known is not None:
            return first if known is is_or else other()
        condition = self.emitter.whole(first)
        return self.emitter.chosen(condition, *((same, other) if is_or else (other, same)))

    def in_pairs(self, node: ast.Compare) -> ast.BoolOp:
        """Return `a < b < c` as `a < b and b < c`, where names stand for the values of a and b."""
        count = len(self.values)
        left, middle = (ast.Name(f"{count + n} ", ast.Load()) for n in (0, 1))  # none of Python's
        self.values[left.id] = self.value(node.left)
        self.values[middle.id] = self.value(node.comparators[0])
        (op, *ops), (_, *others) = node.ops, node.comparators
        pair, later = ast.Compare(left, [op], [middle]), ast.Compare(middle, ops, others)
        return ast.BoolOp(ast.And(), [pair, later])

    def choice(self, test: ast.expr, yes: Callable[[], Symbol], no: Callable[[], Symbol]) -> Symbol:
        """Return one of two values, as a test is true."""
        otherwise = Label()
        known = self.jump_where(False, test, otherwise)
        if known is not None:
            return yes() if known else no()
        return self.emitter.one_of(yes, otherwise, no)

    def jump_where(self, when: bool, test: ast.expr, label: Label) -> bool | None:
        """Note a jump to a label where the truth of a test is `when`.

        Return whether the test is true if that is known: then there is no jump.
        """
        emitter = self.emitter
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                known = self.jump_where(not when, operand, label)
                return None if known is None else not known
            case ast.Compare(_, [_, _, *_]):
                return self.jump_where(when, self.in_pairs(test), label)
            case ast.BoolOp(_, [operand]):
                return self.jump_where(when, operand, label)
            case ast.BoolOp(op, [first, *rest]):
                others = ast.BoolOp(op, rest)
                decides = isinstance(op, ast.Or)  # the truth of `first` that is the test's
                after = label if decides is when else Label()
                known = self.jump_where(decides, first, after)
                if known is decides:
                    return known
                if known is not None:
                    return self.jump_where(when, others, label)
                with emitter.not_always():
                    known = self.jump_where(when, others, label)
                if known is when:
                    emitter.jump(label)
                if after is not label:
                    emitter.lines.append(after)
                return None
            case ast.Call(function, arguments, []):
                called, mark = self.value(function), emitter.mark
                with suppress(CannotTranslate):
                    return self.calls.within(
                        called.value if isinstance(called, Constant) else None,
                        [self.value(argument) for argument in arguments],
                        lambda body: body.jump_where(when, body.returned(), label),
                    )
                emitter.go_back(mark)
        condition = self.value(test)
        known = truth_of(condition)
        if known is None:
            emitter.jump_where(when, emitter.whole(condition), label)
        return known

    def returned(self) -> ast.expr:
        """Return the expression that the function consists of."""
        match self.source.body:
            case (ast.Return(ast.expr() as value),):
                return value
        raise CannotTranslate


def _concatenated(*texts: str) -> str:
    return "".join(texts)
