"""The recurrence, the exponents and the windows of the engine of trends are each written once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import elsinore

TRENDS = Path(elsinore.__file__).parent / "trends"
CORE = "core/"
CELLS = {"cells", "doubles", "numbers", "sums"}  # what sums are kept in, whoever declares them
DOUBLES = {"Doubles", "NDArray[np.float64]"}  # arrays of numbers, by their declarations
STEPS = {"every", "length", "slide", "step"}  # how far windows lie apart
# Numbers whose powers may differ are added and multiplied by names of `elsinore.numeric` and of
# `core.numbers`, which know nothing of trends. These know what powers are:
OF_POWERS = {"DOWN", "FLOOR", "LIMB_BITS", "lowered", "scale", "settled", "sum_of"}
COSTS = "what events cost"
OTHERS = {  # functions that add a product to a number, and what it is
    "actions/fold.py:_moved": "sums of squares, told from another shift",
    "benefit.py:propagation_cost": COSTS,
    "benefit.py:separate_cost": COSTS,
    "benefit.py:snapshot_cost": COSTS,
    "graph/sums.py:add_chosen": "numbers of unlike powers",
    "hamlet/evaluator.py:_count": "seconds",
    "hamlet/forms.py:plus": "numbers of unlike powers",
    "hamlet/expected.py:keep_to_it": COSTS,
    "hamlet/expected.py:weigh": "how many holders are expected",
    "hamlet/graphs.py:_split_plain": "rows times snapshots, what `value_of` is of one holder",
    "hamlet/optimizer.py:_join": COSTS,
    "hamlet/run.py:_count_again": "counts of a burst, taken off again",
    "prices.py:eager": COSTS,
    "prices.py:settling": COSTS,
    "sets/states.py:_added": "the recurrence, in Python's numbers of any size",
    "sharing/bursts.py:_saved": COSTS,
    "sharing/bursts.py:count_costs": COSTS,
    "sharing/clock.py:tick": "a clock's weight beside its rounding error",
}
BY_THEMSELVES = {
    "graph/sums.py": {"FLOOR"},  # rows of numbers are added as doubles where powers are equal
    "hamlet/alone.py": {"scale"},  # a number of trends is multiplied with one of events
    "values/spread.py": {"LIMB_BITS"},  # roots of results
}


def files() -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules of the engine outside its core."""
    for path in sorted(TRENDS.rglob("*.py")):
        name = path.relative_to(TRENDS).as_posix()
        if not name.startswith(CORE):
            yield name, ast.parse(path.read_text("utf-8"))


def last_name(node: ast.expr) -> str:
    """Return the name that something is told by, of an attribute its last part."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def declared(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield names with the types that they are declared with: parameters, fields, variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.arg, ast.unparse(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            yield last_name(node.target), ast.unparse(node.annotation)


def assigned(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is assigned to, and what; of two tuples each pair."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign | ast.NamedExpr | ast.AnnAssign):
            if node.value is not None:
                yield node.target, node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                if both and len(target.elts) == len(node.value.elts):
                    yield from zip(target.elts, node.value.elts, strict=True)
                else:
                    yield target, node.value


def terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a sum or a difference is of, of a choice both."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from (*terms(node.left), *terms(node.right))
    elif isinstance(node, ast.IfExp):
        yield from (*terms(node.body), *terms(node.orelse))
    elif isinstance(node, ast.UnaryOp):
        yield from terms(node.operand)
    else:
        yield node


def is_product(node: ast.expr) -> bool:
    """Return whether a term is a product, whatever of."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


class Numbers:
    """What in a function is a number that sums may be of, and not a place or a count.

    Elements of arrays that are declared to be of doubles, here or in any file, and of CELLS; what
    is declared a float; names for any of these, and what is reckoned from them.
    """

    def __init__(self, function: ast.AST, arrays: set[str]) -> None:
        own = dict(declared(function))
        others = {name for name, kind in own.items() if kind not in DOUBLES}
        self._arrays = arrays - others | {name for name, kind in own.items() if kind in DOUBLES}
        self._names = {name for name, kind in own.items() if kind == "float"}
        self._products: set[str] = set()
        before = -1
        while before != len(self._names) + len(self._products):
            before = len(self._names) + len(self._products)
            for target, value in assigned(function):
                if isinstance(target, ast.Name) and self.is_number(value):
                    self._names.add(target.id)
                if isinstance(target, ast.Name) and self.is_product(value):
                    self._products.add(target.id)

    def is_number(self, node: ast.expr) -> bool:
        """Return whether an expression is such a number."""
        if isinstance(node, ast.Subscript):
            return last_name(node.value) in self._arrays
        if isinstance(node, ast.BinOp):
            return self.is_number(node.left) or self.is_number(node.right)
        if isinstance(node, ast.IfExp):
            return self.is_number(node.body) or self.is_number(node.orelse)
        if isinstance(node, ast.UnaryOp):
            return self.is_number(node.operand)
        return isinstance(node, ast.Name) and node.id in self._names

    def is_product(self, node: ast.expr) -> bool:
        """Return whether a term is a product with such a number, or a name for one."""
        if isinstance(node, ast.Name):
            return node.id in self._products
        return is_product(node) and self.is_number(node)


def sums(function: ast.AST) -> Iterator[tuple[ast.expr | None, list[ast.expr]]]:
    """Yield what a function adds up, and what that is assigned to if it is."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield None, list(terms(node))
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            yield node.target, [node.target, *terms(node.value)]
    for target, value in assigned(function):
        if len(parts := list(terms(value))) > 1:
            yield target, parts


def added_products(tree: ast.AST, arrays: set[str] = CELLS) -> set[str]:
    """Return the functions that add a product to a number, or any product to one of CELLS."""
    found = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        if not any(isinstance(node, ast.Mult) for node in ast.walk(function)):
            continue
        numbers = Numbers(function, arrays)
        for target, parts in sums(function):
            of_cell = isinstance(target, ast.Subscript) and last_name(target.value) in CELLS
            if any(numbers.is_product(part) or (of_cell and is_product(part)) for part in parts):
                found.add(function.name)
    return found


def test_what_events_add_to_sums_is_told_by_the_core_alone() -> None:
    trees = list(files())
    kinds = [(name, kind) for _, tree in trees for name, kind in declared(tree)]
    arrays = CELLS | {name for name, kind in kinds if kind in DOUBLES}
    found = {f"{name}:{of}" for name, tree in trees for of in added_products(tree, arrays)}
    assert found == OTHERS.keys()


@pytest.mark.parametrize(
    "text",
    [
        "doubles[to] += u * v",
        "work.cells[a, b] = y + n * (x + u * v)",
        "after = doubles[a] + u * doubles[b]",
        "sums[a] += u * v",
        "sums[a] -= u * v",
        "cells[a] = -u * v + y",
        "cells[a], powers[a] = y + u * v, power",
        "first, second = doubles[a] + number * doubles[b], 0",
        "term = number * value\n    doubles[a] += term",
        "before = doubles[a]\n    return before + before * v",
        "return y + (number * u if u != 0.0 else 0.0)",
        "add(at, sums[a] * u + y)",
        "(after := sums[a] + sums[b] * u)",
    ],
)
def test_products_that_are_added_are_found(text: str) -> None:
    assert added_products(ast.parse(f"def f(number: float):\n    {text}"))


@pytest.mark.parametrize(
    "text",
    [
        "ints[at] += row * 8",
        "doubles[a * b] += c",
        "cells[a] = plus(y, u * v)",
        "place = header.cells + slot * header.cell",
        "first = doubles[a + b * c]",
        "doubles[a] = number * doubles[b]",
        "at = ints[a] + 2 * ints[b]",
    ],
)
def test_places_and_products_alone_are_no_sums(text: str) -> None:
    assert not added_products(ast.parse(f"def f(number: float):\n    {text}"))


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
