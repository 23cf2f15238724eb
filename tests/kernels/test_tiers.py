"""Kernels that Python enters: plain Python for little, compiled for much, and the same results."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from elsinore.kernels import (
    COMPILE_VARIABLE,
    compiling,
    enter,
    is_compiled,
    kernel,
)

IMPORTED = """
import sys
import numpy as np
from elsinore.kernels import enter, is_compiled, kernel

@kernel
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result

numbers = np.arange(5)
for seconds in (0.2, 0.2, 5.0):
    print(enter(total, seconds, numbers), is_compiled(total), "numba" in sys.modules)
"""

STREAMED = """
import sys
import numpy as np, pyarrow as pa
import elsinore.quantitative as qre

query = qre.iterate(qre.atom(qre.event("A"), lambda e: e.v), 0.0, max)
table = pa.table({"time": range(9), "type": ["A"] * 9, "v": np.arange(9.0), "k": [*"xyxyxyxyx"]})
print(query.run(table, by=["k"]).num_rows > 0, query.start().take(table).num_rows > 0)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


@pytest.fixture
def _tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(COMPILE_VARIABLE, raising=False)


def undecided() -> dict[str, str]:
    """The environment, without what says whether to compile."""
    return {name: text for name, text in os.environ.items() if name != COMPILE_VARIABLE}


def printed(program: str, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_a_few_events_of_a_quantitative_query_do_without_the_compiler() -> None:
    assert printed(STREAMED, undecided()) == ["True True", "[]"]


def test_the_compiler_is_imported_by_who_needs_longer_than_that_takes() -> None:
    assert printed(IMPORTED, undecided()) == ["10 False False", "10 False False", "10 True True"]


@pytest.mark.usefixtures("_tiers")
def test_what_plain_python_took_adds_up_until_a_kernel_is_compiled() -> None:
    @kernel
    def total(numbers: np.ndarray) -> int:
        result = 0
        for number in numbers:
            result += number
        return result

    numbers = np.ones(20_000, dtype=np.int64)
    calls = 0
    while not is_compiled(total):  # some 2 ms each, whatever is expected
        assert enter(total, 0.0, numbers) == 20_000
        calls += 1
        assert calls < 10_000
    assert calls > 1


@pytest.mark.usefixtures("_tiers")
def test_what_was_expected_and_not_taken_is_not_held_against_a_kernel() -> None:
    @kernel
    def first(numbers: np.ndarray) -> int:
        return numbers[0]

    numbers = np.arange(5)
    for _ in range(40):
        assert enter(first, 0.05, numbers) == 0
        assert not is_compiled(first)
    assert enter(first, 1.0, numbers) == 0
    assert is_compiled(first)


@pytest.mark.usefixtures("_tiers")
def test_compiling_is_asked_for() -> None:
    @kernel
    def twice(number: int) -> int:
        return 2 * number

    with compiling():
        assert enter(twice, 0.0, 4) == 8
    assert is_compiled(twice)


class Given(NamedTuple):
    records: np.ndarray
    others: tuple[np.ndarray, ...]


@pytest.mark.usefixtures("_tiers")
def test_plain_python_reads_records_and_wraps_around_as_compiled_code_does() -> None:
    @kernel
    def mixed(given: Given) -> np.uint64:
        number = np.uint64(0xCBF29CE484222325)
        for row in range(len(given.records)):
            number = (number ^ np.uint64(given.records[row].code)) * np.uint64(0x100000001B3)
            given.records[row].code = given.others[0][row]
        return number

    def given() -> Given:
        records = np.zeros(3, dtype=[("code", np.int64)])
        records["code"] = [3, 1, 2]
        return Given(records, (np.array([7, 8, 9]),))

    plain, compiled = given(), given()
    number = enter(mixed, 1e-6, plain)
    assert not is_compiled(mixed)
    with compiling():
        assert enter(mixed, 1e-6, compiled) == number
    assert plain.records["code"].tolist() == compiled.records["code"].tolist() == [7, 8, 9]
