"""Jobs of many streams compare each of them, whatever the other streams contain."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from elsinore.plan import Granularity, Sharing
from fuzz.cases import Case, cases
from fuzz.on_spark import compared
from support.trends import table_of


def test_a_stream_without_events_hides_no_other_stream(spark: SparkSession) -> None:
    case = next(
        case
        for case in islice(cases(seed=3), 18)
        if isinstance(case, Case) and not case.ordered and any(case.expected)
    )
    nothing: list[list[object]] = [[] for _ in case.expected]
    empty = replace(case, events=[], table=table_of([]), expected=nothing)
    compared(spark, [case, empty, case], Sharing.DYNAMIC, Granularity.AUTO)
