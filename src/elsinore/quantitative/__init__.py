"""Quantitative queries: functions of streams, built from combinators (StreamQRE).

import elsinore.quantitative as qre

B, M, E, D = (qre.event(name) for name in "BMED")
episode = qre.split(qre.atom(B), qre.iterate(qre.atom(M, lambda m: m.val), qre.mean()),
                    qre.atom(E), lambda b, mean, e: mean)
"""

# ruff: noqa: A004 - the paper's names for combinators, and those of statistics, are Python's too

from __future__ import annotations

from elsinore.quantitative.approximate import approx_median, approx_quantile
from elsinore.quantitative.combinators import (
    apply,
    approx_count_in_window,
    approx_quantile_in_window,
    atom,
    combine,
    constant,
    count_in_window,
    either,
    filter,
    iter_last,
    iterate,
    iterate1,
    iterate_n,
    map,
    map_collect,
    match,
    sliding,
    split,
    tumbling,
)
from elsinore.quantitative.folds import (
    Fold,
    count,
    counts,
    discounted_sum,
    first,
    interpolated_mean,
    last,
    linear_regression,
    max,
    mean,
    median,
    merged_counts,
    min,
    most_common,
    quantile,
    standard_deviation,
    sum,
    top,
    variance,
)
from elsinore.quantitative.functions import left, right, unit
from elsinore.quantitative.items import UNDEFINED, Item
from elsinore.quantitative.regex import ANY as any  # noqa: N811
from elsinore.quantitative.regex import event, predicate, seq, union
from elsinore.quantitative.relations import aggregate, join, project, select
from elsinore.quantitative.rules import RateError
from elsinore.quantitative.runnable import Chain, Keyed, NoValueWarning, Pipeline, Query, pipeline
from elsinore.quantitative.sketches import sketch, sketch_quantile, sketched_quantile
from elsinore.quantitative.stream import Stream
from elsinore.quantitative.streams import OperationError

item = Item()

__all__ = [
    "UNDEFINED",
    "Chain",
    "Fold",
    "Keyed",
    "NoValueWarning",
    "OperationError",
    "Pipeline",
    "Query",
    "RateError",
    "Stream",
    "aggregate",
    "any",
    "apply",
    "approx_count_in_window",
    "approx_median",
    "approx_quantile",
    "approx_quantile_in_window",
    "atom",
    "combine",
    "constant",
    "count",
    "count_in_window",
    "counts",
    "discounted_sum",
    "either",
    "event",
    "filter",
    "first",
    "interpolated_mean",
    "item",
    "iter_last",
    "iterate",
    "iterate1",
    "iterate_n",
    "join",
    "last",
    "left",
    "linear_regression",
    "map",
    "map_collect",
    "match",
    "max",
    "mean",
    "median",
    "merged_counts",
    "min",
    "most_common",
    "pipeline",
    "predicate",
    "project",
    "quantile",
    "right",
    "select",
    "seq",
    "sketch",
    "sketch_quantile",
    "sketched_quantile",
    "sliding",
    "split",
    "standard_deviation",
    "sum",
    "top",
    "tumbling",
    "union",
    "unit",
    "variance",
]
