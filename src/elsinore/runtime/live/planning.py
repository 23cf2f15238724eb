"""Planning the live runs of a workload, for all drivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.model.clock import Clock
from elsinore.plan import Plan
from elsinore.plan.modes import GranularityName, Uncertainty
from elsinore.runtime.live.setup import LiveSetup, plan_live
from elsinore.runtime.options import RunOptions
from elsinore.runtime.request import RunRequest
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import kind_of_column
from elsinore.runtime.uncertain import refuse_misspelt_types


class Plannable(Protocol):
    """The methods of a `Workload` that `setup_for` calls."""

    def planned(
        self,
        granularity: GranularityName = "auto",
        clock: Clock | None = None,
        attributes: Sequence[str] = (),
        uncertain: Uncertainty | None = None,
    ) -> Plan:
        """Return the plan of the workload."""

    def timed(self, options: RunOptions, numbers: bool, fine: bool) -> RunOptions:
        """Return options with the clock for times that are numbers or have nanoseconds."""


def setup_for(
    workload: Plannable,
    schema: pa.Schema,
    request: RunRequest,
    *,
    fine: bool = False,
    declared: bool = False,
) -> LiveSetup:
    """Plan a live run of a workload over events of a schema.

    request: how events are read. fine: times are in nanoseconds in any case. declared: the types of
    all results must be known before the run, as on Spark.

    Raises the errors of queries that do not fit the schema or cannot run live, and InputError for
    columns that are missing or cannot be a time.
    """
    options = request.options()
    first = workload.planned(request.granularity)
    if options.uncertain is not None:
        refuse_misspelt_types(options.uncertain, first.types)
    time = evaluate_sql(options.time, no_table(schema), "time")
    kind, is_fine = kind_of_column(time, options.time_unit)
    options = workload.timed(options, kind.is_number, is_fine or fine)
    plan = workload.planned(request.granularity, options.clock, schema.names, options.uncertainty)
    return plan_live(plan, schema, options, declared=declared)
