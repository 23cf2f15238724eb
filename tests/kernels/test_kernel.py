"""Functions compile, and run as plain Python."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from pyspark import cloudpickle

from elsinore.kernels import COMPILE_VARIABLE, compiled, is_kernel
from support.uncompiled import uncompiled


@compiled
def collatz(number: int) -> int:
    """Return how many steps lead to 1, by a kernel that calls itself."""
    if number == 1:
        return 0
    return 1 + collatz(number // 2 if number % 2 == 0 else 3 * number + 1)


def square(number: int) -> int:
    return number * number


square = compiled(square, inline=True)


@compiled
def squares(numbers: np.ndarray, times: int = 2) -> None:
    for row in range(len(numbers)):
        for _ in range(times):
            numbers[row] = square(numbers[row])


def test_a_kernel_is_compiled_and_so_is_one_that_is_inlined() -> None:
    assert is_kernel(squares)
    assert is_kernel(square)
    numbers = np.array([3, 5])
    squares(numbers)
    assert numbers.tolist() == [81, 625]


def test_compiled_whole_numbers_wrap_and_uncompiled_ones_do_not() -> None:
    assert not is_kernel(uncompiled(squares))
    of_words, python = np.array([3]), np.array([3], dtype=object)
    squares(of_words, 10)
    uncompiled(squares)(python, 10)
    assert python[0] == 3**1024
    assert int(of_words[0]) == (3**1024) % 2**64 - (2**64 if (3**1024) % 2**64 >= 2**63 else 0)


def test_a_kernel_that_calls_itself_runs_uncompiled() -> None:
    python = uncompiled(collatz)
    assert python(27) == collatz(27) == 111
    assert not is_kernel(python.__globals__["collatz"])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "is_compiled"),
    [
        ({COMPILE_VARIABLE: "0"}, "False"),
        ({COMPILE_VARIABLE: "1"}, "True"),
        ({}, "True"),
        ({"NUMBA_DISABLE_JIT": "1"}, "False"),
    ],
)
def test_the_environment_turns_compilation_off(given: dict[str, str], is_compiled: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name != COMPILE_VARIABLE}
    environment |= given
    program = (
        "from elsinore.kernels import compiled, is_kernel\n"
        "add = compiled(lambda left, right: left + right)\n"
        "print(is_kernel(add), add(2, 3))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [is_compiled, "5"]


def test_a_kernel_may_be_made_where_there_is_no_module() -> None:
    names: dict[str, object] = {"compiled": compiled}
    exec(compile("@compiled\ndef more(n):\n    return n + 1", "a notebook", "exec"), names)
    assert names["more"](1) == 2  # type: ignore[operator]


def test_a_kernel_is_pickled_by_its_name_and_a_local_one_by_value() -> None:
    @compiled
    def doubled(number: int) -> int:
        return 2 * number

    assert pickle.loads(pickle.dumps(collatz)) is collatz
    assert doubled(2) == pickle.loads(cloudpickle.dumps(doubled))(2) == 4
    assert copy.deepcopy(doubled) is doubled
