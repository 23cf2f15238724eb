"""The planner of a workload for drivers of live runs, also when they resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from elsinore.model import Query
from elsinore.operators import kind_in, module_for
from elsinore.runtime.live.options import LiveOptions
from elsinore.runtime.live.setup import LiveSetup


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans live runs of a workload.

    queries: those of the workload. exact: whether it computes with exact integers. plan: is called
    with queries, exact, the schema of events, options, and whether times are in nanoseconds in any
    case.
    """

    queries: Sequence[Query]
    exact: bool
    plan: Callable[[Sequence[Query], bool, pa.Schema, LiveOptions, bool], LiveSetup]

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each query: queries with equal meanings have the same results."""
        exact = "EXACT " if self.exact else ""
        return {
            query.name: exact + kind_in(module_for(query)).meaning(query) for query in self.queries
        }
