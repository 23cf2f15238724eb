"""What every operator promises: cuts, saved states, closing early and one key at a time."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import StateError
from elsinore.matches.operator import MatchOperator
from elsinore.operators import OperatorOptions
from elsinore.plan import Unit
from oracles.matches import Happening
from support.matches import batch_of, engine_rows, parsed, units_of

SECOND = 1_000_000
TEXTS = (
    """QUERY late RETURN k, MATCH_NUMBER(), a.n, b[].n PATTERN SEQ(A a, B+ b, NOT C x) WHERE [k]
    WITHIN 4;""",
    """QUERY windows RETURN k, MATCH_NUMBER(), a.n, b[].n
    PATTERN SEQ(A a, NOT C x, B+ b, NOT C y) WHERE [k] WITHIN 4 SLIDE 3;""",
    """QUERY rising RETURN k, MATCH_NUMBER(), b[].n PATTERN SEQ(A a, B+ b)
    WHERE [k] AND b[i].v >= b[i-1].v STRATEGY SKIP TILL NEXT MATCH WITHIN 5;""",
)


def test_events_before_a_match_that_waits_are_kept() -> None:
    text = "RETURN b[].n PATTERN SEQ(NOT B x, B+ b{}) WITHIN 5 {};"
    workload = parsed(
        "QUERY late " + text.format(", NOT C y", ""), "QUERY sets " + text.format("", "COLLAPSED")
    )
    (unit,) = units_of(workload)
    events = [Happening(at * SECOND, "B", {"n": n}) for n, at in enumerate([3, 6, 10])]
    late, sets = engine_rows(unit, events, cuts=[1, 2], saves=True)
    lists = sorted(values for _, _, (values,) in late)
    assert lists == [(0,), (0, 1), (1, 2)]  # not (1,), nor (2,): the one before is too near
    assert sorted(values for _, _, (values,) in sets) == [(0, 1), (1, 2)]


def stream(count: int = 120) -> list[Happening]:
    drawn = np.random.default_rng(3)
    times = np.cumsum(drawn.integers(0, 2, count))
    return [
        Happening(
            int(time) * SECOND,
            "ABBC"[drawn.integers(4)],
            {"n": number, "v": float(drawn.integers(5)), "k": int(drawn.integers(3))},
        )
        for number, time in enumerate(times)
    ]


def rows(batches: Any) -> Counter[str]:
    return Counter(repr({**row, "group": 0}) for batch in batches for row in batch.to_pylist())


@pytest.fixture(scope="module")
def unit() -> Unit:
    (planned,) = units_of(parsed(*TEXTS))
    return planned


def at_once(unit: Unit) -> Counter[str]:
    operator = MatchOperator(unit, OperatorOptions())
    batch, _ = batch_of(unit, stream())
    return rows([*operator.process(batch), *operator.close()])


def test_keys_one_after_another_give_the_same(unit: Unit) -> None:
    batch, _ = batch_of(unit, stream())
    order = np.argsort(batch.column("key").to_numpy(), kind="stable")
    batch = batch.take(pa.array(order))
    operator = MatchOperator(unit, OperatorOptions(one_slot=True))
    given = []
    for begin in range(0, batch.num_rows, 7):
        given += list(operator.process(batch.slice(begin, 7)))
    assert rows([*given, *operator.close()]) == at_once(unit)


@pytest.mark.parametrize("told", [False, True], ids=["closed", "told with a batch"])
def test_closing_as_time_goes_by_gives_each_match_once(unit: Unit, told: bool) -> None:
    batch, _ = batch_of(unit, stream())
    times = batch.column("time").to_numpy()
    operator = MatchOperator(unit, OperatorOptions())
    given = []
    for row in range(batch.num_rows):
        if not told:
            given += list(operator.close(int(times[row])))
        given += list(operator.process(batch.slice(row, 1), int(times[row]) if told else None))
        operator = MatchOperator.load(unit, operator.save())
    assert rows([*given, *operator.close()]) == at_once(unit)


def test_a_deadline_is_when_a_match_that_ends_with_not_is_known(unit: Unit) -> None:
    operator = MatchOperator(unit, OperatorOptions())
    assert operator.deadline() is None
    batch, _ = batch_of(unit, stream())
    before = rows(operator.process(batch))
    deadline = operator.deadline()
    assert deadline is not None
    while deadline is not None:
        before += rows(operator.close(deadline))
        later = operator.deadline()
        assert later is None or later > deadline
        deadline = later
    assert before + rows(operator.close()) == at_once(unit)


def test_state_is_what_open_windows_need(unit: Unit) -> None:
    operator = MatchOperator(unit, OperatorOptions())
    batch, _ = batch_of(unit, stream())
    list(operator.process(batch))
    full = len(operator.save())
    list(operator.close(int(batch.column("time")[-1].as_py()) + 60 * SECOND))
    assert len(operator.save()) < full / 2


def test_a_damaged_or_foreign_state_is_refused(unit: Unit) -> None:
    (other,) = units_of(parsed(TEXTS[0]))
    saved = MatchOperator(unit, OperatorOptions()).save()
    for blob, loading in ((b"nothing", unit), (saved, other)):
        with pytest.raises(StateError):
            MatchOperator.load(loading, blob)
