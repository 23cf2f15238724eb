"""The running examples of the SASE++ paper, by their figures."""

import pytest

import elsinore as el


def stream(*events: tuple[int, str, float | None]) -> list[dict[str, object]]:
    return [{"time": time, "type": kind, "val": val} for time, kind, val in events]


FIGURE_3 = stream((1, "A", 1), (2, "A", 2), (5, "B", 5), (6, "B", 6), (7, "C", 7))
FIGURE_4 = stream((1, "A", 0), (4, "B", 6), (5, "B", 7), (6, "B", 9), (7, "C", 0))


@pytest.mark.parametrize(
    ("strategy", "matches"),
    [
        ("CONTIGUOUS", [(2, [5, 6])]),
        ("SKIP TILL NEXT MATCH", [(1, [5, 6]), (2, [5, 6])]),
        (
            "SKIP TILL ANY MATCH",
            [(1, [5]), (1, [5, 6]), (1, [6]), (2, [5]), (2, [5, 6]), (2, [6])],
        ),
    ],
)
def test_figure_3_each_strategy_selects_its_matches(
    strategy: str, matches: list[tuple[int, list[int]]]
) -> None:
    text = f"RETURN a.val, b[].val PATTERN SEQ(A a, B+ b[], C c) STRATEGY {strategy} WITHIN 10;"
    (table,) = el.Workload.parse(text).run(FIGURE_3).values()
    assert sorted((row["a.val"], row["b[].val"]) for row in table.to_pylist()) == matches


def test_figure_4_every_subset_of_rising_values_is_a_match() -> None:
    text = """
        RETURN b[].val PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].val >= b[i-1].val
        STRATEGY SKIP TILL ANY MATCH WITHIN 10;
    """
    (table,) = el.Workload.parse(text).run(FIGURE_4).values()
    assert sorted(table.column("b[].val").to_pylist()) == [
        [6], [6, 7], [6, 7, 9], [6, 9], [7], [7, 9], [9],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "found", "missing"),
    [
        ("SKIP TILL NEXT MATCH", [0.1, 0.2, 0.25], [0.1, 0.15, 0.19, 0.25]),
        ("SKIP TILL ANY MATCH", [0.1, 0.15, 0.19, 0.25], []),
    ],
)
def test_rising_values_of_section_5_2_depend_on_the_strategy(
    strategy: str, found: list[float], missing: list[float]
) -> None:
    events = stream(*((n, "B", val) for n, val in enumerate([0.1, 0.2, 0.15, 0.19, 0.25])))
    text = f"RETURN b[].val PATTERN B+ b[] WHERE b[i].val >= b[i-1].val STRATEGY {strategy};"
    (table,) = el.Workload.parse(text).run(events).values()
    lists = table.column("b[].val").to_pylist()
    assert found in lists
    assert missing not in lists


def test_figure_1_a_partial_match_remembers_what_its_conditions_need() -> None:
    """Query 6 with its second option: each load above all loads selected before."""
    text = """
        RETURN a.val, COUNT(b[]) AS n, MAX(b[].val) AS most PATTERN SEQ(A a, B+ b[], C c)
        WHERE b[i].val > MAX(b[1..i-1].val) AND c.val < b[1].val
        STRATEGY SKIP TILL ANY MATCH WITHIN 10;
    """
    (table,) = el.Workload.parse(text).run(FIGURE_4).values()
    assert sorted((row["n"], row["most"]) for row in table.to_pylist()) == [
        (1, 6), (1, 7), (1, 9), (2, 7), (2, 9), (2, 9), (3, 9),
    ]  # fmt: skip


def test_a_condition_on_the_last_event_is_looked_at_when_the_match_is_complete() -> None:
    """Query 3: a data pull that takes more than twice the average."""
    text = """
        RETURN COUNT(b[]) AS n, b[b.LEN].val AS last PATTERN SEQ(A a, B+ b[])
        WHERE b[b.LEN].val > 1.2 * AVG(b[].val) STRATEGY SKIP TILL NEXT MATCH WITHIN 10;
    """
    (table,) = el.Workload.parse(text).run(FIGURE_4).values()
    assert table.to_pylist() == [{"n": 3, "last": 9}]
