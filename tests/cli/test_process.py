"""The installed command, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import elsinore

COMMAND = [sys.executable, "-m", "elsinore"]


def call(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_a_workload_is_generated_for_checked_and_run(tmp_path: Path) -> None:
    (tmp_path / "w.cep").write_text("QUERY q RETURN COUNT(*) PATTERN SEQ(A, C) WITHIN 1 second;")
    assert (
        call("generate", "abc", "--events", "100", "--out", "e.csv", cwd=tmp_path).returncode == 0
    )
    assert call("check", "w.cep", "--events", "e.csv", cwd=tmp_path).stdout == "q: OK\n"
    done = call("run", "w.cep", "--events", "e.csv", "--engine", "local", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "count(*)" in done.stdout


@pytest.mark.parametrize("options", [["--format", "csv"], ["--limit", "20000"], []])
@pytest.mark.parametrize("shown", [0, 1])
def test_a_pipe_that_is_closed_ends_the_command_without_a_word(
    tmp_path: Path, options: list[str], shown: int
) -> None:
    rows = "".join(f"{time},A\n" for time in range(20_000))
    (tmp_path / "e.csv").write_text(f"time,type\n{rows}")
    query = ["-q", "RETURN COUNT(*) PATTERN A WITHIN 1", "--events", "e.csv", "--engine", "local"]
    reader, writer = os.pipe()
    if not shown:
        os.close(reader)
    running = subprocess.Popen(
        [*COMMAND, "run", *query, *options],
        cwd=tmp_path,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    if shown:
        with os.fdopen(reader) as pipe:
            assert pipe.readline().strip()
    _, said = running.communicate()
    assert said == ""
    assert running.returncode == 141 or (shown and not options and running.returncode == 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [["check"], ["run", "--engine", "local", "--events", "e.csv"]])
def test_a_full_disk_behind_the_standard_output_is_named(
    tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "e.csv").write_text("time,type\n1,A\n")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *command, "-q", "RETURN COUNT(*) PATTERN A"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "Cannot write the standard output: No space left on device.\n"


def test_a_wrong_query_gives_status_2_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "w.cep").write_text("QUERY q RETURN COUNT(*) PATTERN SEQ(A, WITHIN 1 second;")
    done = call("check", "w.cep", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("w.cep:1:")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["run"], ["run", "w.cep"], ["explode"]])
def test_wrong_arguments_give_status_2(tmp_path: Path, arguments: list[str]) -> None:
    assert call(*arguments, cwd=tmp_path).returncode == 2


def test_importing_elsinore_loads_no_engine(tmp_path: Path) -> None:
    code = (
        "import sys, elsinore as el; el.Workload.parse('RETURN COUNT(*) PATTERN A'); "
        "print([n for n in ('pyspark', 'numba', 'z3', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


README = Path(__file__).parents[2] / "README.md"
EVENTS = "time,type,speed\n0,A,1.5\n60,B,\n120,B,2.5\n"
QUERY = "RETURN COUNT(*), AVG(B.speed) PATTERN SEQ(A, B+) WHERE A.speed < 10 WITHIN 30 minutes"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_run_of_files_does_not_import_pandas(tmp_path: Path, form: str) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "e.csv").write_text(EVENTS)
    if form == "parquet":
        pq.write_table(csv.read_csv(tmp_path / "e.csv"), tmp_path / "events" / "e.parquet")
    else:
        (tmp_path / "e.csv").rename(tmp_path / "events" / "e.csv")
    arguments = ["elsinore", "run", "--query", QUERY, "--events", "events", "--engine", "local"]
    code = f"sys.argv = {[*arguments, '--format', 'csv']}\nfrom elsinore.cli import main\nmain()"
    printed = without_pandas(code, tmp_path)
    assert printed.splitlines()[1] == "0,1800,3,2.5"


def test_the_first_example_of_the_readme_does_not_import_pandas(tmp_path: Path) -> None:
    code = README.read_text().split("```python\n")[1].split("```")[0]
    assert "'trends': 3.0" in without_pandas(code, tmp_path)


def without_pandas(code: str, folder: Path) -> str:
    """Run Python in a process; return what it prints. It fails where it imports pandas."""
    program = f"""
import atexit, os, sys
atexit.register(lambda: os._exit(9) if "pandas" in sys.modules else None)
{code}"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_is_there() -> None:
    assert [name for name in elsinore.__all__ if not hasattr(elsinore, name)] == []
    assert set(elsinore.__all__) <= set(dir(elsinore))
