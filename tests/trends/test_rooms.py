"""The engine's functions stay small enough to be read and to be compiled quickly."""

from __future__ import annotations

import ast
from pathlib import Path

import elsinore

TRENDS = Path(elsinore.__file__).parent / "trends"
LINES, PARAMETERS = 80, 10


def test_no_function_has_more_lines_or_parameters_than_the_limit() -> None:
    too_large = []
    for path in sorted(TRENDS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            name = f"{path.relative_to(TRENDS).as_posix()}:{node.name}"
            own = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
            size = (node.end_lineno or node.lineno) + 1 - node.lineno
            count = len(own) - (own[:1] in (["self"], ["cls"]))
            if size > LINES or count > PARAMETERS:
                too_large.append(f"{name}: {size} lines, {count} parameters")
    assert not too_large
