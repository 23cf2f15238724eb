"""The cases of a campaign: a workload, a stream, and all of its trends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from unittest import mock

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.errors import HypothesisDeprecationWarning, UnsatisfiedAssumption

from elsinore.errors import InputError, InvalidWorkloadError, QueryError
from elsinore.language import render
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Plan
from oracles.reference import ReferenceEvent, ReferenceRow, reference
from support.sampling import Sampler
from support.trends import Feature, event_streams, table_of, trend_cases, trend_workloads
from trends.hamlet.test_against_reference import streams as bursts
from trends.hamlet.test_against_reference import workloads as sharing_workloads
from trends.test_everything import settled

MOST_TRENDS = 2_000  # of a pattern in a window: more are few cases and most of the time
KINDS = (
    ("plain", trend_cases(exact=None)),
    ("plain", st.tuples(trend_workloads(exact=None), event_streams())),
    ("neighbours", trend_cases(exact=None, features=(Feature.ADJACENT,))),
    ("bursts", st.tuples(sharing_workloads(), bursts())),
    ("NOT", trend_cases(exact=None, features=(Feature.NEGATION,))),
    ("strategies", trend_cases(exact=None, features=(Feature.STRATEGIES,))),
    ("strategies", trend_cases(exact=None, features=(Feature.STRATEGIES, Feature.ADJACENT))),
    ("all", trend_cases(exact=None, features=tuple(Feature))),
    ("all", trend_cases(exact=None, features=tuple(Feature))),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload that can be run, a stream, and the results of brute force.

    `name` says how to draw it again; `ordered`: simultaneous events follow each other as they
    stand.
    """

    name: str
    kind: str
    workload: Workload
    plans: dict[Granularity, Plan]
    events: list[ReferenceEvent]
    table: pa.Table
    ordered: bool
    expected: list[list[ReferenceRow]]

    def __str__(self) -> str:
        lines = [f"case {self.name} ({self.kind}{', ordered' if self.ordered else ''})"]
        lines.append(render(self.workload))
        lines += [f"{event.time} {event.type} {dict(event.attributes)}" for event in self.events]
        return "\n".join(lines)


def cases(seed: int, first: int = 0) -> Iterator[Case | str]:
    """Draw cases without end; yield the reason for cases that cannot be compared."""
    number = first
    while True:
        name = f"{seed}:{number}"
        kind, strategy = KINDS[number % len(KINDS)]
        number += 1
        yield _case(name, kind, strategy)


def _case(
    name: str, kind: str, strategy: st.SearchStrategy[tuple[Workload, list[ReferenceEvent]]]
) -> Case | str:
    random = Random(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)  # `assume` is not theirs here
        try:
            workload, events = Sampler(random).draw(strategy)
        except UnsatisfiedAssumption:
            return "not drawn to the end"
    if not all(settled(query) for query in workload):
        return "of two meanings"
    try:
        plans = {
            granularity: plan(workload, granularity=granularity) for granularity in Granularity
        }
    except (QueryError, InvalidWorkloadError):
        return "refused"
    ordered = random.random() < 0.2
    try:
        with mock.patch("oracles.reference.LIMIT", MOST_TRENDS):
            expected = [reference(query, events, ordered=ordered) for query in workload]
    except InputError as error:
        if "one by one" not in str(error):
            raise
        return "of too many trends"
    return Case(name, kind, workload, plans, events, table_of(events), ordered, expected)
