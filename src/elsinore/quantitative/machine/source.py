"""The statements of a function, read from its source file.

They are used only if compiling the file gives the very code of the function.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

LONGEST = 400_000  # characters of a file that is read


@dataclass(frozen=True, slots=True)
class Source:
    """A function's parameters and statements."""

    function: FunctionType
    parameters: tuple[str, ...]
    body: tuple[ast.stmt, ...]

    def around(self, name: str) -> Any:
        """Return what a name that is not local stands for. Raises KeyError for an unknown one."""
        code = self.function.__code__
        if name in code.co_varnames or name in code.co_cellvars:
            raise KeyError(name)
        if name in code.co_freevars:
            try:
                return (self.function.__closure__ or ())[code.co_freevars.index(name)].cell_contents
            except ValueError:  # not there yet
                raise KeyError(name) from None
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]

    def value_of(self, name: str) -> Any:
        """Return what a name that is not local stands for, None if it is unknown by now."""
        try:
            return self.around(name)
        except KeyError:
            return None


def source_of(function: Any) -> Source | None:
    """Return the statements of a function, None if they are not known.

    >>> from elsinore.quantitative.folds import sum
    >>> ast.unparse(source_of(sum().step).body[0])
    'return total + value'
    """
    if not isinstance(function, FunctionType) or function.__defaults__ or function.__kwdefaults__:
        return None
    code = function.__code__
    if code.co_flags & 0x2AC or code.co_kwonlyargcount or code.co_cellvars:
        return None  # generators, coroutines, *args and **kwargs, closures within
    for node in _file(code.co_filename).get(code, ()):
        if isinstance(node, ast.Lambda):
            body: tuple[ast.stmt, ...] = (ast.Return(node.body),)
        else:
            assert isinstance(node, ast.FunctionDef)
            body = tuple(node.body)
        return Source(function, code.co_varnames[: code.co_argcount], body)
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
