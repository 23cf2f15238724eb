"""Logs of different columns are combined by name, with types from where they were read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.errors import InputError
from elsinore.runtime.files import read_events

CONN = pa.table({"time": [2, 5], "host": ["a", "b"], "port": [80, 443]})
DNS = pa.table({"time": [1, 3], "host": ["a", "a"], "asked": ["x.org", "y.org"]})
QUERY = """QUERY q RETURN d.asked AS asked, c.port AS port PATTERN SEQ(dns d, conn c)
    WHERE [host] WITHIN 10"""
ROWS = [{"asked": "x.org", "port": 80}]
ZEEK = """#separator \\x09
#path\t{name}
#fields\ttime\thost\t{column}
#types\tcount\tstring\t{kind}
{rows}
""".replace("\\\\", "\\")


def write(folder: Path, form: str) -> list[Path]:
    """Write both logs; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in (("conn", CONN), ("dns", DNS)):
        path = folder / f"{name}.{form}"
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        if form == "parquet":
            pq.write_table(table, path)
        elif form == "csv":
            frame.write_csv(path)
        elif form == "csv.gz":
            path.write_bytes(gzip.compress(frame.write_csv().encode()))
        elif form == "jsonl":
            frame.write_ndjson(path)
        else:
            rows = "\n".join("\t".join(map(str, row)) for row in frame.rows())
            column, kind = ("port", "port") if name == "conn" else ("asked", "string")
            # rotated: the file's name does not tell what it holds
            path = folder / f"{name}.00-00.log"
            path.write_text(ZEEK.format(name=name, column=column, kind=kind, rows=rows))
        paths.append(path)
    return paths


@pytest.mark.parametrize("form", ["parquet", "csv", "csv.gz", "jsonl", "log"])
def test_files_have_the_types_that_they_are_named_by(tmp_path: Path, form: str) -> None:
    write(tmp_path, form)
    assert el.Workload.parse(QUERY).run(str(tmp_path))["q"].to_pylist() == ROWS


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_spark_combines_the_same_files(tmp_path: Path, form: str, spark: SparkSession) -> None:
    write(tmp_path, form)
    result = el.Workload.parse(QUERY).run(str(tmp_path), spark=spark)["q"]
    assert [row.asDict() for row in result.collect()] == ROWS


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_the_command_line_combines_files(tmp_path: Path, engine: str) -> None:
    paths = write(tmp_path, "parquet")
    events = [part for path in paths for part in ("--events", str(path))]
    arguments = ["run", "-q", QUERY, *events, "--engine", engine, "--format", "json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "x.org" in done.stdout
    assert "y.org" not in done.stdout


def test_types_are_taken_from_what_is_asked_for(tmp_path: Path) -> None:
    (conn, dns) = write(tmp_path / "net", "csv")
    assert read_events(conn, dns)["host"].to_pylist() == ["a", "b", "a", "a"]
    assert "type" not in read_events(conn, dns).column_names
    assert (
        read_events(conn, dns, type_from="file")["type"].to_pylist() == ["conn"] * 2 + ["dns"] * 2
    )
    assert set(read_events(conn, type_from="folder")["type"].to_pylist()) == {"net"}
    assert read_events(conn, dns)["asked"].to_pylist() == [None, None, "x.org", "y.org"]
    (log, _) = write(tmp_path / "zeek", "log")
    assert set(read_events(log, type_from="zeek")["type"].to_pylist()) == {"conn"}
    with pytest.raises(InputError, match="no line '#path'"):
        read_events(conn, type_from="zeek")
    with pytest.raises(InputError, match="Did you mean 'folder'"):
        read_events(conn, type_from="folders")  # type: ignore[arg-type]


def test_a_column_of_types_is_kept_unless_another_source_is_named(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,type\n1,A\n")
    assert read_events(path, type_from="auto")["type"].to_pylist() == ["A"]
    assert read_events(path, type_from="file")["type"].to_pylist() == ["day"]


def test_pieces_of_a_data_set_are_of_no_type(tmp_path: Path) -> None:
    for number in range(2):
        pq.write_table(CONN, tmp_path / f"part-{number:05}.parquet")
    with pytest.raises(InputError, match="'type'"):
        el.Workload.parse("RETURN COUNT(*) PATTERN conn").run(str(tmp_path))


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_tables_are_combined_by_type(kind: str) -> None:
    tables = {"conn": CONN, "dns": DNS}
    made = {
        "arrow": tables,
        "pandas": {name: table.to_pandas() for name, table in tables.items()},
        "polars": {name: pl.from_arrow(table) for name, table in tables.items()},
    }[kind]
    assert isinstance(next(iter(made.values())), pa.Table | pd.DataFrame | pl.DataFrame)
    assert el.Workload.parse(QUERY).run(made)["q"].to_pylist() == ROWS


def test_frames_of_spark_are_combined_by_type(spark: SparkSession) -> None:
    frames = {"conn": spark.createDataFrame(CONN), "dns": spark.createDataFrame(DNS)}
    result = el.Workload.parse(QUERY).run(frames)["q"]
    assert [row.asDict() for row in result.collect()] == ROWS
    wrong = {"conn": frames["conn"], "dns": frames["dns"].selectExpr("time", "1 AS host")}
    with pytest.raises(InputError, match="Column 'host' is"):
        el.Workload.parse(QUERY).run(wrong)


def test_conflicting_types_are_reported_with_both_places(tmp_path: Path) -> None:
    pq.write_table(CONN, tmp_path / "conn.parquet")
    pq.write_table(DNS.set_column(1, "host", pa.array([1, 2])), tmp_path / "dns.parquet")
    with pytest.raises(InputError, match=r"'host' is text in '.*conn.parquet' and int64 in '.*dns"):
        read_events(tmp_path)
    with pytest.raises(InputError, match="Column 'host' is string in 'conn' and int64 in 'dns'"):
        el.Workload.parse(QUERY).run(
            {"conn": CONN, "dns": DNS.set_column(1, "host", pa.array([1, 2]))}
        )
