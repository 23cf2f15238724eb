"""Kernels that only kernels call are parts of their callers, kept and loaded like all others."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.core.errors import TypingError

from elsinore.kernels import FOLDER_VARIABLE, cache, kernel
from elsinore.kernels.compilers import QuickCompiler
from elsinore.kernels.decorator import compiled
from elsinore.kernels.shelf import Shelf
from elsinore.kernels.undocumented import KNOWN
from elsinore.quantitative.lowered import heap

WORDS = types.Array(types.int64, 1, "C")


@kernel(linked=True)
def power(base: int, exponent: int) -> int:
    found = 1
    for _ in range(exponent):
        found *= base
    if found < 0:
        raise OverflowError
    return found


@kernel(linked=True)
def cube(base: int) -> int:
    return power(base, 3)


def cubes(numbers: np.ndarray) -> int:
    total = 0
    for number in numbers:
        total += cube(number) + power(number, 0)
    return total


def test_a_linked_kernel_is_a_part_of_those_that_call_it() -> None:
    whole = kernel(cubes)
    assert whole(np.array([2, 3])) == 8 + 27 + 2
    with pytest.raises(OverflowError):
        whole(np.array([1, -2]))
    (code,) = cube.overloads.values()  # type: ignore[attr-defined]
    assert not code.library.get_pointer_to_function(code.fndesc.llvm_cpython_wrapper_name)


def test_a_linked_kernel_runs_as_plain_python_where_python_calls_it() -> None:
    assert power(10, 30) == 10**30


def test_a_rare_kernel_is_called_and_not_copied_into_its_callers() -> None:
    rarely = kernel(linked=True, rare=True)(heap.room.py_func)  # type: ignore[attr-defined]
    names = {"rarely": rarely}
    exec("def twice(results, n):\n  return rarely(results, n), rarely(results, n + 1)", names)
    whole, results = kernel(names["twice"]), np.array([3, 0, 20])
    assert whole(results, 4) == (3, 7)  # type: ignore[arg-type]
    with pytest.raises(MemoryError):
        whole(results, 4)  # type: ignore[arg-type]
    (code,) = whole.overloads.values()  # type: ignore[attr-defined]
    assert sum("4room" in each.name for each in code.library.get_defined_functions()) == 1


def half_of(number: int) -> float:
    half = number + 1
    if half % 2:
        half = number * 0.5  # type: ignore[assignment]
    return half


def counted(number: int) -> float:
    total = 0
    for each in range(number):
        total += each * 0.5  # type: ignore[assignment]
    return total


def unsigned(number: int) -> float:
    place = np.uint64(number)
    if number > 3:
        place = number  # type: ignore[assignment]
    return place


def in_tuple(number: int) -> float:
    pair = number, 1
    if number > 3:
        pair = number * 0.5, 1  # type: ignore[assignment]
    return pair[0]


@pytest.mark.parametrize(
    ("body", "name"),
    [(half_of, "half"), (counted, "total"), (unsigned, "place"), (in_tuple, "pair")],
)
def test_a_name_for_a_float_here_and_an_integer_there_is_refused(
    body: Callable[[int], float], name: str
) -> None:
    with pytest.raises(TypingError, match=f"The name '{name}' is for .*float64.*, here, for "):
        kernel(linked=True)(body).compile((types.int64,))  # type: ignore[attr-defined]
    assert kernel(body)(7) == body(7)  # elsewhere each is of a type of its own


def test_names_that_stay_of_one_type_are_compiled() -> None:
    def mean(number: int) -> float:
        total, count = 0.0, 0
        for each in range(number):
            total += each
            count += 1
        return total / count

    kernel(linked=True)(mean).compile((types.int64,))  # type: ignore[attr-defined]


def test_quick_passes_give_what_all_passes_give() -> None:
    quick = compiled(cubes, pipeline=QuickCompiler)
    numbers = np.arange(9)
    assert quick(numbers) == kernel(cubes)(numbers) == cubes(numbers)
    assert KNOWN


def test_a_linked_kernel_from_the_cache_is_linked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kernels"))
    found = []
    for _ in range(2):
        monkeypatch.setattr(cache, "SHELF", shelf := Shelf())
        inner = kernel(linked=True)(heap.keep.py_func)  # type: ignore[attr-defined]
        inner.compile((WORDS, WORDS, types.int64, types.int64))  # type: ignore[attr-defined]
        found.append((len(shelf.compiled), len(shelf.loaded)))
        names = {"inner": inner}
        exec("def kept(words, journal):\n  inner(words, journal, 3, 2)\n  return journal[0]", names)
        words, journal = np.arange(8), np.zeros(16, np.int64)
        journal[:3] = 3, 0, 16
        assert kernel(names["kept"])(words, journal) == 7  # type: ignore[arg-type]
        assert journal[3:7].tolist() == [3, 4, 3, 2]
    assert found == [(1, 0), (0, 1)]
