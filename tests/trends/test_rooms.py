"""The engine's functions stay small enough to be read and to be compiled quickly."""

from __future__ import annotations

import ast
from pathlib import Path

import elsinore

TRENDS = Path(elsinore.__file__).parent / "trends"
LINES, PARAMETERS = 80, 10

# What is larger, and how large: entries may shrink or go, and no new ones may come.
LARGER = {
    "actions/combining.py:combine": (80, 18),
    "actions/folding.py:_apply": (80, 11),
    "hamlet/bursts.py:graphlet": (216, 10),
    "hamlet/forms.py:insert": (80, 16),
    "hamlet/forms.py:sum_before": (80, 16),
    "hamlet/optimizer.py:decide": (163, 10),
    "hamlet/run.py:_go_on": (94, 12),
    "hamlet/run.py:run": (80, 11),
    "hamlet/states.py:contribute": (80, 13),
}


def test_no_function_has_more_lines_or_parameters_than_the_limit_but_those_named() -> None:
    too_large = []
    for path in sorted(TRENDS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            name = f"{path.relative_to(TRENDS).as_posix()}:{node.name}"
            lines, parameters = LARGER.get(name, (LINES, PARAMETERS))
            own = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
            size = (node.end_lineno or node.lineno) + 1 - node.lineno
            count = len(own) - (own[:1] in (["self"], ["cls"]))
            if size > lines or count > parameters:
                too_large.append(f"{name}: {size} lines, {count} parameters")
    assert not too_large
