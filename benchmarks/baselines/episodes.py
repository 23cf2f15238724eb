"""The mean of each episode's measurements per patient, by hand: a plain loop in `applyInPandas`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

SCHEMA = "patient long, time timestamp, value double"


def means(types: Iterable[str], values: Iterable[float]) -> tuple[list[int], list[float | None]]:
    """Return the places of the ends of episodes, and the means; None without measurements."""
    places: list[int] = []
    found: list[float | None] = []
    number, total = 0, 0.0
    for place, (kind, value) in enumerate(zip(types, values, strict=True)):
        if kind == "M":
            number += 1
            total += value
        elif kind == "E":
            places.append(place)
            found.append(total / number if number else None)
        else:
            number, total = 0, 0.0
    return places, found


def in_pandas(frame: DataFrame) -> DataFrame:
    """Return the mean of each episode, by `groupBy(patient).applyInPandas`."""
    from pyspark import cloudpickle  # noqa: PLC0415

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers lack the benchmarks

    def of_patient(events: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415

        events = events.sort_values("time")
        places, found = means(events["type"].tolist(), events["value"].tolist())
        times = events["time"].iloc[places].tolist()
        patient = events["patient"].iloc[0]
        return pd.DataFrame({"patient": patient, "time": times, "value": found})

    return frame.groupBy("patient").applyInPandas(of_patient, SCHEMA)
