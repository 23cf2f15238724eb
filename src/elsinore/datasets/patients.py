"""Patients who are monitored in episodes, the running example of StreamQRE (section 2).

An episode begins with B, has measurements M, and ends with E; the end of each day, D, is marked
once for all. So the events of one patient are a word of ((B M* E)* D)*.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.datasets.columns import check_size, named_codes

Ints = npt.NDArray[np.int64]

BEGIN, MEASUREMENT, END, DAY = range(4)
EVENT_TYPES = ("B", "M", "E", "D")
START = 1_704_067_200_000_000  # 2024-01-01T00:00:00
DAY_LENGTH = 86_400_000_000  # microseconds
RESTING, SPREAD = 75.0, 12.0  # a patient's pulse, and how patients differ
NOISE = 8.0


def patients(
    events: int,
    seed: int = 0,
    *,
    patients: int = 10,
    episodes: float = 3.0,
    measurements: float = 8.0,
) -> pa.Table:
    """Return `events` events ordered by time, the same for the same arguments.

    Columns: time (timestamp[us]), type (B, M, E, D), patient (null for D) and value (beats per
    minute; of M alone). `episodes` is their mean number per patient and day (Poisson; a day may
    have none), `measurements` that per episode (Poisson). Episodes of a patient do not overlap and
    lie within a day. The stream ends after `events` events, at any point.

    Raise InputError for a negative number of events, no patient or negative means.

    >>> patients(2000, seed=3)["type"].value_counts().field("values").to_pylist()
    ['B', 'M', 'E', 'D']
    """
    check_size("events", events, least=0)
    check_size("patients", patients, least=1)
    check_size("episodes", episodes, least=0)
    check_size("measurements", measurements, least=0)
    rng = np.random.default_rng(seed)
    per_day = patients * episodes * (measurements + 2) + 1
    days = int(events / per_day * 1.2) + 10  # almost certainly more than needed
    while True:
        table = _days(rng, days, patients, episodes, measurements)
        if table.num_rows >= events:
            return table.slice(0, events)
        days *= 2


def _days(
    rng: np.random.Generator, days: int, patients: int, episodes: float, measurements: float
) -> pa.Table:
    """Return all events of a number of days in the order of their times."""
    counts = rng.poisson(episodes, days * patients)  # [day and patient]
    owner = np.repeat(np.arange(days * patients), counts)  # [episode]
    lengths = rng.poisson(measurements, len(owner)) + 2
    last = np.cumsum(lengths) - 1
    kind = np.full(int(lengths.sum()), MEASUREMENT)
    kind[last] = END
    kind[last - lengths + 1] = BEGIN
    owner = np.repeat(owner, lengths)  # [event]
    day, patient = owner // patients, owner % patients
    within = rng.random(len(owner)) * (DAY_LENGTH - 1)
    within = within[np.lexsort((within, owner))]  # a patient's events of a day have ascending times
    time = START + day * DAY_LENGTH + within.astype(np.int64)
    resting = RESTING + SPREAD * rng.standard_normal(patients)
    value = np.round(resting[patient] + NOISE * rng.standard_normal(len(owner)), 1)

    ends = START + np.arange(1, days + 1) * DAY_LENGTH - 1
    time = np.r_[time, ends]
    kind = np.r_[kind, np.full(days, DAY)]
    order = np.argsort(time, kind="stable")
    kind = kind[order]
    nothing = np.zeros(days, np.int64)
    return pa.table(
        {
            "time": pa.array(time[order]).cast(pa.timestamp("us")),
            "type": named_codes(kind, EVENT_TYPES),
            "patient": pa.array(np.r_[patient, nothing][order], mask=kind == DAY),
            "value": pa.array(np.r_[value, nothing][order], mask=kind != MEASUREMENT),
        }
    )
