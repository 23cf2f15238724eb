"""Archive the classes that Spark loads, so that each JVM of the tests starts in half the time.

`python -m support.spark_classes FILE` runs a workload and a stream on Spark, and has the JVM
write an archive of the classes it loaded (JEP 350). `tests/conftest.py` names the file to all JVMs;
a JVM to which it does not apply ignores it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from elsinore.cli.app import app
from elsinore.spark.session import local_session
from support.jvm import OPTIONS
from support.streams import TO_THE_END

QUERY = "QUERY q RETURN COUNT(*) AS n PATTERN SEQ(A a, B+ b[]) WITHIN 10;"


def archive(file: Path) -> None:
    """Write the archive; leave no file if the JVM cannot write one."""
    os.environ["SPARK_SUBMIT_OPTS"] = f"{OPTIONS} -XX:ArchiveClassesAtExit={file}"
    with tempfile.TemporaryDirectory() as name, local_session("local[2]") as spark:
        folder = Path(name)
        (folder / "q.cep").write_text(QUERY)
        (folder / "in").mkdir()
        events = pa.table({"time": range(100), "type": ["A", "B"] * 50, "k": ["x"] * 100})
        pq.write_table(events, folder / "in" / "events.parquet")
        spark.createDataFrame(events).groupBy("k").count().collect()
        places = [str(folder / "q.cep"), "--events", str(folder / "in"), "--out"]
        live = ["--checkpoint", str(folder / "checkpoint"), *TO_THE_END]
        for command, options in ("run", []), ("stream", live):
            words = [command, *places, str(folder / command), "--engine", "spark", *options]
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, (words, result.output)
        jvm = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    jvm.stdin.close()
    jvm.wait(timeout=120)


if __name__ == "__main__":
    archive(Path(sys.argv[1]))
