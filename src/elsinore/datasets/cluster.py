"""A compute cluster that runs MapReduce jobs, as in SASE++'s case study (section 6.5).

The stream combines two kinds of logs. Logs of jobs are exact to the microsecond: JobStart, Mapper
and Reducer (at their ends, with their period), ReducerStart, DataPull, DataIO, ReducerEnd, JobEnd.
Metrics are polled every 15 seconds while a reducer runs, and once before and after: LoadStd, the
standard deviation of the nodes' loads, and Balance or Imbalance, whether that is below 0.5. The
time of a metric is only known up to its 15 seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.datasets.columns import START, check_share, check_size, named_codes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]

EVENT_TYPES = (
    "JobStart", "Mapper", "Reducer", "JobEnd", "ReducerStart", "ReducerEnd", "DataPull", "DataIO",
    "LoadStd", "Balance", "Imbalance",
)  # fmt: skip
POLL_SECONDS = 15.0
IMBALANCE = 0.5  # a LoadStd from here on is an imbalance
MAPPERS, REDUCERS = 20.0, 4.0  # means, in addition to the first of each
MAPPER_SECONDS, REDUCER_SECONDS = 40.0, 150.0  # medians
PULLS, WRITES = 8.0, 10.0  # means per reducer, in addition to the first
PULL_SECONDS, PULL_SHARE = 4.0, 0.4  # pulls are in this first share of a reducer's time
STRAGGLER = 5.0  # factor of the time of a straggling pull or mapper
SIZE = 2.0e6  # bytes, median
EVENTS_PER_JOB = 250  # approximately, to determine the number of jobs
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Events of one type: seconds since the start, owners, and attributes."""

    type: int
    second: Floats
    job: Ints
    task: Ints | None = None
    period: Floats | None = None
    size: Floats | None = None
    value: Floats | None = None
    is_polled: bool = False


def cluster(
    events: int,
    seed: int = 0,
    *,
    nodes: int = 30,
    jobs_per_hour: float = 60.0,
    stragglers: float = 0.05,
    skew: float = 0.2,
) -> pa.Table:
    """Return `events` events ordered by time, the same for the same arguments.

    Columns: time, time_lo and time_hi (timestamp[us]; the latter two differ for polled metrics
    alone, and time is then time_hi), type, job_id, task_id (null for JobStart and JobEnd), node
    (null for these too), period (seconds: Mapper, Reducer, DataPull), size (bytes: DataIO) and val
    (LoadStd, Balance, Imbalance). A share of `stragglers` of the pulls and mappers takes five times
    as long; a share of `skew` of the reducers unbalances the cluster more and more as they run.

    Raise InputError for a negative number of events, no node, no jobs or a share outside 0 to 1.

    >>> cluster(500, seed=1).slice(0, 1).select(["type", "job_id"]).to_pylist()
    [{'type': 'JobStart', 'job_id': 0}]
    """
    check_size("events", events, least=0)
    check_size("nodes", nodes, least=1)
    check_share("stragglers", stragglers)
    check_share("skew", skew)
    check_size("jobs_per_hour", jobs_per_hour, least=0.01)
    rng = np.random.default_rng(seed)
    jobs = events // EVENTS_PER_JOB + 20
    while True:
        rows = list(_rows(rng, jobs, jobs_per_hour, stragglers, skew))
        table = _table(rng, rows, nodes)
        if table.num_rows >= events:
            return table.slice(0, events)
        jobs *= 2


def _rows(
    rng: np.random.Generator, jobs: int, jobs_per_hour: float, stragglers: float, skew: float
) -> Iterator[Rows]:
    """Yield all events of a number of jobs, type by type."""
    start = np.cumsum(rng.exponential(3600.0 / jobs_per_hour, jobs))
    job = np.arange(jobs)
    yield Rows(EVENT_TYPES.index("JobStart"), start, job)

    mappers = 1 + rng.poisson(MAPPERS, jobs)
    of_mapper = np.repeat(job, mappers)
    period = _periods(rng, MAPPER_SECONDS, len(of_mapper), stragglers)
    mapper_end = start[of_mapper] + rng.uniform(0.1, 20.0, len(of_mapper)) + period
    task = np.arange(len(of_mapper))
    yield Rows(EVENT_TYPES.index("Mapper"), mapper_end, of_mapper, task, period)

    reducers = 1 + rng.poisson(REDUCERS, jobs)
    of_reducer = np.repeat(job, reducers)
    task = len(of_mapper) + np.arange(len(of_reducer))
    period = _periods(rng, REDUCER_SECONDS, len(of_reducer), 0.0)
    begin = start[of_reducer] + rng.uniform(15.0, 60.0, len(of_reducer))
    end = begin + period
    yield Rows(EVENT_TYPES.index("ReducerStart"), begin, of_reducer, task)
    yield Rows(EVENT_TYPES.index("ReducerEnd"), end, of_reducer, task)
    yield Rows(EVENT_TYPES.index("Reducer"), end + 0.01, of_reducer, task, period)
    yield from _transfers(rng, of_reducer, task, begin, period, stragglers)
    yield from _metrics(rng, of_reducer, task, begin, end, skew)

    job_end = np.maximum(_latest(of_mapper, mapper_end, jobs), _latest(of_reducer, end, jobs))
    yield Rows(EVENT_TYPES.index("JobEnd"), job_end + rng.uniform(0.5, 2.0, jobs), job)


def _transfers(
    rng: np.random.Generator,
    job: Ints,
    task: Ints,
    begin: Floats,
    period: Floats,
    stragglers: float,
) -> Iterator[Rows]:
    """Yield the events of reducers' pulls and writes."""
    of_pull = np.repeat(np.arange(len(task)), 1 + rng.poisson(PULLS, len(task)))
    second = begin[of_pull] + PULL_SHARE * period[of_pull] * rng.random(len(of_pull))
    pull_period = _periods(rng, PULL_SECONDS, len(of_pull), stragglers)
    yield Rows(EVENT_TYPES.index("DataPull"), second, job[of_pull], task[of_pull], pull_period)
    of_write = np.repeat(np.arange(len(task)), 1 + rng.poisson(WRITES, len(task)))
    second = begin[of_write] + period[of_write] * rng.random(len(of_write))
    size = np.round(SIZE * rng.lognormal(0.0, 1.0, len(of_write)))
    yield Rows(EVENT_TYPES.index("DataIO"), second, job[of_write], task[of_write], size=size)


def _metrics(
    rng: np.random.Generator, job: Ints, task: Ints, begin: Floats, end: Floats, skew: float
) -> Iterator[Rows]:
    """Yield the events of polling from before each reducer's start until after its end."""
    first = np.floor(begin / POLL_SECONDS)
    polls = (np.floor(end / POLL_SECONDS) - first + 3).astype(np.int64)
    of_poll = np.repeat(np.arange(len(task)), polls)
    number = np.arange(len(of_poll)) - np.repeat(np.cumsum(polls) - polls, polls)
    second: Floats = (first[of_poll] + number) * POLL_SECONDS
    runs = (second > begin[of_poll]) & (second < end[of_poll] + POLL_SECONDS)
    unbalances = (rng.random(len(task)) < skew)[of_poll]
    part = (second - begin[of_poll]) / (end - begin)[of_poll]
    level: Floats = np.where(runs & unbalances, IMBALANCE + 0.4 * part, 0.25)
    value: Floats = np.round(np.abs(level + 0.08 * rng.standard_normal(len(level))), 3)
    for name, chosen in (
        ("LoadStd", value >= 0),
        ("Balance", value < IMBALANCE),
        ("Imbalance", value >= IMBALANCE),
    ):
        reducer = of_poll[chosen]
        yield Rows(
            EVENT_TYPES.index(name),
            second[chosen],
            job[reducer],
            task[reducer],
            value=value[chosen],
            is_polled=True,
        )


def _periods(rng: np.random.Generator, median: float, count: int, stragglers: float) -> Floats:
    slower = np.where(rng.random(count) < stragglers, STRAGGLER, 1.0)
    return np.round(median * rng.lognormal(0.0, 0.4, count) * slower, 3)


def _latest(of: Ints, second: Floats, jobs: int) -> Floats:
    """Return the greatest of each job's seconds."""
    latest = np.zeros(jobs)
    np.maximum.at(latest, of, second)
    return latest


def _table(rng: np.random.Generator, rows: list[Rows], nodes: int) -> pa.Table:
    counts = [len(part.second) for part in rows]
    micros = (np.concatenate([part.second for part in rows]) * MICROSECONDS).astype(np.int64)
    is_polled = np.repeat([part.is_polled for part in rows], counts)
    has_task = np.repeat([part.task is not None for part in rows], counts)
    order = np.argsort(micros, kind="stable")
    time = START + micros
    earliest = time - np.where(is_polled, int(POLL_SECONDS * MICROSECONDS), 0)
    kinds = np.repeat([part.type for part in rows], counts)

    def column(values: list[Floats | Ints | None]) -> pa.Array:
        missing = np.repeat([part is None for part in values], counts)
        column_parts = [
            np.zeros(count) if part is None else part
            for part, count in zip(values, counts, strict=True)
        ]
        return pa.array(np.concatenate(column_parts)[order], mask=missing[order])

    return pa.table(
        {
            "time": pa.array(time[order]).cast(pa.timestamp("us")),
            "time_lo": pa.array(earliest[order]).cast(pa.timestamp("us")),
            "time_hi": pa.array(time[order]).cast(pa.timestamp("us")),
            "type": named_codes(kinds[order], EVENT_TYPES),
            "job_id": pa.array(np.concatenate([part.job for part in rows])[order]),
            "task_id": column([part.task for part in rows]).cast(pa.int64()),
            "node": pa.array(rng.integers(0, nodes, len(time)), mask=~has_task[order]),
            "period": column([part.period for part in rows]),
            "size": column([part.size for part in rows]).cast(pa.int64()),
            "val": column([part.value for part in rows]),
        }
    )
