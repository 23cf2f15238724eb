"""The systems that HAMLET is compared with give Elsinore's results, on random streams."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.baselines.trends.greta import Greta
from benchmarks.baselines.trends.hamlet import Hamlet
from benchmarks.baselines.trends.mcep import Mcep
from benchmarks.baselines.trends.queries import (
    NO_THRESHOLD,
    Events,
    Step,
    System,
    TrendQuery,
    UnsupportedError,
)
from benchmarks.baselines.trends.running_sums import RunningSums
from benchmarks.baselines.trends.sharon import Sharon

from elsinore import Workload

KINDS = "ABCDE"
EVENTS = 14
SYSTEMS: dict[str, Callable[[Sequence[TrendQuery], Sequence[str], int], System]] = {
    "running sums": RunningSums,
    "GRETA": Greta,
    "SHARON": partial(Sharon, longest=EVENTS),
    "MCEP": Mcep,
    "HAMLET as written": Hamlet,
    "decided once": lambda *given: Hamlet(*given, decisions={}),
    "decided not to share": lambda *given: Hamlet(*given, decisions=dict.fromkeys(KINDS, False)),
}


def random_queries(draw: random.Random, *, rising: bool) -> list[TrendQuery]:
    queries = []
    for number in range(draw.randint(1, 5)):
        kinds = draw.sample(KINDS, draw.randint(1, 3))
        repeated = {draw.randrange(len(kinds)) for _ in range(draw.choice((1, 1, 1, 1, 2)))}
        queries.append(
            TrendQuery(
                name=f"q{number}",
                steps=tuple(Step(kind, at in repeated) for at, kind in enumerate(kinds)),
                above=draw.choice((NO_THRESHOLD, 3.0, 5.0)),
                rising=rising,
                adds=draw.random() < 0.5,
            )
        )
    return queries


def by_elsinore(queries: list[TrendQuery], events: Events) -> tuple[np.ndarray, np.ndarray]:
    counts, sums = np.zeros((len(queries), 2)), np.zeros((len(queries), 2))
    table = pa.table(
        {
            "time": pa.array(range(len(events))),
            "type": [KINDS[kind] for kind in events.kinds],
            "v": events.values,
            "g": events.groups,
        }
    )
    text = "\n".join(query.text(value="v", within="100 seconds", group="g") for query in queries)
    results = Workload.parse(text).run(table)
    for number, query in enumerate(queries):
        for row in results[query.name].to_pylist():
            counts[number, row["g"]] = row["count(*)"]
            if query.adds:
                sums[number, row["g"]] = next(row[name] for name in row if name.startswith("sum("))
    return counts, sums


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SYSTEMS)
def test_other_systems_have_the_same_results(name: str) -> None:
    compared = 0
    for seed in range(60):
        draw = random.Random(seed)
        queries = random_queries(draw, rising=seed % 3 == 0)
        count = draw.randint(1, EVENTS)
        events = Events(
            kinds=np.array([draw.choice((1, draw.randrange(5))) for _ in range(count)]),
            values=np.array([float(draw.randint(0, 9)) for _ in range(count)]),
            groups=np.array([draw.randrange(2) for _ in range(count)]),
        )
        try:
            system = SYSTEMS[name](queries, KINDS, 2)
        except UnsupportedError:
            continue
        cut = draw.randint(0, count)
        system.feed(events.part(0, cut))
        system.feed(events.part(cut, count))
        totals = system.totals()
        counts, sums = by_elsinore(queries, events)
        np.testing.assert_array_equal(totals.counts, counts)
        adds = np.array([query.adds for query in queries])
        np.testing.assert_allclose(totals.sums[adds], sums[adds])
        compared += int(counts.any())
    assert compared > 10


@pytest.mark.parametrize("system", [RunningSums, Hamlet, partial(Sharon, longest=3)])
def test_what_a_system_cannot_express_it_rejects(system: Callable[..., System]) -> None:
    rising = TrendQuery(name="q", steps=(Step("A", True),), rising=True)
    with pytest.raises(UnsupportedError):
        system([rising], KINDS, 1)


def test_a_static_plan_is_decided_by_the_first_graphlet_and_kept() -> None:
    queries = [
        TrendQuery(name=f"q{number}", steps=(Step("A"), Step("B", True)), above=above)
        for number, above in enumerate((NO_THRESHOLD, 3.0, 5.0))
    ]

    def fed(values: Sequence[float], decisions: dict[str, bool]) -> dict[str, bool]:
        system = Hamlet(queries, KINDS, 1, decisions)
        system.feed(
            Events(
                kinds=np.array([0] + [1] * len(values)),
                values=np.array([0.0, *values]),
                groups=np.zeros(len(values) + 1, np.int64),
            )
        )
        system.totals()
        return decisions

    agreed = fed([6.0, 7.0, 8.0, 9.0] * 4, {})
    assert agreed == {"B": True}
    assert fed([4.0] * 16, {}) == {"B": False}
    assert fed([4.0] * 16, agreed) == {"B": True}
