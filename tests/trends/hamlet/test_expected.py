"""What sharing is expected to save where events are compared with their neighbours."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.runtime.options import RunOptions
from elsinore.trends.hamlet import HamletEvaluator
from elsinore.trends.prices import GraphPrices
from elsinore.trends.statistics import SharingStatistics, TrendStatistics
from support.hamlet import compared_columns, keyed_events, shared_units

QUERIES, BURST, BURSTS, WINDOWS = 80, 20, 3, 4  # events of a burst, bursts of a window


def events(begins: list[str]) -> pa.Table:
    """Return bursts of B, each after one event of a type, `BURSTS` to a window of 100 seconds."""
    random = np.random.default_rng(7)
    types, seconds = [], []
    for number, begin in enumerate(begins):
        types += [begin, *["B"] * BURST]
        start = 100 * (number // BURSTS) + 30 * (number % BURSTS)
        seconds += range(start, start + BURST + 1)
    return pa.table({"time": seconds, "type": types, "v": random.integers(0, 9, len(types))})


def shared_in(pattern: str, table: pa.Table) -> SharingStatistics:
    """Run queries of a pattern, dynamically and never sharing; return what dynamic shared."""
    text = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN {pattern.format(n=n)} "
        "WHERE b[i].v >= b[i-1].v WITHIN 100 seconds;"
        for n in range(QUERIES)
    )
    ready = plan(parse_workload(text))
    dynamic = run(ready, table, RunOptions())
    never = run(ready, table, RunOptions(sharing=Sharing.NEVER))
    for name in never:
        trends, alone = (one[name].column("count(*)").to_pylist() for one in (dynamic, never))
        assert trends == alone
    (statistics,) = dynamic.find_statistics()
    assert isinstance(statistics, TrendStatistics)
    (of_set,) = statistics.sharing
    return of_set


def test_queries_that_nothing_comes_into_are_no_reason_to_share() -> None:
    begins = [f"X{number % BURSTS}" for number in range(BURSTS * WINDOWS)]
    found = shared_in("SEQ(X{n} x, B b+)", events(begins))
    assert found.bursts == BURSTS * WINDOWS
    assert found.shared_graphlets <= BURSTS  # the first window showed that three queries go on


def test_queries_of_one_prefix_share_from_the_first_burst_on() -> None:
    found = shared_in("SEQ(X x, B b+, Y{n} y)", events(["X"] * BURSTS * WINDOWS))
    assert found.shared_graphlets == found.bursts == BURSTS * WINDOWS
    assert found.splits == 0


@pytest.mark.parametrize("returned", ["COUNT(*)", "SUM(b.v)"])
@pytest.mark.parametrize("size", [30, 2000], ids=["plain numbers", "exponents"])
@pytest.mark.parametrize("price", [0.0, 1e9], ids=["free", "dear"])
def test_sharing_ends_within_a_window_where_that_pays_for_a_split(
    returned: str, size: int, price: float
) -> None:
    """Of queries that nothing comes into before the split, half, some are reached after it."""
    queries, started = 40, 20
    types, per_burst = [f"X{n}" for n in range(started)], size // 30
    for burst in range(30):
        begin = burst % started if burst < 25 else started + burst
        types += [f"X{begin % queries}", *["B"] * per_burst]
    values = np.arange(len(types))
    table = pa.table({"time": values, "type": types, "v": values})
    text = "".join(
        f"QUERY q{n} RETURN {returned} PATTERN SEQ(X{n} x, B b+) WHERE b[i].v >= b[i-1].v "
        "WITHIN 10000 seconds;"
        for n in range(queries)
    )
    (unit,) = shared_units(parse_workload(text), table)
    events, columns = keyed_events(unit), compared_columns(unit, table)
    prices = GraphPrices(propagate=1.0, alone_propagate=1.0, split=price, split_form=price)
    found = HamletEvaluator(unit.unit, prices=prices)
    totals = found.evaluate(events, columns)
    alone = HamletEvaluator(unit.unit, sharing=Sharing.NEVER).evaluate(events, columns)
    order, alone_order = np.argsort(totals.query), np.argsort(alone.query)
    assert totals.query[order].tolist() == alone.query[alone_order].tolist()
    assert totals.powers[order].tolist() == alone.powers[alone_order].tolist()
    np.testing.assert_allclose(totals.cells[order], alone.cells[alone_order], rtol=1e-12)
    assert (totals.powers.max() > 0) == (size > 1000)
    (of_set,) = found.statistics
    assert of_set.shared_graphlets > 0
    assert of_set.splits == (price == 0.0)
