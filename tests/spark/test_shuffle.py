"""In how many partitions events are shuffled, by what Spark tells of a frame's size."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from elsinore.spark.shuffle import input_bytes


@pytest.fixture(scope="module")
def listed(spark: SparkSession) -> DataFrame:
    """Events of a list, of whose size Spark knows nothing."""
    return spark.createDataFrame([(1, "A"), (2, "B")], "time long, type string")


def test_a_column_more_or_less_makes_no_size_known(listed: DataFrame) -> None:
    wider = listed.withColumn("of", F.array("time", "time"))
    assert [input_bytes(frame) for frame in (listed, listed.select("time"), wider)] == [None] * 3


def test_a_join_is_no_larger_than_both_its_sides(spark: SparkSession) -> None:
    left = spark.range(1_000_000).withColumnRenamed("id", "time")
    joined = left.join(left.withColumnRenamed("time", "other"), F.col("time") == F.col("other"))
    assert input_bytes(left) == 8_000_000
    assert input_bytes(joined) == 16_000_000
