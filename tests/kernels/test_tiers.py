"""Kernels that Python enters: plain Python for little, compiled for much, and the same results."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from elsinore.kernels import (
    COMPILE_VARIABLE,
    FOLDER_VARIABLE,
    compiling,
    enter,
    is_compiled,
    kernel,
)

PROGRAM = """
import warnings
import elsinore as el
from elsinore.kernels import SHELF

warnings.filterwarnings("ignore", message=".*have the same time")
workload = el.Workload.parse('''
    QUERY q RETURN k, COUNT(*) AS n, SUM(b.v), MIN(b.v) PATTERN SEQ(A a, B b+) {where}
    GROUP BY k WITHIN 100 SLIDE 50;
    QUERY p RETURN k, COUNT(*) AS n, SUM(b.v), MIN(b.v) PATTERN SEQ(C c, B b+) {where}
    GROUP BY k WITHIN 100 SLIDE 50;
''')
events = [
    {{"time": t // 2, "type": "ABBCBB"[t % 6], "k": t % 5 % 2, "v": t % 7 - 2.5}}
    for t in range({count})
]
results = workload.run(events)
print([results[name].to_pylist() for name in ("q", "p")])
print(len(SHELF.compiled))
"""


FEW = """
import sys
import elsinore as el

rows = [(0, "Request", None), (60, "Travel", 8.0), (120, "Travel", 6.0), (180, "Travel", 31.0),
        (240, "Pickup", None)]
events = [{{"time": t, "type": kind, "rider": 7, "speed": speed}} for t, kind, speed in rows]
workload = el.Workload.parse("QUERY slow RETURN {query} WITHIN 30 minutes;")
print(workload.explain().__str__() != "", workload.run(events)["slow"].num_rows)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""
TRENDS = (
    "rider, COUNT(*) AS n, AVG(T.speed) PATTERN SEQ(Request R, Travel T+, Pickup P) "
    "WHERE [rider] AND {condition} GROUP BY rider"
)
MATCHES = (
    "R.time AS begun, COUNT(T[]) AS n PATTERN SEQ(Request R, Travel+ T[], Pickup P) "
    "WHERE [rider] STRATEGY {strategy}"
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


def run(folder: Path, where: str, count: int, compile_all: str) -> tuple[str, int]:
    environment = os.environ | {COMPILE_VARIABLE: compile_all, FOLDER_VARIABLE: str(folder)}
    results, compiled = printed(PROGRAM.format(where=where, count=count), environment)
    return results, int(compiled)


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


@pytest.mark.parametrize(
    "query",
    [
        TRENDS.format(condition="T.speed < 10"),
        TRENDS.format(condition="T[i].speed >= T[i-1].speed"),
        MATCHES.format(strategy="SKIP TILL ANY MATCH"),
        MATCHES.format(strategy="SKIP TILL NEXT MATCH"),
    ],
)
def test_a_few_events_do_without_the_compiler_whatever_is_kept(query: str) -> None:
    told, imported = printed(FEW.format(query=query), undecided())
    assert told.split()[0] == "True"
    assert int(told.split()[1]) > 0
    assert imported == "[]"


def test_a_few_events_of_a_quantitative_query_do_without_the_compiler() -> None:
    assert printed(STREAMED, undecided()) == ["True True", "[]"]


def test_the_compiler_is_imported_by_who_needs_longer_than_that_takes() -> None:
    assert printed(IMPORTED, undecided()) == ["10 False False", "10 False False", "10 True True"]


@pytest.mark.parametrize(
    "where",
    [
        "WHERE b.v > -2",
        "WHERE b[i].v >= b[i-1].v",
        "WHERE b[i].v >= b[i-1].v AND b[i].v < 9 * b[i-1].v",
    ],
)
def test_a_few_events_compile_nothing_and_give_the_same(where: str, tmp_path: Path) -> None:
    results, compiled = run(tmp_path, where, 40, "")
    assert compiled == 0
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith("grammar-")]
    kept = Path(os.environ.get(FOLDER_VARIABLE, Path.home() / ".cache" / "elsinore"))
    assert results == run(kept, where, 40, "1")[0]


def test_what_is_done_in_seconds_compiles_no_engine(tmp_path: Path) -> None:
    results, compiled = run(tmp_path, "WHERE b.v > -2", 8_000, "")
    assert compiled == 0
    kept = Path(os.environ.get(FOLDER_VARIABLE, Path.home() / ".cache" / "elsinore"))
    assert results == run(kept, "WHERE b.v > -2", 8_000, "1")[0]


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
