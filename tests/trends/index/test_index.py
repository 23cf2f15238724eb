"""Single queries by an index: against every trend built, and against the shared graph."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.plan import Sharing
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.hamlet import HamletEvaluator
from elsinore.trends.index import IndexEvaluator, can_index
from elsinore.trends.keyed import WindowTotals
from oracles.reference import ReferenceEvent, reference
from support.hamlet import compared_columns, keyed_events, shared_units
from support.trends import table_of
from trends.hamlet.test_against_reference import LOCALS, PATTERNS, streams

SECOND = 1_000_000
often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
WINDOWS = (
    "",
    " WITHIN 6 seconds SLIDE 2 seconds",
    " WITHIN 4 seconds",
    " WITHIN 5 seconds SLIDE 3 seconds",
    " WITHIN 2 seconds SLIDE 5 seconds",
    " WITHIN 90 seconds SLIDE 45 seconds",
)


@st.composite
def queries(draw: Any) -> Workload:
    """Draw a query that counts trends whose events are compared with those before them."""
    operator = draw(st.sampled_from(("<", "<=", ">", ">=", "=")))
    of, before = draw(st.sampled_from(("vv", "vv", "ww", "wv")))
    pattern, local = draw(st.sampled_from(PATTERNS)), draw(st.sampled_from(LOCALS))
    where = " AND ".join([f"b[i].{of} {operator} b[i-1].{before}", *([local] if local else [])])
    key = draw(st.sampled_from(("", " AND [k]")))
    return parse_workload(
        f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE {where}{key}"
        f"{draw(st.sampled_from(WINDOWS))};"
    )


def counted(found: WindowTotals) -> dict[tuple[int, int], float]:
    """Return the binary logarithms of the numbers of trends, by key and window."""
    numbers = np.log2(found.cells[:, 0]) + 256.0 * found.powers[:, 0]
    places = zip(found.key.tolist(), found.window.tolist(), strict=True)
    return dict(zip(places, numbers.tolist(), strict=True))


@often
@given(queries(), streams(), st.booleans())
def test_trends_are_counted_as_if_each_were_built(
    workload: Workload, events: list[ReferenceEvent], by_time: bool
) -> None:
    table = table_of(events)
    for unit in shared_units(workload, table):
        assert can_index(unit.unit)
        evaluator = IndexEvaluator(unit.unit, by_time=by_time)
        found = counted(evaluator.evaluate(keyed_events(unit), compared_columns(unit, table)))
        (template,) = unit.unit.templates
        window = template.query.window
        built = {
            row.window[0] if row.window else None: math.log2(row.values["count(*)"])
            for row in reference(template.query, events, ordered=not by_time)
        }
        told = {
            None if window is None else window.bounds(number)[0]: log
            for (_, number), log in found.items()
        }
        assert told.keys() == built.keys()
        assert all(math.isclose(told[place], built[place], abs_tol=1e-9) for place in built)


@often
@given(
    queries(),
    st.integers(0, 2**32 - 1),
    st.sampled_from((30, 200, 900)),
    st.sampled_from(("few", "many", "rising", "falling")),
    st.booleans(),
)
def test_long_streams_come_out_as_in_the_shared_graph(
    workload: Workload, seed: int, size: int, values: str, by_time: bool
) -> None:
    random = np.random.default_rng(seed)
    drawn = random.integers(0, 4 if values == "few" else 10**6, (2, size))
    if values in {"rising", "falling"}:
        drawn = np.sort(drawn, axis=1)[:, :: 1 if values == "rising" else -1]
    seconds = np.cumsum(random.random(size) < 0.8).tolist()
    table = table_of(
        [
            ReferenceEvent(
                second * SECOND,
                str(random.choice(list("ABBBBBBBCD"))),
                {
                    "v": None if random.random() < 0.05 else int(drawn[0, place]),
                    "w": None if random.random() < 0.05 else float(drawn[1, place]) / 4,
                    "k": int(random.integers(0, 3)),
                },
            )
            for place, second in enumerate(seconds)
        ]
    )
    for unit in shared_units(workload, table):
        columns = compared_columns(unit, table)
        middle = seconds[-1] // 2 * SECOND
        for done, until in ((NEVER, FOREVER), (NEVER, middle), (middle, FOREVER)):
            events = keyed_events(unit, until)
            events = replace(events, done=np.full_like(events.done, done))
            index = IndexEvaluator(unit.unit, by_time=by_time)
            graph = HamletEvaluator(unit.unit, sharing=Sharing.NEVER, by_time=by_time)
            found = counted(index.evaluate(events, columns))
            wanted = counted(graph.evaluate(events, columns))
            assert found.keys() == wanted.keys()
            assert all(math.isclose(found[place], wanted[place], abs_tol=1e-9) for place in wanted)
