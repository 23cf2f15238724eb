"""Measure the prices in the cost model of the shared graph: `python -m benchmarks.calibrate`.

Runs streams of bursts with everything shared and with nothing shared, over a grid of burst lengths,
numbers of queries, snapshots at events, and events in a window. The non-negative prices that best
fit the times per burst go to `elsinore/trends/prices.json`. Prices of plain bursts and prices of an
index are kept apart, because in an index a column costs the same for every holder. Predicted and
measured costs go to `benchmarks/figures/cost_model.csv` and `.png`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing, TrendUnit
from elsinore.runtime.classify import classify
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph import ComparedColumns
from elsinore.trends.hamlet import HamletEvaluator
from elsinore.trends.keyed import KeyedEvents
from elsinore.trends.kind import spec_of

FIGURES = Path(__file__).parent / "figures"
PRICES = Path(__file__).parents[1] / "src/elsinore/trends/prices.json"
SHARED_PRICES = ("fixed", "event", "form", "propagate", "evaluate", "collapse")
ALONE_PRICES = ("alone_propagate", "alone_query")
ORDERED_PRICES = ("evaluate", "collapse", "alone_query")
KEPT_PRICES = ("split", "split_form")  # of a split, of which a run has one: not fitted


@dataclass(frozen=True, slots=True)
class Point:
    """A kind of burst: events, queries, snapshots at events, events in a window; 0 for plain sets.

    `window` is n where events are compared with the one before them.
    """

    b: int
    k: int
    created: int
    window: int

    @property
    def depth(self) -> float:
        """The numbers that a sum over predecessors reads."""
        return 1.0 + math.log2(self.window) if self.window else 1.0


def workload_unit(point: Point) -> TrendUnit:
    order = ["b[i].v >= b[i-1].v"] if point.window else []
    texts = []
    for number in range(point.k):
        local = ["b.w < 0.5"] if number == 0 and point.created else []
        where = " AND ".join(order + local)
        within = f"WITHIN {point.window} seconds" if point.window else "WITHIN 256 seconds"
        texts.append(
            f"QUERY q{number} RETURN COUNT(*) PATTERN SEQ(X x, B+ b) "
            f"{f'WHERE {where}' if where else ''} {within};"
        )
    (unit,) = plan(parse_workload("\n".join(texts)), granularity=Granularity.FINE).units
    return spec_of(unit)


def stream(point: Point, unit: TrendUnit, events: int) -> tuple[KeyedEvents, ComparedColumns]:
    """Return bursts of `b` events, each after an event that starts trends of all queries."""
    length = point.b + 1
    count = max(1, events // length) * length
    place = np.arange(count) % length
    types = np.where(place == 0, 1, 0).astype(np.int32)
    w = np.where((place > 0) & (place <= point.created), 1.0, 0.0)
    v = np.random.default_rng(1).random(count)
    columns = {"v": pa.array(v), "w": pa.array(w)}
    keyed = KeyedEvents(
        starts=np.array([0, count]),
        done=np.array([NEVER]),
        until=np.array([FOREVER]),
        times=np.arange(count) * 1_000_000,
        codes=classify(unit.classes, types, ("B", "X"), columns),
        values=np.zeros((0, count)),
        present=np.zeros((0, count), dtype=np.uint8),
        orders=np.zeros((0, count), dtype=np.int64),
        ordered=np.zeros((0, count), dtype=np.uint8),
    )
    return keyed, ComparedColumns.of({name: columns[name] for name in unit.compared})


def nanoseconds(
    unit: TrendUnit, events: tuple[KeyedEvents, ComparedColumns], sharing: Sharing
) -> tuple[float, float]:
    """Return the time per burst, at best, and the snapshots propagated on average."""
    best, propagated = math.inf, 1.0
    for _ in range(3):
        evaluator = HamletEvaluator(unit, sharing=sharing)
        began = time.process_time_ns()
        evaluator.evaluate(*events)
        passed = time.process_time_ns() - began
        told = evaluator.statistics[0]
        best = min(best, passed / max(told.bursts, 1))
        propagated = told.most_propagated
    return best, propagated


def nonnegative(features: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least squares solution without negative entries, relative errors counted."""
    scaled, ones = features / times[:, None], np.ones(len(times))
    kept = list(range(features.shape[1]))
    while True:
        found, *_ = np.linalg.lstsq(scaled[:, kept], ones, rcond=None)
        if len(kept) == 1 or (found >= 0).all():
            break
        kept.pop(int(np.argmin(found)))
    prices = np.zeros(features.shape[1])
    prices[kept] = np.maximum(found, 0.0)
    return prices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=60_000)
    parser.add_argument("--dry", action="store_true", help="leave prices.json as it is")
    asked = parser.parse_args()
    points = [
        Point(b, k, created, window)
        for b, k, created, window in itertools.product(
            (4, 16, 64), (4, 16, 64), (0, 1, 4), (0, 256, 4096)
        )
        if created <= b // 4 and b < (window or 256) and not (window and created > 1)
    ]
    timed = [one for one in map(partial(time_of, events=asked.events), points) if one]
    plain = fit_plain([one for one in timed if not one.point.window])
    ordered = fit_ordered([one for one in timed if one.point.window])
    table = json.loads(PRICES.read_text("utf-8"))
    fitted = {"graph": plain, "ordered": ordered}
    for name, (prices, _) in fitted.items():
        kept = {price: table[name][price] for price in KEPT_PRICES if price in table[name]}
        table[name] = {price: round(found, 3) for price, found in prices.items()} | kept
    print(json.dumps({name: table[name] for name in fitted}, indent=2))
    if not asked.dry:
        PRICES.write_text(json.dumps(table, indent=2) + "\n", "utf-8")
    predicted = np.concatenate([plain[1], ordered[1]], axis=1)
    timed.sort(key=lambda one: bool(one.point.window))
    times = [one.shared for one in timed], [one.alone for one in timed]
    report([one.point for one in timed], (predicted[0], predicted[1]), times)


@dataclass(frozen=True, slots=True)
class Timed:
    """What a kind of burst takes in nanoseconds, and the snapshots propagated on average."""

    point: Point
    shared: float
    alone: float
    propagated: float


def time_of(point: Point, events: int) -> Timed | None:
    """Measure a kind of burst; None: its graph has more columns than the optimizer ever lets it."""
    unit = workload_unit(point)
    given = stream(point, unit, events)
    alone, _ = nanoseconds(unit, given, Sharing.NEVER)
    shared, most = nanoseconds(unit, given, Sharing.ALWAYS)
    if point.window and most > max(point.k, 2):
        return None
    print(f"{point}: shared {shared:.0f} ns, alone {alone:.0f} ns a burst", flush=True)
    propagated = (1 + most) / 2 if point.window else 1.0 + point.created
    return Timed(point, shared, alone, propagated)


def fit_plain(timed: Sequence[Timed]) -> tuple[dict[str, float], NDArray[np.float64]]:
    """Return the prices of plain bursts, and what they predict: shared, and alone."""
    shared_rows, alone_rows = [], []
    for one in timed:
        b, k, created = one.point.b, one.point.k, 1 + one.point.created
        forms = b * bool(one.point.created)
        shared_rows.append([1, b, forms, b * one.propagated, created * k * one.propagated, k])
        alone_rows.append([1, b, k * b, k])
    shared, alone = np.array(shared_rows, dtype=float), np.array(alone_rows, dtype=float)
    shared_price = nonnegative(shared, np.array([one.shared for one in timed]))
    alone_price = nonnegative(alone, np.array([one.alone for one in timed]))
    # what both cost alike is no reason for either
    common = np.minimum(shared_price[:2], alone_price[:2])
    found = [*(shared_price[:2] - common), *shared_price[2:]]
    prices = dict(zip(SHARED_PRICES, map(float, found), strict=True))
    prices |= dict(zip(ALONE_PRICES, map(float, alone_price[2:]), strict=True))
    prices["alone_event"] = float(alone_price[1] - common[1])
    return prices, np.array([shared @ shared_price, alone @ alone_price])


def fit_ordered(timed: Sequence[Timed]) -> tuple[dict[str, float], NDArray[np.float64]]:
    """Return the prices where events are compared, and what they predict: shared, and alone.

    A row of the index is read and added to by the same code in both modes; what it costs beside its
    columns, and what an event does, is no reason for either.
    """
    shared_rows, alone_rows = [], []
    for one in timed:
        b, k, depth, created = one.point.b, one.point.k, one.point.depth, 1 + one.point.created
        read, evaluated = b * depth, created * k * one.propagated
        shared_rows.append([1, 0, b, read, read * one.propagated, evaluated, k, 0])
        alone_rows.append([0, 1, b, read, read * k, 0, 0, k])
    rows = np.array(shared_rows + alone_rows, dtype=float)
    times = [one.shared for one in timed] + [one.alone for one in timed]
    found = nonnegative(rows, np.array(times))
    fixed, fixed_alone, _, _, column, *others = map(float, found)
    prices = {"fixed": max(fixed - fixed_alone, 0.0)}
    prices |= {"propagate": column, "alone_propagate": column}
    prices |= dict(zip(ORDERED_PRICES, others, strict=True))
    return prices, (rows @ found).reshape(2, len(timed))


def report(
    points: list[Point],
    predicted: tuple[NDArray[np.float64], NDArray[np.float64]],
    measured: tuple[list[float], list[float]],
) -> None:
    """Write the table and, where matplotlib is there, the plot."""
    FIGURES.mkdir(exist_ok=True)
    kinds = ("shared", "alone")
    with (FIGURES / "cost_model.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["kind", "b", "k", "created", "n", "measured_ns", "predicted_ns"])
        for kind, guesses, times in zip(kinds, predicted, measured, strict=True):
            for p, guess, found in zip(points, guesses, times, strict=True):
                row = [kind, p.b, p.k, p.created, p.window, round(found), round(float(guess))]
                writer.writerow(row)
    errors = np.concatenate(predicted) / np.concatenate(measured)
    print(
        f"predicted / measured: median {np.median(errors):.2f}, "
        f"10-90 % {np.quantile(errors, 0.1):.2f}-{np.quantile(errors, 0.9):.2f}"
    )
    right = np.mean(
        (predicted[0] < predicted[1]) == (np.array(measured[0]) < np.array(measured[1]))
    )
    print(f"decisions as the measured times would have them: {right:.0%}")
    try:
        import matplotlib as mpl  # noqa: PLC0415

        mpl.use("Agg")
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError:
        print("no matplotlib: no plot")
        return
    figure, axes = plt.subplots(figsize=(5, 5))
    for kind, guesses, times, mark in zip(kinds, predicted, measured, "ox", strict=True):
        axes.loglog(times, guesses, mark, label=kind, alpha=0.7)
    ends = [min(map(min, measured)), max(map(max, measured))]
    axes.loglog(ends, ends, color="grey", linewidth=1)
    axes.set_xlabel("measured, ns a burst")
    axes.set_ylabel("predicted, ns a burst")
    axes.legend()
    figure.tight_layout()
    figure.savefig(FIGURES / "cost_model.png", dpi=120)


if __name__ == "__main__":
    main()
