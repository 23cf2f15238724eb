"""What several test packages share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from support.jvm import OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.broker import Broker
    from support.topics import Topics


# Spark's JVM, in this process and those that tests start, runs for seconds: the optimizing compiler
# would take a third of its processor time, and gain nothing. `make test` archives Spark's classes,
# which halves the time to start; where the archive is missing or does not apply, it is ignored.
ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{OPTIONS} -XX:SharedArchiveFile={ARCHIVE}")

# A first example may load Arrow's functions or a session of Spark; machines are loaded.
# Cases are the same in every run, unless their number is asked for, as `make fuzz` does.
EXAMPLES = os.environ.get("ELSINORE_EXAMPLES")
settings.register_profile(
    "untimed", deadline=None, max_examples=int(EXAMPLES or 25), derandomize=EXAMPLES is None
)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Give the one Spark session of this test run."""
    pytest.importorskip("pyspark")
    from elsinore.spark.session import local_session

    # Two partitions are several; a task that fails is tried once more, as on a cluster.
    quick = {
        "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),  # for `benchmarks`
    }
    with local_session("local[2,2]", name="elsinore tests", config=quick) as session:
        yield session


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> "Iterator[Broker]":
    """Lend the Kafka broker of this test run; the first test that asks for it starts it."""
    pytest.importorskip("confluent_kafka")
    from support.broker import broker

    base = tmp_path_factory.getbasetemp()
    with broker(base if worker_id == "master" else base.parent) as running:
        yield running


@pytest.fixture(scope="session")
def topics(kafka: "Broker") -> "Iterator[Topics]":
    """Give what makes topics of the test run's broker."""
    from support.topics import Topics

    made = Topics(kafka)
    yield made
    made.close()
