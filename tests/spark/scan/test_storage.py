"""Tasks read files of object stores, by what Hadoop's configuration says of these."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("moto.server")

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.runtime.columnar import TRAVELS
from elsinore.runtime.options import RunOptions
from elsinore.spark.events import Events
from elsinore.spark.passes import selected_events
from elsinore.spark.scan.conditions import NotSimpleError
from elsinore.spark.scan.files import open_file
from elsinore.spark.scan.source import task_of
from elsinore.spark.scan.storage import Storage, storage_of
from elsinore.spark.scan.tasks import Opens
from elsinore.spark.shuffle import layout_of
from elsinore.spark.workers import shipped

KEYS = {"fs.s3a.access.key": "someone", "fs.s3a.secret.key": "secret"}
URI = "s3a://events/in%20a%20folder/one.parquet"


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """Start a server that speaks S3's protocol, in a process of its own; give its end point."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stderr is not None
        said = ""
        for line in server.stderr:
            said += line
            actual = re.search(r"Running on (http://[\d.:]+)", line)
            if actual:
                yield actual[1]
                break
        else:
            pytest.fail(said)
        server.terminate()


def settings(store: str) -> dict[str, str]:
    return KEYS | {"fs.s3a.endpoint": store, "fs.s3a.endpoint.region": "us-east-1"}


def upload(store: str, path: Path) -> None:
    system = pa_fs.S3FileSystem(
        access_key="someone",
        secret_key="secret",
        region="us-east-1",
        endpoint_override=store,
        allow_bucket_creation=True,
    )
    system.create_dir("events")
    pa_fs.copy_files(str(path), "events/in a folder/one.parquet", destination_filesystem=system)


def test_tasks_read_what_lies_in_an_object_store(
    spark: SparkSession, store: str, tmp_path: Path
) -> None:
    count = 1_000
    table = pa.table(
        {
            "time": pa.array(range(count), pa.int64()),
            "type": pa.array(["A", "B"] * (count // 2)),
            "key": pa.array([n % 7 for n in range(count)]),
        }
    )
    path = tmp_path / "one.parquet"
    pq.write_table(table, path, row_group_size=300)
    upload(store, path)
    for name, value in settings(store).items():
        spark.conf.set(name, value)
    storage = storage_of(spark, [URI])
    for name in settings(store):
        spark.conf.unset(name)
    assert {**storage.settings, **settings(store)} == storage.settings
    assert "secret" not in repr(storage)

    frame = spark.read.parquet(str(path))
    units = plan(
        parse_workload("QUERY q RETURN key, COUNT(*) PATTERN SEQ(A, B+) GROUP BY key;")
    ).units
    options = RunOptions()
    layout = layout_of(selected_events(units, Events(frame, options)).schema)
    here, _ = task_of(frame, units, options, layout)
    there = replace(
        here,
        storage=storage,
        splits=tuple(tuple(replace(group, file=URI) for group in part) for part in here.splits),
    )
    numbers = spark.range(0, len(here.splits), 1, 1)
    actual = [
        numbers.mapInArrow(shipped(task), from_arrow_schema(TRAVELS)).toArrow()
        for task in (here, there)
    ]
    assert actual[0] == actual[1]
    assert actual[0].num_rows > 0

    missing = URI.replace("one", "two")
    told = numbers.limit(1).mapInArrow(shipped(Opens(missing, storage)), "reason string").collect()
    assert f"'{missing}' cannot be read as Parquet" in told[0]["reason"]
    assert not numbers.mapInArrow(shipped(Opens(URI, storage)), "reason string").collect()


def test_a_bucket_has_settings_of_its_own(store: str, tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    upload(store, path)
    of_all = KEYS | {"fs.s3a.endpoint": "http://127.0.0.1:1"}
    of_bucket = {"fs.s3a.bucket.events.endpoint": store.removeprefix("http://")}
    of_bucket |= {"fs.s3a.bucket.events.connection.ssl.enabled": "false"}
    with open_file(URI, Storage(of_all | of_bucket)) as file:
        assert file.read().column("a").to_pylist() == [1, 2]


def test_stores_that_arrow_lacks_are_left_to_spark_and_missing_files_are_named() -> None:
    with pytest.raises(NotSimpleError, match="no file system for 'wasbs:'"):
        open_file("wasbs://c@account.blob.core.windows.net/x.parquet")
    with pytest.raises(InputError, match=re.escape("'file:/no/such.parquet' cannot be read")):
        open_file("file:/no/such.parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet") as failure:
        open_file("hdfs://no.such.host:1/x.parquet")
    assert "\n" not in str(failure.value)
    azure = Storage({"fs.azure.account.key.it.dfs.core.windows.net": "c2VjcmV0"})
    _, path = azure.located("abfss://box@it.dfs.core.windows.net/a%20b/c.parquet")
    assert path == "box/a b/c.parquet"


def test_stores_are_opened_as_hadoops_configuration_says() -> None:
    key = "c2VjcmV0"
    china = "it.dfs.core.chinacloudapi.cn"
    actual = Storage({f"fs.azure.account.key.{china}": key}).located(f"abfss://box@{china}/x")[0]
    assert actual == pa_fs.AzureFileSystem(
        "it",
        account_key=key,
        blob_storage_authority=".blob.core.chinacloudapi.cn",
        dfs_storage_authority=".dfs.core.chinacloudapi.cn",
    )
    settings = {"fs.azure.account.key": key, "fs.azure.abfs.endpoint": "127.0.0.1:10000"}
    actual = Storage(settings).located("abfs://box@it.dfs.core.windows.net/x")[0]
    assert actual == pa_fs.AzureFileSystem(
        "it",
        account_key=key,
        **{f"{service}_storage_authority": "127.0.0.1:10000" for service in ("blob", "dfs")},
        **{f"{service}_storage_scheme": "http" for service in ("blob", "dfs")},
    )
    settings = {
        "fs.gs.storage.root.url": "http://127.0.0.1:9",
        "fs.gs.auth.type": "Unauthenticated",
    }
    actual, path = Storage(settings).located("gs://box/a/x.parquet")
    assert path == "box/a/x.parquet"
    limit = timedelta(minutes=1)
    assert actual == pa_fs.GcsFileSystem(
        anonymous=True, scheme="http", endpoint_override="127.0.0.1:9", retry_time_limit=limit
    )
    assert actual != pa_fs.GcsFileSystem(anonymous=True, retry_time_limit=limit)
