"""Only kernels call linked kernels: called from Python they run as plain Python."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import elsinore

SOURCE = Path(elsinore.__file__).parent.parent


@dataclass(slots=True)
class Module:
    """What a file declares: its kernels with their lines, and what its imports stand for."""

    text: str
    kernels: dict[tuple[str, int], bool] = field(default_factory=dict)  # -> whether it is linked
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)  # -> module, name there


def read(text: str) -> Module:
    """Return what a file's source declares."""
    found = Module(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                found.imports[alias.asname or alias.name] = node.module, alias.name
        elif isinstance(node, ast.FunctionDef):
            for told in map(ast.unparse, node.decorator_list):
                if told.partition("(")[0] in ("kernel", "wide_kernel"):
                    found.kernels[node.name, node.lineno] = "linked=True" in told
    return found


def modules() -> dict[str, Module]:
    """Return all modules of the package."""
    found = {}
    for path in sorted(SOURCE.joinpath("elsinore").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = read(path.read_text())
    return found


def is_linked(known: dict[str, Module], module: str, name: str) -> bool:
    """Return whether a name of a module is that of a linked kernel, handed on or not."""
    if module not in known:
        return False
    if any(linked and of == name for (of, _), linked in known[module].kernels.items()):
        return True
    source = known[module].imports.get(name)
    return source is not None and source != (module, name) and is_linked(known, *source)


def of_python(module: Module, table: symtable.SymbolTable) -> Iterator[tuple[str, str]]:
    """Yield the functions that are no kernels with each global name that they read."""
    if (table.get_name(), table.get_lineno()) in module.kernels:
        return
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
            yield table.get_name(), symbol.get_name()
    for child in table.get_children():
        yield from of_python(module, child)


def called_from_python(known: dict[str, Module]) -> set[str]:
    """Return where functions that are no kernels read the name of a linked one."""
    return {
        f"{name}.{function}: {read}"
        for name, module in known.items()
        for function, read in of_python(module, symtable.symtable(module.text, name, "exec"))
        if is_linked(known, name, read)
    }


def test_no_linked_kernel_is_called_from_python() -> None:
    assert not called_from_python(modules())


def test_calls_from_python_are_found() -> None:
    kernels = "@kernel(linked=True)\ndef add(a, b):\n    return a + b\n"
    calls = "from kernels import add as plus\n\n\ndef total(a):\n    return {}\n"
    known = {"kernels": read(kernels)}
    for text in ("plus(a, 1)", "[plus(b, 1) for b in a]", "enter(plus, 1e-6, a, 1)"):
        assert called_from_python(known | {"calls": read(calls.format(text))}), text
    compiled = calls.format("plus(a, 1)").replace("def total", "@wide_kernel\ndef total")
    other = calls.format("a").replace("def total(a)", "def total(plus)").replace("return a", "plus")
    for text in (compiled, other):
        assert not called_from_python(known | {"calls": read(text)}), text
