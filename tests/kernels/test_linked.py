"""Kernels that only kernels call are parts of their callers, kept and loaded like all others."""

from pathlib import Path

import numpy as np
import pytest
from numba import types

from elsinore.kernels import FOLDER_VARIABLE, cache, compiled
from elsinore.kernels.compilers import QuickCompiler
from elsinore.kernels.shelf import Shelf
from elsinore.kernels.undocumented import KNOWN

WORDS = types.Array(types.int64, 1, "C")


def power(base: int, exponent: int) -> int:
    found = 1
    for _ in range(exponent):
        found *= base
    if found < 0:
        raise OverflowError
    return found


power = compiled(power, linked=True)


def cube(base: int) -> int:
    return power(base, 3)


cube = compiled(cube, linked=True)


def cubes(numbers: np.ndarray) -> int:
    total = 0
    for number in numbers:
        total += cube(number) + power(number, 0)
    return total


def test_a_linked_kernel_is_a_part_of_those_that_call_it() -> None:
    whole = compiled(cubes)
    assert whole(np.array([2, 3])) == 8 + 27 + 2
    with pytest.raises(OverflowError):
        whole(np.array([1, -2]))
    (code,) = cube.overloads.values()  # type: ignore[attr-defined]
    assert not code.library.get_pointer_to_function(code.fndesc.llvm_cpython_wrapper_name)


def test_a_linked_kernel_runs_as_plain_python_where_python_calls_it() -> None:
    assert power(10, 30) == 10**30


def test_names_that_stay_of_one_type_are_compiled() -> None:
    def mean(number: int) -> float:
        total, count = 0.0, 0
        for each in range(number):
            total += each
            count += 1
        return total / count

    compiled(mean, linked=True).compile((types.int64,))  # type: ignore[attr-defined]


def test_quick_passes_give_what_all_passes_give() -> None:
    quick = compiled(cubes, pipeline=QuickCompiler)
    numbers = np.arange(9)
    assert quick(numbers) == compiled(cubes)(numbers) == cubes(numbers)
    assert KNOWN


def put(words: np.ndarray, place: int) -> int:
    words[place] = place
    return place + 1


put.__module__ = "elsinore.kernels.source"  # what is compiled is kept for modules of the package


def test_a_linked_kernel_from_the_cache_is_linked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kernels"))
    found = []
    for _ in range(2):
        monkeypatch.setattr(cache, "SHELF", shelf := Shelf())
        inner = compiled(put, linked=True)
        inner.compile((WORDS, types.int64))  # type: ignore[attr-defined]
        found.append((len(shelf.compiled), len(shelf.loaded)))
        names = {"inner": inner}
        exec("def twice(words, n):\n  return inner(words, inner(words, n))", names)
        words = np.zeros(8, np.int64)
        assert compiled(names["twice"])(words, 3) == 5  # type: ignore[arg-type]
        assert words.tolist() == [0, 0, 0, 3, 4, 0, 0, 0]
    assert found == [(1, 0), (0, 1)]
