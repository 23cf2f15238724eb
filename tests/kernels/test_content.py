"""What machine code is kept under: all that it is made from, and nothing else."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, typeof, types

from elsinore.kernels.content import content_key

SOURCE = """
LIMIT = 3

@njit
def callee(number):
    return number + 1

@njit
def caller(number):
    '''Return something.'''
    if number > LIMIT:
        return caller(number - 1)
    return callee(number)
"""


def key_of(source: str, kind: Any = types.int64, name: str = "caller") -> str:
    names: dict[str, Any] = {"njit": njit, "np": np, "__name__": "elsinore.kernels.source"}
    exec(source, names)
    return content_key(names[name], (kind,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("LIMIT = 3", "LIMIT = np.int64(3)"),
        ("number + 1", "number + 2"),
        ("number + 1", "number + True"),
        ("return number + 1", "return number - 1"),
        ("return callee(number)", "return callee(number + 1)"),
        ("@njit\ndef caller", "@njit(inline='always')\ndef caller"),
        ("@njit\ndef callee", "@njit(fastmath=True)\ndef callee"),
        ("def callee(number)", "def callee(number, more=2)"),
    ],
)
def test_another_callee_constant_or_option_is_another_kernel(before: str, after: str) -> None:
    assert before in SOURCE
    assert key_of(SOURCE.replace(before, after)) != key_of(SOURCE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 3\nUNUSED = 5"),
        ("LIMIT = 3", "\n\n# a comment\nLIMIT = 3"),
        ("'''Return something.'''", "'''Return something else.'''"),
    ],
)
def test_comments_and_places_do_not_matter(before: str, after: str) -> None:
    assert before in SOURCE
    assert key_of(SOURCE.replace(before, after)) == key_of(SOURCE)


def test_arrays_and_tuples_of_constants_count_by_what_they_hold() -> None:
    form = "TABLE = {}\n@njit\ndef caller(number):\n    return TABLE[number]"
    tables = ["(1, 2)", "(1, 2.0)", "(1, 3)", "np.array([1, 2])", "np.array([1, 3])"]
    assert len({key_of(form.format(table)) for table in tables}) == len(tables)


def test_the_types_of_arguments_count_and_so_do_the_names_in_a_tuple() -> None:
    a = typeof(NamedTuple("Pair", [("low", int), ("high", int)])(1, 2))
    b = typeof(NamedTuple("Pair", [("high", int), ("low", int)])(1, 2))
    assert str(a) == str(b)
    kinds = [types.int64, types.int32, types.float64[:], types.float64[::1], a, b]
    assert len({key_of(SOURCE, kind) for kind in kinds}) == len(kinds)


def test_kernels_of_one_text_and_two_names_are_two() -> None:
    twin = SOURCE.replace("def callee", "def other").replace("callee(", "other(")
    assert key_of(twin) != key_of(SOURCE)
