"""Keys in turn, many events of each at one time: they give what exact numbers give."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from elsinore.trends.kind import spec_of
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Updates

KEYS = 3
PATTERNS = {
    "sums": ("LOG2(COUNT(*)) AS trends, AVG(b.v) AS mean", "SEQ(A, B b+, C)", ""),
    "counts": ("LOG2(COUNT(*)) AS trends", "SEQ(A, B b+, C)", ""),
    "sliding": ("LOG2(COUNT(*)) AS trends, SUM(b.v) AS mean", "SEQ(A, B b+)", " SLIDE 500 seconds"),
    "several_before": (
        "LOG2(COUNT(*)) AS trends, AVG(b.v) AS mean",
        "SEQ(A OR C x, (B b OR C y)+)",
        "",
    ),
    "emptied": ("LOG2(COUNT(*)) AS trends, AVG(b.v) AS mean", "SEQ(A, NOT D, B b+, C)", ""),
    "emptied_last": ("LOG2(COUNT(*)) AS trends, AVG(b.v) AS mean", "SEQ(A, B b, C, NOT D)", ""),
    "only_ends": ("LOG2(COUNT(*)) AS trends, SUM(b.v) AS mean", "B b", " SLIDE 500 seconds"),
}


MANY = "\n".join(
    f"QUERY q{place} RETURN k, LOG2(COUNT(*)) AS trends, AVG(b.v) AS mean "
    f"PATTERN SEQ({first} a, {many} b+, {last} c) GROUP BY k WITHIN 1000 seconds;"
    for place, (first, many, last) in enumerate(itertools.product("ABC", repeat=3))
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("great", [4.0, 1e300])  # 1e300 times a number may be beyond a double
def test_moments_of_several_events_give_what_exact_numbers_give(pattern: str, great: float) -> None:
    returns, body, slide = PATTERNS[pattern]
    text = f"QUERY q RETURN k, {returns} PATTERN {body} GROUP BY k WITHIN 1000 seconds{slide};"
    compare_with_exact(text, stream("AABBBCC" + "D" * pattern.startswith("emptied"), great))


@pytest.mark.parametrize("great", [4.0, 1e300])
def test_moments_of_many_queries_give_what_exact_numbers_give(great: float) -> None:
    compare_with_exact(MANY, stream("ABC", great, 1_200))


@given(
    st.sampled_from(("counts", "sums", "sliding", "emptied")),
    st.lists(
        st.tuples(st.sampled_from("ABCDE"), st.integers(0, 2), st.sampled_from((0, 0, 1, 300))),
        max_size=60,
    ),
    st.sampled_from((4.0, 1e300)),
)
def test_keys_whose_events_are_simultaneous_or_not_give_what_exact_numbers_give(
    pattern: str, events: list[tuple[str, int, int]], great: float
) -> None:
    """Of an event: its type, its key, and how much later it is than the one before; E is unused."""
    returns, body, slide = PATTERNS[pattern]
    text = f"QUERY q RETURN k, {returns} PATTERN {body} GROUP BY k WITHIN 1000 seconds{slide};"
    events = [*((kind, key, 1) for kind in "AABC" for key in range(KEYS)), *events]
    types, keys, later = map(np.array, zip(*events, strict=True))
    values = np.resize([1.0, great, -2.0], len(events))
    columns = {"time": np.cumsum(later), "type": types, "k": keys, "v": values}
    compare_with_exact(text, pa.table(columns))


@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 50), st.booleans()), max_size=40))
def test_long_runs_of_simultaneous_events_give_what_exact_numbers_give(
    runs: list[tuple[str, int, bool]],
) -> None:
    """Runs are of a type, so many events, at a later time than those before or not."""
    runs = [("A", 1, True), *runs, ("B", 1, True)]
    counts = [count for _, count, _ in runs]
    times = np.repeat(np.cumsum([later for *_, later in runs]), counts)
    types = np.repeat([kind for kind, *_ in runs], counts)
    returns = PATTERNS["counts"][0]
    text = f"QUERY q RETURN k, {returns} PATTERN SEQ(A, B b+) GROUP BY k WITHIN 1000 seconds;"
    compare_with_exact(text, pa.table({"time": times, "type": types, "k": np.zeros(len(times))}))


def test_moments_may_be_further_apart_than_numbers_of_64_bits_tell() -> None:
    times = np.repeat([-(9 * 10**18), -(9 * 10**18) + 1, 9 * 10**18], [2, 2, 3])
    table = pa.table(
        {"time": pa.array(times).cast(pa.timestamp("us")), "type": list("AABBBBC"), "v": [1.5] * 7}
    )
    returns = PATTERNS["sums"][0]
    compare_with_exact(f"QUERY q RETURN {returns} PATTERN SEQ(A, B b+, C);", table)
    compare_with_exact(f"QUERY q RETURN {returns} PATTERN SEQ(A, B b+);", table)


def test_cells_that_no_event_reads_have_no_gains() -> None:
    (unit,) = plan(parse_workload(MANY)).units
    layout = Layout(Updates(spec_of(unit)))
    begins, prefixes, ends = 3, 9, 27  # nodes; a moment's events may read the first two
    of_node = len(("trends", "count of b.v", "sum of b.v"))
    opened = 1  # the cell that is 1 while the window is open
    assert layout.gained == range(opened, opened + begins + prefixes * of_node)
    assert layout.cells == layout.gained.stop + ends * of_node


def stream(types: str, great: float, events: int = 6_000) -> pa.Table:
    """Return events of keys in turn, two or three of each at one time, three with a great value."""
    random = np.random.default_rng(7)
    values = random.choice([0.5, 2.0, 3.25], events)
    values[events // 2 : events // 2 + 3] = great
    return pa.table(
        {
            "time": np.arange(events) // 7,
            "type": random.choice(list(types), events),
            "k": np.arange(events) % KEYS,
            "v": values,
        }
    )


def compare_with_exact(text: str, table: pa.Table) -> None:
    """Compare results of sums with those of whole numbers."""
    found, exact = (
        run(plan(parse_workload(before + text)), table, RunOptions(threads=1))
        for before in ("", "EXACT;\n")
    )
    for name in found:
        one, other = found[name].frame, exact[name].frame
        assert one.num_rows == other.num_rows > 0
        for column in set(one.column_names) - {"window_start", "window_end"}:
            expected = other.column(column).to_numpy()
            np.testing.assert_allclose(one.column(column).to_numpy(), expected, rtol=1e-9)
