"""Compare results in doubles with results in exact integers."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity
from elsinore.runtime.options import RunOptions

DIGITS = "_digits"
RELATIVE = 1e-7


def assert_as_exact(
    workload: Workload,
    table: pa.Table,
    options: RunOptions | None = None,
    granularity: Granularity = Granularity.AUTO,
) -> None:
    """Run a workload in doubles and in exact integers, and compare the results."""
    options = options or RunOptions()
    results = run(plan(workload, granularity=granularity), table, options)
    exact = run(plan(replace(workload, exact=True)), table, options)
    for query in workload:
        name = query.name
        rows, expected = results[name].to_pylist(), exact[name].to_pylist()
        places = [column for column in results[name].column_names if column in query.group_by]
        places += ["window_start", "window_end"]

        def place(row: dict[str, Any], places: list[str] = places) -> list[tuple[bool, Any]]:
            return [(row[c] is None, row[c]) for c in places if c in row]

        assert len(rows) == len(expected), name
        for row, exact_row in zip(
            sorted(rows, key=place), sorted(expected, key=place), strict=True
        ):
            assert place(row) == place(exact_row), name
            for column, value in row.items():
                if column not in places:
                    _assert_equal(value, exact_row[column], exact_row.get(column + DIGITS), name)


def _assert_equal(value: Any, exact: Any, digits: str | None, name: str) -> None:
    """Compare a double with a number of any size."""
    if exact is None and digits is not None:
        exact = int(digits)
    if not isinstance(value, float) or exact is None:
        assert value == exact or (isinstance(exact, Decimal) and int(exact) == value), name
        return
    try:
        number = float(exact)
    except OverflowError:
        number = math.inf if exact > 0 else -math.inf
    is_close = math.isclose(value, number, rel_tol=RELATIVE, abs_tol=1e-9)
    assert is_close or (math.isnan(value) and math.isnan(number)), (name, value, number)
