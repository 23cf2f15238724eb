"""The recurrence, the exponents and the windows of the engine of trends are each written once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import elsinore

TRENDS = Path(elsinore.__file__).parent / "trends"
CORE = "core/"
CELLS = {"cells", "doubles", "numbers", "work"}  # what sums are kept in
STEPS = {"every", "length", "slide", "step"}  # how far windows lie apart
# Numbers whose powers may differ are added and multiplied by names of `elsinore.numeric` and of
# `core.numbers`, which know nothing of trends. These know what powers are:
OF_POWERS = {"DOWN", "FLOOR", "LIMB_BITS", "lowered", "scale", "settled", "sum_of"}
OTHERS = {
    "actions/fold.py": "sums of squares are told from another shift",
    "sets/states.py": "the same, in Python's numbers of any size",
    "sharing/bursts.py": "what events cost",
}
BY_THEMSELVES = {
    "graph/sums.py": {"FLOOR"},  # rows of numbers are added as doubles where powers are equal
    "hamlet/alone.py": {"scale"},  # a number of trends is multiplied with one of events
    "spread.py": {"LIMB_BITS"},  # roots of results
}


def files() -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules of the engine outside its core."""
    for path in sorted(TRENDS.rglob("*.py")):
        name = path.relative_to(TRENDS).as_posix()
        if not name.startswith(CORE):
            yield name, ast.parse(path.read_text("utf-8"))


def factors(node: ast.expr) -> Iterator[ast.BinOp]:
    """Yield the products in an expression, those that tell places and arguments left out."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mult):
            yield node
        yield from factors(node.left)
        yield from factors(node.right)


def added_products(tree: ast.Module) -> list[str]:
    """Return where a product is added to a sum: `cells[a] += u * v`, `cells[a] = y + u * v`."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            target: ast.expr = node.target
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            target = node.targets[0]
            if not isinstance(node.value.op, ast.Add):
                continue
        else:
            continue
        if not isinstance(target, ast.Subscript) or not any(factors(node.value)):
            continue
        array = target.value
        name = array.attr if isinstance(array, ast.Attribute) else getattr(array, "id", "")
        if name in CELLS:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_what_events_add_to_sums_is_told_by_the_core_alone() -> None:
    found = {name: places for name, tree in files() if (places := added_products(tree))}
    assert found.keys() == OTHERS.keys(), found
    assert all(len(places) == 1 for places in found.values()), found


def test_products_that_are_added_are_found() -> None:
    added = ["doubles[to] += u * v", "work.cells[a, b] = y + n * (x + u * v)"]
    others = ["ints[at] += row * 8", "doubles[a * b] += c", "cells[a] = plus(y, u * v)"]
    for text in added:
        assert added_products(ast.parse(text)), text
    for text in others:
        assert not added_products(ast.parse(text)), text


def test_numbers_of_unlike_powers_are_put_together_by_the_core_alone() -> None:
    found: dict[str, set[str]] = {}
    for name, tree in files():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                known = {alias.name for alias in node.names} & OF_POWERS
                if known - BY_THEMSELVES.get(name, set()):
                    found[name] = known
    assert not found


def test_windows_of_a_time_are_told_by_one_function() -> None:
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, tree in files()
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and (getattr(node.right, "attr", None) in STEPS or getattr(node.right, "id", None) in STEPS)
    ]
    assert not found
