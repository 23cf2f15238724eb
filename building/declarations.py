"""Write the sources that Cython compiles: copies whose imports are C's where C knows the names.

Compiled modules import from one another as all modules do. Cython needs more: what modules share is
declared in a `.pxd`, and imported by `from cython.cimports...`. Both are derived from the modules:

| a module has | C knows |
| --- | --- |
| a function with `@cython.cfunc` or `@cython.nogil`, imported by another compiled module | it |
| `class Kind(IntEnum)`, or `THIRD, FOURTH = range(2, 4)` | the constants |
| `LIMIT = 2.0**512` in a module that is not compiled | the constant |
| `Index = int` | the type `Py_ssize_t` by this name |
| `class Number(NamedTuple)` with numbers as fields | `struct Number` |
| `SOME_NODE = struct(f8="count", i4="event state")` | `struct SomeNode` |
| `from math import isnan` | the function of `libc.math` |

`@cython.nogil` alone marks a C function that neither needs Python nor raises: it stands for
`@cython.cfunc`, `@cython.exceptval(check=False)` and `@cython.nogil`.

Functions with `@cython.inline` that other modules import are part of the declarations: C puts them
in where they are called. A `.pxd` beside a module declares the rest: the fields of classes. Copies
have the lines of their sources, so that errors and tracebacks name the right ones.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

PACKAGE = "elsinore"
BY_HAND = re.compile(r"^cdef (?:class|struct|enum) (\w+)|^cdef [^(]*?(\w+)\(", re.MULTILINE)
CIMPORT = re.compile(rf"^from ({PACKAGE}\.[\w.]+) cimport (.+)$", re.MULTILINE)
FIELDS = {"i4": "int", "i8": "long long", "f8": "double"}
NUMBERS = {"int": "long long", "float": "double"}
ARITHMETIC = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
MEANT_BY_QUICK = ["@cython.cfunc", "@cython.exceptval(check=False)"]
TYPES = {
    "longlong": "long long",
    "longdouble": "long double",
    "schar": "signed char",
    **{f"u{name}": f"unsigned {name}" for name in ("char", "short", "int", "long")},
    "ulonglong": "unsigned long long",
}


INTEGERS = {"int", "long long", "Py_ssize_t", "bint"}


class Module:
    """A module of the package: what it imports, and what of it C knows."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.path = Path(root, "src", *name.split(".")).with_suffix(".py")
        self.text = self.path.read_text() if self.path.exists() else ""
        declarations = self.path.with_suffix(".pxd")
        by_hand = declarations.read_text() if declarations.exists() else ""
        text = re.sub(r'^""".*?"""$', "", by_hand, flags=re.MULTILINE | re.DOTALL)
        self.by_hand = text.strip()
        self.is_compiled = re.search(r"^import cython$", self.text, re.MULTILINE) is not None
        self.exported: set[str] = set()  # names that compiled modules import

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """The statements of the module; none if it is wrong, which Cython reports."""
        try:
            return ast.parse(self.text).body
        except SyntaxError:
            return []

    @cached_property
    def declared(self) -> dict[str, str]:
        """The declaration of each name that C knows; empty for those declared by hand."""
        names = {a or b: "" for a, b in BY_HAND.findall(self.by_hand)}
        declared = [pair for statement in self.statements for pair in _declarations(statement)]
        if not self.is_compiled:
            declared += [pair for statement in self.statements for pair in _constants(statement)]
        return {name: text for name, text in declared if name not in names} | names

    @property
    def inlined(self) -> list[ast.FunctionDef]:
        """The functions that compiled modules import and whose calls C replaces by their bodies."""
        functions = (s for s in self.statements if _is_quick(s) and s.name in self.exported)
        return [s for s in functions if "cython.inline" in _decorators(s)]

    @property
    def imports(self) -> list[ast.ImportFrom]:
        """The imports from modules of the package, and from `math`."""
        imports = (s for s in self.statements if isinstance(s, ast.ImportFrom))
        return [s for s in imports if re.match(rf"({PACKAGE}\.|math$)", s.module or "")]


def write_sources(root: Path, names: list[str], target: Path) -> None:
    """Write what Cython reads of compiled modules to `target`, as `src/elsinore/...`.

    A file that does not change keeps its time of modification; a new one gets that of its source.
    """
    modules = {name: Module(root, name) for name in names}
    for name in names:
        for statement in modules[name].imports:
            source = statement.module or ""
            if source != "math":
                modules.setdefault(source, Module(root, source))
                modules[source].exported |= {alias.name for alias in statement.names}
    for module in list(modules.values()):
        for source, imported in CIMPORT.findall(module.by_hand):
            modules.setdefault(source, Module(root, source))
            modules[source].exported |= set(imported.split(", "))
    for module in modules.values():
        seen: set[str] = set()
        while new := [function for function in module.inlined if function.name not in seen]:
            seen |= {function.name for function in new}
            for function in new:
                module.exported |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    written = set()
    for name, module in modules.items():
        copy = target / module.path.relative_to(root)
        declarations = _declared_text(module, modules)
        if declarations:
            _write(copy.with_suffix(".pxd"), declarations, module)
            written.add(copy.with_suffix(".pxd"))
        if name in names:
            _write(copy, _with_c_imports(module, modules), module)
            written.add(copy)
    for folder in {path.parent for path in written}:
        for package in (folder, *folder.parents):
            if target / "src" in package.parents:
                (package / "__init__.py").touch()
    for path in (*target.rglob("*.py"), *target.rglob("*.pxd")):
        if path not in written and path.name != "__init__.py":
            path.unlink()


def _write(path: Path, text: str, module: Module) -> None:
    """Write a file if it changed."""
    is_new = not path.exists()
    if not is_new and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if is_new:
        files = [module.path, module.path.with_suffix(".pxd")]
        latest = max(file.stat().st_mtime for file in files if file.exists())
        os.utime(path, (latest, latest))


def _with_c_imports(module: Module, modules: dict[str, Module]) -> str:
    """Return a module's text in which what C knows is imported by `cython.cimports`.

    What a short decorator stands for takes the place of the blank lines before the function, and
    what only type checkers read of classes is left out.
    """
    lines = module.text.split("\n")
    for statement in itertools.chain(
        *(s.body for s in module.statements if isinstance(s, ast.ClassDef))
    ):
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            end = statement.end_lineno or statement.lineno
            lines[statement.lineno - 1 : end] = [""] * (end - statement.lineno + 1)
    for function in module.statements:
        if _is_quick(function):
            first = min(decorator.lineno for decorator in function.decorator_list) - 1
            assert lines[first - 2 : first] == ["", ""], f"{module.path}:{first + 1}"
            lines[first - 2 : first] = MEANT_BY_QUICK
    for function in module.inlined:
        begin, end = function.decorator_list[0].lineno - 1, function.end_lineno or function.lineno
        lines[begin - 2 : end] = [""] * (end - begin + 2)
    for statement in module.imports:
        source, end = statement.module or "", statement.end_lineno or statement.lineno
        is_math = source == "math"
        known = [a for a in statement.names if is_math or a.name in modules[source].declared]
        if not known:
            continue
        others = [alias for alias in statement.names if alias not in known]
        c_source = f"cython.cimports.{'libc.' * is_math}{source}"
        texts = [
            f"from {name} import {', '.join(map(ast.unparse, names))}"
            for name, names in ((c_source, known), (source, others))
            if names
        ]
        blank = [""] * (end - statement.lineno)
        lines[statement.lineno - 1 : end] = ["; ".join(texts), *blank]
    return "\n".join(lines)


def _declared_text(module: Module, modules: dict[str, Module]) -> str:
    """Return the declarations of a module: those written by hand, and those derived from it."""
    texts = [text for name, text in module.declared.items() if text and _is_needed(module, name)]
    if not texts and not module.by_hand:
        return ""
    functions = "\n".join(text for text in texts if "(" in text)
    for function in module.inlined:
        head, body = _function(function), module.text.split("\n")
        lines = body[function.body[0].lineno - 1 : function.end_lineno]
        inline = "\n".join([head.replace("cdef ", "cdef inline ", 1) + ":", *lines])
        functions = functions.replace(head, "", 1) + "\n" + inline
    others = [text for text in texts if "(" not in text]
    imports = [
        f"from {statement.module} cimport {alias.name}"
        for statement in module.imports
        if statement.module in modules
        for alias in statement.names
        if alias.name in modules[statement.module].declared
        and re.search(rf"\b{alias.name}\b", functions)
    ]
    if module.inlined:
        imports.append("cimport cython")
    directives = re.findall(r"^# cython: .*", module.text)
    parts = (*directives, *imports, *others, module.by_hand, functions)
    return "\n".join(text for text in parts if text) + "\n"


def _is_needed(module: Module, name: str) -> bool:
    """Return whether a name is imported by a compiled module, or a struct of a class."""
    return name in module.exported or re.search(rf"\b{name}\b", module.by_hand) is not None


def _declarations(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield what C knows of a statement: names and their declarations."""
    match statement:
        case ast.FunctionDef(name=name) if _is_quick(statement) or (
            "cython.cfunc" in _decorators(statement)
        ):
            yield name, _function(statement)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id="int")):
            yield name, f"ctypedef Py_ssize_t {name}\n"
        case ast.ClassDef(name=name, bases=[ast.Name(id="NamedTuple")]):
            members = [member for member in statement.body if isinstance(member, ast.AnnAssign)]
            types = [(ast.unparse(m.annotation), ast.unparse(m.target)) for m in members]
            if all(kind in NUMBERS for kind, _ in types):
                lines = [f"    {NUMBERS[kind]} {field}\n" for kind, field in types]
                yield name, f"cdef struct {name}:\n" + "".join(lines)
        case ast.ClassDef(name=name, bases=[ast.Name(id="IntEnum")]):
            members = [
                f"    {target.id} = {value}\n"
                for member in statement.body
                if isinstance(member, ast.Assign)
                for target, value in [(member.targets[0], ast.unparse(member.value))]
                if isinstance(target, ast.Name)
            ]
            yield name, f"cdef enum {name}:\n" + "".join(members)
        case ast.Assign(
            targets=[ast.Tuple(elts=names)], value=ast.Call(func=ast.Name(id="range"), args=bounds)
        ):
            first = ast.literal_eval(bounds[0]) if len(bounds) > 1 else 0
            for value, target in enumerate(names, first):
                constant = ast.unparse(target)
                yield constant, f"cdef enum:\n    {constant} = {value}\n"
        case ast.Assign(
            targets=[ast.Name(id=constant)],
            value=ast.Call(func=ast.Name(id="struct"), keywords=fields),
        ):
            name = constant.title().replace("_", "")
            lines = [
                f"    {FIELDS[kind.arg or '']} {field}\n"
                for kind in fields
                for field in ast.literal_eval(kind.value).split()
            ]
            yield name, f"cdef struct {name}:\n" + "".join(lines)
        case _:
            return


def _constants(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the constants that a statement defines by numbers, as C has them."""
    if not isinstance(statement, ast.Assign):
        return
    target, value = statement.targets[0], statement.value
    is_tuple = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    pairs = zip(target.elts, value.elts, strict=True) if is_tuple else [(target, value)]
    for name, expression in pairs:
        numbers = [n.value for n in ast.walk(expression) if isinstance(n, ast.Constant)]
        is_number = all(isinstance(n, ARITHMETIC) for n in ast.walk(expression))
        if is_number and {type(number) for number in numbers} <= {int, float}:
            constant = eval(ast.unparse(expression))  # numbers and operators only
            text = repr(constant)
            if isinstance(constant, int):
                text = f"({constant + 1}LL - 1)" if constant < 0 else f"{constant}LL"
            kind = NUMBERS[type(constant).__name__]
            yield ast.unparse(name), _constant(ast.unparse(name), kind, text)


def _constant(name: str, kind: str, text: str) -> str:
    """Return the declaration of a constant: a macro of C."""
    macro = f"_elsinore_{name}"
    return (
        f'cdef extern from *:\n    """\n    #undef {macro}\n    #define {macro} {text}\n    """\n'
        f'    const {kind} {name} "{macro}"\n'
    )


def _is_quick(statement: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    """Return whether a statement is a function that the short decorator marks as one of C."""
    if not isinstance(statement, ast.FunctionDef):
        return False
    decorators = _decorators(statement)
    return "cython.nogil" in decorators and not decorators & {"cython.cfunc", "cython.ccall"}


def _function(function: ast.FunctionDef) -> str:
    """Return the declaration of a compiled function."""
    decorators = _decorators(function)
    if _is_quick(function):
        decorators.add("cython.exceptval(check=False)")
    arguments = ", ".join(f"{_c_type(a.annotation)} {a.arg}" for a in function.args.args)
    ends = {"cython.exceptval(check=False)": " noexcept", "cython.nogil": " nogil"}
    end = "".join(text for name, text in ends.items() if name in decorators)
    result = _c_type(function.returns)
    if result in INTEGERS and "noexcept" not in end:
        end = f" except? -1{end}"  # otherwise callers ask after each call whether it raised
    return f"cdef {result} {function.name}({arguments}){end}"


def _decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in function.decorator_list}


def _c_type(annotation: ast.expr | None) -> str:
    """Return a type in C: of `cython.const_int[::1]` it is `const int[::1]`."""
    if isinstance(annotation, ast.Subscript):
        slices = ast.unparse(annotation.slice).strip("()")
        return f"{_c_type(annotation.value)}[{slices}]"
    name = ast.unparse(annotation) if annotation else "object"
    is_const = name.startswith("cython.const_")
    name = name.removeprefix("cython.").removeprefix("const_" if is_const else "")
    return f"{'const ' * is_const}{TYPES.get(name, name)}"
