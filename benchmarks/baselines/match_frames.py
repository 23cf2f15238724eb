"""Matches of SEQ(A a, B+ b, C c) in polars and in DuckDB, by window functions over each key.

Neither has MATCH_RECOGNIZE. CONTIGUOUS: an A and the C after it, with nothing but B between them,
stand next to each other once the B are left out; running counts of B tell how many there were. SKIP
TILL NEXT MATCH: each event knows the next C, each B what it would end with, each A the next B.
"""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

OUT = ("key", "a", "n", "c")
BS = "SUM(CAST(type = 'B' AS BIGINT)) OVER (PARTITION BY key ORDER BY time) AS bs"
NEXT = "ORDER BY time ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"

SQL = {
    "contiguous": f"""
        WITH counted AS (SELECT *, {BS} FROM events),
        paired AS (
            SELECT key, type, v, bs, time,
                LAG(type) OVER each AS before, LAG(v) OVER each AS a,
                LAG(bs) OVER each AS b, LAG(time) OVER each AS began
            FROM counted WHERE type <> 'B'
            WINDOW each AS (PARTITION BY key ORDER BY time))
        SELECT key, a, CAST(bs - b AS BIGINT) AS n, v AS c FROM paired
        WHERE type = 'C' AND before = 'A' AND bs > b AND time - began <= ?""",
    "next": f"""
        WITH counted AS (SELECT *, {BS} FROM events WHERE type IN ('A', 'B', 'C')),
        ended AS (
            SELECT key, type, v, bs, time,
                FIRST_VALUE(IF(type = 'C', v, NULL) IGNORE NULLS) OVER each AS c,
                FIRST_VALUE(IF(type = 'C', bs, NULL) IGNORE NULLS) OVER each AS until,
                FIRST_VALUE(IF(type = 'C', time, NULL) IGNORE NULLS) OVER each AS over
            FROM counted WINDOW each AS (PARTITION BY key {NEXT})),
        begun AS (
            SELECT key, type, v, time,
                FIRST_VALUE(IF(type = 'B', c, NULL) IGNORE NULLS) OVER each AS c,
                FIRST_VALUE(IF(type = 'B', until - bs + 1, NULL) IGNORE NULLS) OVER each AS n,
                FIRST_VALUE(IF(type = 'B', over, NULL) IGNORE NULLS) OVER each AS over
            FROM ended WINDOW each AS (PARTITION BY key {NEXT}))
        SELECT key, v AS a, CAST(n AS BIGINT) AS n, c FROM begun
        WHERE type = 'A' AND over - time <= ?""",
}


def in_polars(table: pa.Table, strategy: str, within: int) -> pa.Table:
    """Return key, a.v, the number of b and c.v of all matches; `within` in microseconds."""
    frame: Any = pl.from_arrow(table)
    kind, length = pl.col("type"), pl.duration(microseconds=within)
    counted = frame.lazy().with_columns(bs=(kind == "B").cum_sum().over("key"))
    if strategy == "contiguous":
        found = (
            counted.filter(kind != "B")
            .with_columns(
                before=kind.shift(1).over("key"),
                a=pl.col("v").shift(1).over("key"),
                b=pl.col("bs").shift(1).over("key"),
                began=pl.col("time").shift(1).over("key"),
            )
            .filter(
                (kind == "C")
                & (pl.col("before") == "A")
                & (pl.col("bs") > pl.col("b"))
                & (pl.col("time") - pl.col("began") <= length)
            )
            .select("key", "a", n=pl.col("bs") - pl.col("b"), c="v")
        )
    else:

        def following(of: str, **values: pl.Expr) -> dict[str, pl.Expr]:
            return {
                name: pl.when(kind == of).then(value).backward_fill().over("key")
                for name, value in values.items()
            }

        ended = counted.filter(kind.is_in(["A", "B", "C"])).with_columns(
            **following("C", c=pl.col("v"), until=pl.col("bs"), over=pl.col("time"))
        )
        count = pl.col("until").cast(pl.Int64) - pl.col("bs").cast(pl.Int64) + 1
        begun = ended.with_columns(**following("B", c=pl.col("c"), n=count, over=pl.col("over")))
        found = begun.filter((kind == "A") & (pl.col("over") - pl.col("time") <= length)).select(
            "key", "n", "c", a="v"
        )
    return (
        found.select(pl.col("n").cast(pl.Int64), "key", "a", "c").collect().to_arrow().select(OUT)
    )


def in_duckdb(table: pa.Table, strategy: str, within: int) -> pa.Table:
    """Return the same, by SQL on one thread."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("events", table)
        sql = SQL[strategy].replace("?", f"INTERVAL {within} MICROSECONDS")
        return connection.sql(sql).to_arrow_table().select(OUT)
