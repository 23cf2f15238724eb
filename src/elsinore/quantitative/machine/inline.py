"""Functions that are one expression, written out where they are called.

An expression is taken from the function's source file, if compiling that file gives the very code
of the function. What it reads from around it is what it was when the code was written.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from elsinore.quantitative.folds import is_comparable

LONGEST = 400_000  # characters of a file that is looked through
DEEPEST = 3  # functions within functions that are written out
REGISTERS = re.compile(r"R\d+|u")  # lists of registers, in what is written of a machine
PLAIN = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Tuple),
    *(ast.Attribute, ast.Constant, ast.Subscript, ast.operator, ast.unaryop, ast.boolop),
    *(ast.cmpop, ast.expr_context, ast.JoinedStr, ast.FormattedValue),
)


@dataclass(frozen=True, slots=True)
class Expression:
    """The expression of a function's value, its parameters, and what other names stand for."""

    parameters: tuple[str, ...]
    body: ast.expr
    around: Mapping[str, Any]

    def written(
        self,
        given: Sequence[str],
        attribute: Callable[[str], str | None],
        item: int | None,
        name: Callable[[Any], str],
        handed: Callable[[Any], str],
    ) -> str | None:
        """Return the expression of some arguments: names, constants, or tuples of them.

        Parameter `item` is an item, of which attributes alone are read: `attribute` writes them. Or
        it goes to functions: `handed` returns what such a function gets. `name` gives a value from
        around the function a name. None where the expression cannot be written.
        """
        try:
            body = _Writer(self, given, attribute, item, name, handed).visit(_copy(self.body))
        except _CannotWrite:
            return None
        return ast.unparse(body)


class _CannotWrite(Exception):  # noqa: N818
    pass


class _Writer(ast.NodeTransformer):
    def __init__(
        self,
        expression: Expression,
        given: Sequence[str],
        attribute: Callable[[str], str | None],
        item: int | None,
        name: Callable[[Any], str],
        handed: Callable[[Any], str],
        depth: int = DEEPEST,
    ) -> None:
        self._depth, self._handed = depth, handed
        self._given = dict(zip(expression.parameters, given, strict=True))
        self._item = None if item is None else expression.parameters[item]
        self._around, self._attribute, self._name = expression.around, attribute, name

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self._item:
            text = self._attribute(node.attr)
            if text is None:
                raise _CannotWrite
            return _parsed(text)
        written = self.generic_visit(node)
        assert isinstance(written, ast.expr)
        return written

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write the expression of a function in the place of its call with parameters."""
        called = self._around.get(node.func.id) if isinstance(node.func, ast.Name) else None
        names = [each.id for each in node.args if isinstance(each, ast.Name)]
        if self._depth and len(names) == len(node.args) and set(names) <= set(self._given):
            inner = expression_of(called)
            if inner is not None and len(inner.parameters) == len(names):
                given = [self._given[name] for name in names]
                places = [n for n, name in enumerate(names) if name == self._item]
                if len(places) < 2:
                    item = places[0] if places else None
                    writer = _Writer(
                        *(inner, given, self._attribute, item, self._name),
                        *(self._handed, self._depth - 1),
                    )
                    written = writer.visit(_copy(inner.body))
                    assert isinstance(written, ast.expr)
                    return written
        tested = self._given.get(names[0], "") if names else ""
        if called is is_comparable and tested.isidentifier():  # NaN alone differs from itself
            known = f"type({tested}) is float and {tested} == {tested}"
            return _parsed(f"{known} or {self._name(called)}({tested})")
        if isinstance(called, FunctionType) and names == [self._item] and len(node.args) == 1:
            return ast.Call(_parsed(self._name(called)), [_parsed(self._handed(called))], [])
        written = self.generic_visit(node)
        assert isinstance(written, ast.expr)
        return written

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._given:
            if node.id == self._item:
                raise _CannotWrite
            return _parsed(self._given[node.id])
        return ast.Name(self._name(self._around[node.id]), ast.Load())


def simplified(text: str) -> str:
    """Return an expression without tests whose truth is written, and tuples read in part.

    >>> simplified("(True, b)[1] if (True, b)[0] else 0"), simplified("(1 / a, b)[1]")
    ('b', '(1 / a, b)[1]')
    """
    return ast.unparse(_Simplifier().visit(_parsed(text)))


class _Simplifier(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Subscript(ast.Tuple(parts), ast.Constant(int() as place)):
                if -len(parts) <= place < len(parts) and all(map(_is_read, parts)):
                    return parts[place]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        while len(node.values) > 1 and _truth(node.values[0]) is (not decides):
            del node.values[0]
        alone = len(node.values) == 1 or _truth(node.values[0]) is decides
        return node.values[0] if alone else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        truth = _truth(node.operand)
        known = isinstance(node.op, ast.Not) and truth is not None
        return ast.Constant(not truth) if known else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        truth = _truth(node.test)
        return node if truth is None else node.body if truth else node.orelse


def _is_read(node: ast.expr) -> bool:
    """Return whether an expression only reads a variable, or a register in a list."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(ast.Name(name), ast.Name() | ast.Constant()):
            return REGISTERS.fullmatch(name) is not None
    return False


def _truth(node: ast.expr) -> bool | None:
    """Return whether an expression is True or False as it stands."""
    match node:
        case ast.Constant(bool() as truth):
            return truth
    return None


def expression_of(function: Any) -> Expression | None:
    """Return the expression that a function is, None where it is another thing, or not found.

    >>> from elsinore.quantitative.folds import sum
    >>> ast.unparse(expression_of(sum().step).body)
    'total + value'
    """
    if not isinstance(function, FunctionType) or function.__defaults__ or function.__kwdefaults__:
        return None
    code = function.__code__
    if code.co_flags & 0x2AC or code.co_kwonlyargcount or code.co_cellvars:
        return None  # generators, coroutines, *args and **kwargs, closures within
    for node in _file(code.co_filename).get(code, ()):
        body = _body(node)
        if body is None or not all(isinstance(each, PLAIN) for each in ast.walk(body)):
            return None
        if any(isinstance(each, ast.Call) and each.keywords for each in ast.walk(body)):
            return None
        try:
            around = _around(function, body)
        except KeyError:
            return None
        return Expression(code.co_varnames[: code.co_argcount], body, around)
    return None


def _around(function: FunctionType, body: ast.expr) -> dict[str, Any]:
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    values: dict[str, Any] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Name) and node.id not in code.co_varnames[: code.co_argcount]:
            if node.id in cells:
                try:
                    values[node.id] = cells[node.id].cell_contents
                except ValueError:  # not there yet
                    raise KeyError(node.id) from None
            elif node.id in function.__globals__:
                values[node.id] = function.__globals__[node.id]
            else:
                values[node.id] = vars(builtins)[node.id]
    return values


def _body(node: ast.AST) -> ast.expr | None:
    """Return the one expression that a function returns."""
    if isinstance(node, ast.Lambda):
        return node.body
    assert isinstance(node, ast.FunctionDef)
    match node.body:
        case [ast.Return(value)] | [ast.Expr(ast.Constant()), ast.Return(value)]:
            return value
    return None


@functools.cache
def _file(name: str) -> dict[CodeType, list[ast.AST]]:
    """Return the functions of a file, by their code; those that several may be are left out."""
    text = "".join(linecache.getlines(name))
    if not text or len(text) > LONGEST:
        return {}
    try:
        tree = ast.parse(text)
        whole = compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    nodes: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            nodes.setdefault(getattr(node, "name", "<lambda>"), []).append(node)
    by_code: dict[CodeType, list[ast.AST]] = {}
    for code in _codes(whole):
        around = [node for node in nodes.get(code.co_name, ()) if _is_of(node, code)]
        if around:  # the innermost of functions within one another
            by_code.setdefault(code, []).append(min(around, key=_innermost))
    return {code: nodes for code, nodes in by_code.items() if len(nodes) == 1}


def _is_of(node: ast.AST, code: CodeType) -> bool:
    """Return whether code may be that of a function: its parameters, and where it stands."""
    arguments = getattr(node, "args", None)
    assert isinstance(arguments, ast.arguments)
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    begin, end = _places(node)
    inside = all(
        begin <= (line, column) <= end
        for line, _, column, _ in code.co_positions()
        if line is not None and column  # what is at none is of no expression
    )
    return inside and list(code.co_varnames[: code.co_argcount]) == names


def _innermost(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    (line, column), end = _places(node)
    return end, (-line, -column)


def _places(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where a function begins and ends: line and column."""
    assert isinstance(node, ast.Lambda | ast.FunctionDef)
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _copy(node: ast.expr) -> ast.expr:
    return _parsed(ast.unparse(node))
