"""Functions of users as instructions: their statements are evaluated with symbols for values.

Names, constants, tuples, arithmetic, comparisons, conditions, attributes and indices are
translated, and so are calls of functions that can be translated themselves. Python computes what
instructions do not (`CannotTranslate`), so a function's values are the same either way.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from elsinore.quantitative.folds import Adding, Counting, is_comparable
from elsinore.quantitative.items import Record
from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.source import Source, source_of
from elsinore.quantitative.machine.symbols import (
    ITEM,
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

BINARIES: dict[type, Any] = {
    ast.Add: ins.ADD,
    ast.Sub: ins.SUBTRACT,
    ast.Mult: ins.MULTIPLY,
    ast.Div: ins.DIVIDE,
    ast.FloorDiv: ins.FLOOR_DIVIDE,
    ast.Mod: ins.MODULO,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
}
COMPARISONS: dict[type, int] = {
    ast.Lt: ins.LESS,
    ast.LtE: ins.LESS_EQUAL,
    ast.Eq: ins.EQUAL,
    ast.NotEq: ins.NOT_EQUAL,
    ast.GtE: ins.GREATER_EQUAL,
    ast.Gt: ins.GREATER,
}
ONE_NUMBER: dict[Any, int] = {
    float: ins.FLOAT,
    int: ins.WHOLE,
    abs: ins.ABSOLUTE,
    math.sqrt: ins.ROOT,
    bool: ins.TRUTH,
}

Values = dict[str, Symbol]
Known = TypeVar("Known")


class CannotTranslate(Exception):  # noqa: N818
    """A function that Python must call."""


def translated(
    emitter: Emitter, attributes: list[str], function: Any, given: Sequence[Symbol]
) -> Symbol:
    """Note the instructions of a function's call; return its value.

    Raises CannotTranslate; then nothing is noted. attributes: the names of attributes of items.
    """
    return _Translator(emitter, attributes).call(function, given)


class _Translator:
    """Evaluates statements and expressions with symbols."""

    def __init__(self, emitter: Emitter, attributes: list[str]) -> None:
        self.emitter, self.attributes = emitter, attributes
        self.depth, self.left = 0, MOST_EXPRESSIONS

    def call(self, function: Any, given: Sequence[Symbol]) -> Symbol:
        """Return the value of a function that is translated."""
        if isinstance(function, Counting | Adding):
            return self.collected(function, *given)
        return self.within(
            function, given, lambda source, values: self.block(source, list(source.body), values)
        )

    def within(
        self, function: Any, given: Sequence[Symbol], evaluate: Callable[[Source, Values], Known]
    ) -> Known:
        """Return what `evaluate` makes of a function's source and the values of its parameters.

        Raises CannotTranslate; then nothing is noted.
        """
        source = source_of(function)
        if source is None or len(source.parameters) != len(given) or self.depth == DEEPEST:
            raise CannotTranslate
        mark = self.emitter.mark
        self.depth += 1
        try:
            return evaluate(source, dict(zip(source.parameters, given, strict=True)))
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
            self.check_comparable(value)
        whole = self.emitter.whole
        return self.emitter.emit(ins.CALL, whole(collection), whole(value), function=add)

    # --- statements -----------------------------------------------------------------------------

    def block(self, source: Source, statements: list[ast.stmt], values: Values) -> Symbol:
        """Return what statements return."""
        for place, statement in enumerate(statements):
            match statement:
                case ast.Return(None) | ast.Pass():
                    if isinstance(statement, ast.Return):
                        break
                case ast.Return(ast.expr() as value):
                    return self.value(source, value, values)
                case ast.Expr(ast.Constant()):
                    pass
                case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                    self.assign(target, self.value(source, value, values), values)
                case ast.If(test, body, otherwise):
                    rest = statements[place + 1 :]
                    return self.choice(
                        source,
                        test,
                        values,
                        lambda: self.block(source, [*body, *rest], dict(values)),  # noqa: B023
                        lambda: self.block(source, [*otherwise, *rest], dict(values)),  # noqa: B023
                    )
                case _:
                    raise CannotTranslate
        return self.emitter.constant(None)

    def assign(self, target: ast.expr, value: Symbol, values: Values) -> None:
        """Give names to a value or its parts."""
        match target:
            case ast.Name(name):
                values[name] = value
            case ast.Tuple(targets) if all(isinstance(each, ast.Name) for each in targets):
                if not isinstance(value, Parts):
                    whole = self.emitter.whole(value)
                    count = len(targets)
                    parts = self.emitter.emit(ins.CALL, whole, function=_unpacking(count))
                    value = Parts(
                        tuple,
                        [
                            self.emitter.emit(
                                ins.BINARY,
                                parts,
                                self.emitter.constant(n),
                                function=operator.getitem,
                            )
                            for n in range(count)
                        ],
                    )
                if value.kind is not tuple or len(value.parts) != len(targets):
                    raise CannotTranslate
                for each, part in zip(targets, value.parts, strict=True):
                    self.assign(each, part, values)
            case _:
                raise CannotTranslate

    # --- expressions ----------------------------------------------------------------------------

    def value(self, source: Source, node: ast.expr, values: Values) -> Symbol:
        """Return the value of an expression."""
        emitter = self.emitter
        self.left -= 1
        if self.left < 0:
            raise CannotTranslate

        def of(node: ast.expr) -> Symbol:
            return self.value(source, node, values)

        match node:
            case ast.Constant(value):
                return emitter.constant(value)
            case ast.Name(name):
                return self.name(source, name, values)
            case ast.Tuple(parts):
                return Parts(tuple, list(map(of, parts))) if parts else emitter.constant(())
            case ast.BinOp(left, op, right):
                return self.binary(BINARIES[type(op)], of(left), of(right))
            case ast.UnaryOp(ast.Not(), operand):
                condition = of(operand)
                known = truth_of(condition)
                return (
                    emitter.emit(ins.NOT, emitter.whole(condition))
                    if known is None
                    else emitter.constant(not known)
                )
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return emitter.constant(-number)
            case ast.UnaryOp(ast.USub(), operand):
                return emitter.emit(ins.NEGATIVE, emitter.whole(of(operand)))
            case ast.BoolOp(op, [first, *rest]):
                return self.either(isinstance(op, ast.Or), of(first), rest, of)
            case ast.Compare(left, [op], [right]):
                return self.compared(op, of(left), of(right))
            case ast.Compare():
                return of(self.in_pairs(source, node, values))
            case ast.IfExp(test, yes, no):
                return self.choice(source, test, values, lambda: of(yes), lambda: of(no))
            case ast.Attribute(part, name):
                return self.attribute(of(part), name)
            case ast.Subscript(part, index):
                return self.indexed(of(part), of(index))
            case ast.Call(function):
                return self.call_of(node, of(function), of)
            case ast.JoinedStr(parts):
                return self.text(parts, of)
            case _:
                raise CannotTranslate

    def name(self, source: Source, name: str, values: Values) -> Symbol:
        """Return what a name stands for."""
        if name in values:
            return values[name]
        try:
            value = source.around(name)
        except KeyError:
            raise CannotTranslate from None
        self.emitter.around[id(source.function), name] = source, value
        return self.emitter.constant(value)

    def binary(self, operation: Any, left: Symbol, right: Symbol) -> Symbol:
        """Return the result of an operation of two values."""
        emitter = self.emitter
        left, right = emitter.whole(left), emitter.whole(right)
        if isinstance(operation, int):
            return emitter.emit(operation, left, right)
        return emitter.emit(ins.BINARY, left, right, function=operation, again=True)

    def compared(self, op: ast.cmpop, left: Symbol, right: Symbol) -> Symbol:
        """Return whether a comparison is true."""
        emitter = self.emitter
        match op:
            case ast.Is() | ast.IsNot():
                if not isinstance(right, Constant):
                    left, right = right, left
                constants = {None: -1, False: 0, True: 1}
                known = right.value if isinstance(right, Constant) else 0
                if known is not None and known is not True and known is not False:
                    raise CannotTranslate
                negated = isinstance(op, ast.IsNot)
                if isinstance(left, Constant):
                    return emitter.constant((left.value is known) != negated)
                if isinstance(left, Parts):
                    return emitter.constant(negated)
                return emitter.emit(
                    ins.IS, left, numbers=(constants[known] + (4 if negated else 0),)
                )
            case ast.In() | ast.NotIn():
                found = self.binary(operator.contains, right, left)
                return emitter.emit(ins.NOT, found) if isinstance(op, ast.NotIn) else found
            case _:
                return self.binary(COMPARISONS[type(op)], left, right)

    def either(
        self, is_or: bool, first: Symbol, rest: list[ast.expr], of: Callable[[ast.expr], Symbol]
    ) -> Symbol:
        """Return the value of `and` or `or`."""
        if not rest:
            return first
        known = truth_of(first)
        if known is not None:
            return first if known is is_or else self.either(is_or, of(rest[0]), rest[1:], of)

        def same() -> Symbol:
            return first

        def other() -> Symbol:
            return self.either(is_or, of(rest[0]), rest[1:], of)

        condition = self.emitter.whole(first)
        return self.emitter.chosen(condition, *((same, other) if is_or else (other, same)))

    def in_pairs(self, source: Source, node: ast.Compare, values: Values) -> ast.BoolOp:
        """Return `a < b < c` as `a < b and b < c`, where names stand for the values of a and b."""
        names = [ast.Name(f"{len(values) + n} ", ast.Load()) for n in (0, 1)]  # none of Python's
        for name, operand in zip(names, [node.left, node.comparators[0]], strict=True):
            values[name.id] = self.value(source, operand, values)
        (left, middle), (op, *ops), (_, *others) = names, node.ops, node.comparators
        pair, later = ast.Compare(left, [op], [middle]), ast.Compare(middle, ops, others)
        return ast.BoolOp(ast.And(), [pair, later])

    def choice(
        self,
        source: Source,
        test: ast.expr,
        values: Values,
        yes: Callable[[], Symbol],
        no: Callable[[], Symbol],
    ) -> Symbol:
        """Return one of two values, as a test is true."""
        otherwise = Label()
        known = self.jump_where(False, source, test, values, otherwise)
        if known is not None:
            return yes() if known else no()
        return self.emitter.one_of(yes, otherwise, no)

    def jump_where(
        self, when: bool, source: Source, test: ast.expr, values: Values, label: Label
    ) -> bool | None:
        """Note a jump to a label where the truth of a test is `when`.

        Return whether the test is true if that is known: then there is no jump.
        """
        emitter = self.emitter
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                known = self.jump_where(not when, source, operand, values, label)
                return None if known is None else not known
            case ast.Compare(_, [_, _, *_]):
                in_pairs = self.in_pairs(source, test, values)
                return self.jump_where(when, source, in_pairs, values, label)
            case ast.BoolOp(op, [first, *rest]) if rest:
                others = ast.BoolOp(op, rest)
                decides = isinstance(op, ast.Or)  # the truth of `first` that is the test's
                after = label if decides is when else Label()
                known = self.jump_where(decides, source, first, values, after)
                if known is decides:
                    return known
                if known is not None:
                    return self.jump_where(when, source, others, values, label)
                with emitter.not_always():
                    known = self.jump_where(when, source, others, values, label)
                if known is when:
                    emitter.jump(label)
                if after is not label:
                    emitter.lines.append(after)
                return None
            case ast.BoolOp(_, [operand]):
                return self.jump_where(when, source, operand, values, label)
            case ast.Call(called, arguments, []):
                function, mark = self.value(source, called, values), emitter.mark
                with suppress(CannotTranslate):
                    return self.within(
                        function.value if isinstance(function, Constant) else None,
                        [self.value(source, argument, values) for argument in arguments],
                        lambda inner, names: self.jump_where(
                            when, inner, _returned(inner), names, label
                        ),
                    )
                emitter.go_back(mark)
        condition = self.value(source, test, values)
        known = truth_of(condition)
        if known is None:
            emitter.jump_where(when, emitter.whole(condition), label)
        return known

    def attribute(self, symbol: Symbol, name: str) -> Symbol:
        """Return an attribute of a value."""
        if symbol is ITEM:
            return self.of_item(name, by_key=False)
        if isinstance(symbol, Constant) and isinstance(symbol.value, ModuleType):
            return self.emitter.constant(getattr(symbol.value, name))
        if isinstance(symbol, Parts) and symbol.kind is not tuple:
            fields = fields_of(symbol.kind) or ()
            if name in fields:
                return symbol.parts[fields.index(name)]
        return self.emitter.emit(ins.FIELD, self.emitter.whole(symbol), function=name, again=True)

    def of_item(self, name: str, *, by_key: bool) -> Symbol:
        """Return an attribute of the item."""
        if not by_key and hasattr(Record, name) and name not in {"count", "index"}:
            raise CannotTranslate
        if name not in self.attributes:
            self.attributes.append(name)
        number = self.attributes.index(name)
        return self.emitter.emit(ins.ATTRIBUTE, numbers=(number, int(by_key)))

    def indexed(self, symbol: Symbol, index: Symbol) -> Symbol:
        """Return the value at an index."""
        known = index.value if isinstance(index, Constant) else None
        if symbol is ITEM and type(known) is str:
            return self.of_item(known, by_key=True)
        if isinstance(symbol, Parts) and symbol.kind is tuple and type(known) is int:
            count = len(symbol.parts)
            return (
                symbol.parts[known]
                if -count <= known < count
                else self.binary(operator.getitem, symbol, index)
            )
        return self.binary(operator.getitem, symbol, index)

    def call_of(self, node: ast.Call, function: Symbol, of: Callable[[ast.expr], Symbol]) -> Symbol:
        """Return the value of a call."""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise CannotTranslate
        given = list(map(of, node.args))
        if node.keywords:
            kind = function.value if isinstance(function, Constant) else None
            fields = (fields_of(kind) if isinstance(kind, type) else None) or ()
            named = {keyword.arg: of(keyword.value) for keyword in node.keywords}
            if not fields or set(named) != set(fields[len(given) :]):
                raise CannotTranslate
            given += [named[name] for name in fields[len(given) :]]
        return self.called(function, given)

    def called(self, function: Symbol, given: list[Symbol]) -> Symbol:
        """Return the value of a function that Python calls if it cannot be translated."""
        if not isinstance(function, Constant):
            raise CannotTranslate
        called, emitter = function.value, self.emitter
        fields = fields_of(called) if isinstance(called, type) else None
        if fields is not None and len(fields) == len(given):
            return Parts(called, given)
        if called is is_comparable and len(given) == 1:
            self.check_comparable(given[0])
            return emitter.constant(True)
        if (called is builtins.min or called is builtins.max) and len(given) == 2:
            first, second = given
            code = ins.GREATER if called is builtins.max else ins.LESS
            return emitter.chosen(self.binary(code, second, first), lambda: second, lambda: first)
        if isinstance(called, FunctionType):
            with suppress(CannotTranslate):
                return self.call(called, given)
        if type(called) in HASHABLE and called in ONE_NUMBER and len(given) == 1:
            return emitter.emit(ONE_NUMBER[called], emitter.whole(given[0]))
        return emitter.emit(ins.CALL, *map(emitter.whole, given), function=called, again=True)

    def text(self, parts: list[ast.expr], of: Callable[[ast.expr], Symbol]) -> Symbol:
        """Return the value of an f-string without formats."""
        texts: list[Symbol] = []
        for part in parts:
            match part:
                case ast.Constant():
                    texts.append(of(part))
                case ast.FormattedValue(value, -1, None):
                    whole = self.emitter.whole(of(value))
                    texts.append(self.emitter.emit(ins.CALL, whole, function=format, again=True))
                case _:
                    raise CannotTranslate
        return self.emitter.emit(ins.CALL, *texts, function=_concatenated)

    def check_comparable(self, symbol: Symbol) -> None:
        """Note a check that a value has a place in an order."""
        if isinstance(symbol, Parts) and symbol.kind is tuple:
            for part in symbol.parts:
                self.check_comparable(part)
        else:
            self.emitter.emit(ins.COMPARABLE, self.emitter.whole(symbol), function=is_comparable)


HASHABLE = {type, type(len)}  # types, and functions of Python itself


def truth_of(symbol: Symbol) -> bool | None:
    """Return whether a value is true, None if that is not known."""
    if isinstance(symbol, Constant):
        return bool(symbol.value) if isinstance(symbol.value, bool | int | float | None) else None
    return True if isinstance(symbol, Parts) else None


def _returned(source: Source) -> ast.expr:
    """Return the expression that a function consists of."""
    match source.body:
        case (ast.Return(ast.expr() as value),):
            return value
    raise CannotTranslate


def _concatenated(*texts: str) -> str:
    return "".join(texts)


@cache
def _unpacking(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that takes a value apart into so many."""

    def unpacked(value: Any) -> tuple[Any, ...]:
        parts = tuple(value)
        if len(parts) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        if len(parts) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
        return parts

    return unpacked
