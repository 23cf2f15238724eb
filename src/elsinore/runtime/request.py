"""The arguments of a run as users write them, and their conversion to drivers' options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from elsinore.errors import InputError, kind_of_value
from elsinore.plan import Sharing
from elsinore.plan.modes import (
    Combine,
    CombineName,
    End,
    EndName,
    GranularityName,
    Scan,
    ScanName,
    SharingName,
    mode_named,
)
from elsinore.runtime.options import RunOptions
from elsinore.runtime.times import TimeUnit
from elsinore.runtime.uncertain import uncertain_times


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The arguments of `Workload.run` except the events; see there."""

    time: str = "time"
    type: str = "type"
    time_unit: TimeUnit = "s"
    time_interval: Sequence[str] | None = None
    time_granularity: str | Mapping[str, str] | None = None
    time_step: str | float | None = None
    time_distribution: str | Sequence[float] | Mapping[str, Sequence[float]] | None = None
    time_sets: bool = False
    order_by: str | Sequence[str] = ()
    rejects: bool = False
    ordered: bool = False
    sharing: SharingName = "dynamic"
    granularity: GranularityName = "auto"
    record: bool = False
    scan: ScanName = "auto"
    threads: int | None = None
    combine: CombineName = "auto"
    end: EndName = "closed"
    spark: Any = None

    def __post_init__(self) -> None:
        if self.spark is not None and not hasattr(self.spark, "createDataFrame"):
            raise InputError(
                f"spark takes a Spark session, not {kind_of_value(self.spark)}: "
                "SparkSession.builder.getOrCreate() returns one."
            )

    def options(self) -> RunOptions:
        """Return the options for drivers, all but the granularity, which is the planner's.

        Raises ElsinoreError for unknown modes and for invalid options of uncertain times.
        """
        return RunOptions(
            time=self.time if self.time_interval is None else self.time_interval[0],
            uncertain=uncertain_times(
                interval=self.time_interval,
                granularity=self.time_granularity,
                step=self.time_step,
                distribution=self.time_distribution,
                sets=self.time_sets,
            ),
            type=self.type,
            time_unit=self.time_unit,
            order_by=_names_of(self.order_by),
            allow_rejects=self.rejects,
            ordered=self.ordered,
            sharing=mode_named(Sharing, self.sharing, "sharing"),
            record=self.record,
            scan=mode_named(Scan, self.scan, "scan"),
            threads=self.threads,
            combine=mode_named(Combine, self.combine, "combine"),
            end=mode_named(End, self.end, "end"),
        )


def _names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return a name or several as a tuple; other values are reported later."""
    return tuple(names) if isinstance(names, list | tuple) else (cast("str", names),)
