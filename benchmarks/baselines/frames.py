"""Baselines for StreamQRE's queries in polars, as far as it can express them, over all events."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

Frame = pl.DataFrame


def frame(events: pa.Table, *names: str) -> pl.LazyFrame:
    """Return some columns of the events; types stay categories."""
    found: Any = pl.from_arrow(events.select(names))
    return found.lazy()


def y1(events: pa.Table) -> Frame:
    """Views of each campaign in each second: columns second, campaign, views."""
    return (
        frame(events, "time", "type", "campaign")
        .filter(pl.col("type") != "tick")
        .group_by(pl.col("time").dt.truncate("1s").alias("second"), "campaign")
        .agg((pl.col("type") == "view").sum().alias("views"))
        .sort("second")
        .collect()
    )


def n1(events: pa.Table) -> Frame:
    """Open auctions at each start or close."""
    return (
        frame(events, "type")
        .filter(pl.col("type").is_in(["Item", "Close"]))
        .select(pl.when(pl.col("type") == "Item").then(1).otherwise(-1).cum_sum().alias("value"))
        .collect()
    )


def _sales(events: pa.Table) -> pl.LazyFrame:
    """Return the category and the price of each item that is closed, in order."""
    return (
        frame(events, "type", "item", "category", "price")
        .with_row_index()
        .filter(pl.col("item").is_not_null())
        .group_by("item")
        .agg(
            pl.col("price").sum(),
            pl.col("category").first(),
            pl.col("index").last(),
            (pl.col("type") == "Close").any().alias("closed"),
        )
        .filter("closed")
        .sort("index")
    )


def n2(events: pa.Table) -> Frame:
    """The average closing price so far, at each close."""
    price = pl.col("price")
    return _sales(events).select((price.cum_sum() / price.cum_count()).alias("value")).collect()


def n3(events: pa.Table) -> Frame:
    """The item's category and its average closing price so far, at each close."""
    price = pl.col("price")
    mean = (price.cum_sum() / price.cum_count()).over("category")
    return _sales(events).select("category", mean.alias("value")).collect()


def n4(events: pa.Table) -> Frame:
    """The highest bid of each ten minutes that has one."""
    return (
        frame(events, "time", "type", "item", "price")
        .filter(pl.col("type").is_in(["Item", "Bid"]))
        .with_columns(pl.col("price").cum_sum().over("item"))
        .filter(pl.col("type") == "Bid")
        .group_by(pl.col("time").dt.truncate("10m").alias("until"))
        .agg(pl.col("price").max().alias("value"))
        .sort("until")
        .collect()
    )


def p7(events: pa.Table, size: int, limit: float) -> Frame:
    """How many of the last events were measurements above the limit, at each event."""
    marks = (pl.col("value") > limit).fill_null(value=False).cast(pl.Int64)
    return (
        frame(events, "value")
        .select(marks.rolling_sum(size, min_samples=1).alias("value"))
        .collect()
    )
