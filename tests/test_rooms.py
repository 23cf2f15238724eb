"""Functions stay small enough to be read and to be compiled quickly."""

from __future__ import annotations

import ast
from pathlib import Path

import elsinore

PACKAGE = Path(elsinore.__file__).parent
ROOT = Path(__file__).parents[1]
LINES, PARAMETERS = 80, 10
# Their parameters are the options that users have, each with its line.
OPTIONS = {
    "cli/check.py:check",
    "cli/explain.py:explain",
    "cli/generate.py:generate",
    "cli/report.py:report",
    "cli/run.py:run",
    "cli/stream.py:stream",
    "workload.py:run",
    "workload.py:stream",
}
INLINED_LINES = 20  # of a function whose body is copied into its callers before they are compiled


def inlined(text: str) -> dict[str, int]:
    """Return how many lines the bodies have that a file asks to be copied, docstrings left out."""
    return {
        node.name: (node.end_lineno or node.lineno)
        + 1
        - node.body[ast.get_docstring(node) is not None].lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for word in decorator.keywords
        if word.arg == "inline"
    }


def too_large(path: Path) -> dict[str, tuple[int, int]]:
    """Return the functions of a file with more lines or parameters than the limits: how many."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.FunctionDef):
            continue
        own = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
        size = (node.end_lineno or node.lineno) + 1 - node.lineno
        count = len(own) - (own[:1] in (["self"], ["cls"]))
        if size > LINES or count > PARAMETERS:
            found[f"{path.relative_to(PACKAGE).as_posix()}:{node.name}"] = size, count
    return found


def test_no_function_has_more_lines_or_parameters_than_the_limit() -> None:
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        found |= too_large(path)
    assert found.keys() <= OPTIONS, found


def test_no_long_function_is_inlined_by_force() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}:{name}": lines
        for folder in (PACKAGE, ROOT / "benchmarks")
        for path in sorted(folder.rglob("*.py"))
        for name, lines in inlined(path.read_text("utf-8")).items()
    }
    assert found
    assert not {name: lines for name, lines in found.items() if lines > INLINED_LINES}
    head = '@kernel(inline=True)\ndef long():\n    """Told."""\n'
    assert inlined(head + "    pass\n" * (INLINED_LINES + 1)) == {"long": INLINED_LINES + 1}
