"""What several test packages share."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure() -> None:
    """Drop compiled kernels that are older than any kernel's source.

    Numba recompiles a function when its own file changes, but not when one that it calls does.
    """
    source = Path(__file__).parents[1] / "src"
    newest = max(file.stat().st_mtime for file in source.rglob("kernels.py"))
    for index in source.rglob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink()


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Give the one Spark session of this test run."""
    pytest.importorskip("pyspark")
    from elsinore.spark.session import local_session

    # Tests run many small jobs once each: optimizing their bytecode costs more than it saves.
    quick = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    with local_session("local[2]", name="elsinore tests", config=quick) as session:
        yield session
