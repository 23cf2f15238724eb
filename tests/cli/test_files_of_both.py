"""The same files give the same results and the same refusals from both engines, byte for byte."""

from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from elsinore.cli.app import app
from elsinore.runtime.outputs import write_table

ENGINES = ("local", "spark")
QUERY = (
    "RETURN k, COUNT(*) AS n, SUM(b.v) AS total, AVG(b.v) AS mean PATTERN SEQ(A a, B b+) "
    "GROUP BY k WITHIN 10 seconds SLIDE 4 seconds"
)
NANOS = 1_700_000_000_000_000_000
TYPES = list("ABBAB")
VALUES = [1.0, 0.1, 2.0, 4.0, 5e20]
ZEEK = """#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\tconn
#fields\ttime\ttype\tk\tv\tok
#types\ttime\tenum\tstring\tinterval\tbool
1521911720.000001\tA\tx\t0.5\tT
1521911721.25\tB\tx\t0.125\tF
1521911722\tB\t(empty)\t-\t-
1521911723.5\tB\tx\t3.0\tT
#close\t2018-03-24-17-15-20
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object) -> Path:
    """Return the working folder; Spark has started."""
    assert spark is not None
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=given)


def outputs(*arguments: str, query: str = QUERY, form: str = "csv") -> list[str]:
    """Return the lines that a query's result is written as, the same from both engines."""
    actual = []
    for engine in ENGINES:
        done = call(
            *["run", "-q", query, *arguments, "--engine", engine],
            *["--format", form, "--out", engine, "--overwrite"],
        )
        assert done.exit_code == 0, done.stderr
        (file,) = Path(engine).glob(f"*.{form}")
        actual.append(sorted(file.read_text().splitlines()))
    assert actual[0] == actual[1]
    return actual[0]


def refusal(*arguments: str, query: str = QUERY, status: int = 2) -> str:
    """Return what is said to a run, the same by both engines."""
    told = []
    for engine in ENGINES:
        done = call("run", "-q", query, "--engine", engine, *arguments)
        assert (done.exit_code, done.stdout) == (status, ""), done.stderr
        told.append(done.stderr)
    assert told[0] == told[1]
    return told[0]


def table(times: pa.Array) -> pa.Table:
    return pa.table({"time": times, "type": TYPES, "k": ["x", "x", None, "y", "y"], "v": VALUES})


@pytest.mark.parametrize(
    ("kind", "form"), [("ns", "json"), ("us", "csv"), ("zoned", "json"), ("date", "csv")]
)
def test_times_of_every_kind_are_written_alike(kind: str, form: str) -> None:
    seconds = [0, 1, 2, 3, 4]
    times = {
        "ns": pa.array([NANOS + s * 10**9 + 1 for s in seconds], pa.timestamp("ns")),
        "us": pa.array([NANOS // 1000 + s * 10**6 + 1 for s in seconds], pa.timestamp("us")),
        "zoned": pa.array([NANOS // 10**6 + s * 1000 for s in seconds], pa.timestamp("ms", "UTC")),
        "date": pa.array(seconds, pa.date32()),
    }[kind]
    write_table(table(times), "e.parquet", "parquet")
    rows = outputs("--events", "e.parquet", form=form, query=QUERY.replace("seconds", "days"))
    assert len(rows) > 1


def test_nanoseconds_of_pandas_are_told_apart() -> None:
    times = pa.array([NANOS + n for n in range(5)], pa.timestamp("ns"))
    write_table(table(times), "e.parquet", "parquet")
    query = "RETURN COUNT(*) AS n PATTERN SEQ(A a, B b) WITHIN 4 ns"
    rows = outputs("--events", "e.parquet", query=query)
    assert rows[0] == '"2023-11-14T22:13:20","2023-11-14T22:13:20.000000004",2'


def test_messy_csv_is_read_alike() -> None:
    Path("e.csv").write_text(
        "time;type;k;v\n"
        "2024-01-01T01:00:00+01:00;A;x;1\n"
        '2024-01-01T00:00:01.5Z;B;"x";N/A\n'
        "2024-01-01 00:00:02.000000001Z;B;x;3\n"
        ";;;\n"
        "2024-01-01T00:00:03;A;;4\n"
    )
    arguments = ["--events", "e.csv", "--delimiter", ";", "--null", "N/A"]
    lines = outputs(*arguments, "--rejects", "bad.csv", "--overwrite")
    assert lines[1:] == [
        '"x","2023-12-31T23:59:52Z","2024-01-01T00:00:02Z",1,,',
        '"x","2023-12-31T23:59:56Z","2024-01-01T00:00:06Z",3,6,3',
        '"x","2024-01-01T00:00:00Z","2024-01-01T00:00:10Z",3,6,3',
    ]
    assert Path("bad.csv").read_text().splitlines()[1].endswith('"null time"')


def test_columns_of_numbers_with_odd_cells_are_named() -> None:
    rows = "".join(f"{n},B,x,{'N/A' if n == 41 else n}\n" for n in range(50))
    Path("e.csv").write_text("time,type,k,v\n" + rows)
    told = refusal("--events", "e.csv", "--type", "'T'")
    assert "Column 'v' is text because row 42 holds 'N/A'" in told
    assert "--null N/A" in told
    assert len(outputs("--events", "e.csv", "--null", "N/A", query=QUERY.replace("A a, ", ""))) > 1


def test_columns_of_times_with_odd_cells_are_named_and_the_time_itself_is_not() -> None:
    rows = "".join(f"{n},B,2024-01-0{n},{n}\n" for n in range(1, 9))
    Path("e.csv").write_text(f"time,type,due,v\n9,B,never,1\n{rows}soon,B,,9\n")
    told = call(
        *["run", "--engine", "local", "--events", "e.csv"],
        *["-q", "RETURN COUNT(*) PATTERN B b WHERE b.due < b.due - 1 day"],
    ).stderr
    assert "Column 'due' is text because row 1 holds 'never'" in told
    told = call(
        *["run", "--engine", "local", "--events", "e.csv", "-q", "RETURN COUNT(*) PATTERN B b"]
    ).stderr
    assert "row 10 (unparseable time): time=soon" in told
    assert "--null" not in told


def test_names_that_look_like_numbers_are_text_where_asked_for() -> None:
    Path("e.csv").write_text("time,type,k,v\n0,A,007,1\n1,B,007,1\n2,B,7,1\n")
    assert [line.split(",")[0] for line in outputs("--events", "e.csv")[1:]] == ["7"] * 3
    named = outputs("--events", "e.csv", "--text", "k")
    assert [line.split(",")[0] for line in named] == ['"007"'] * 3 + ['"k"']


def test_zeek_logs_are_read_alike() -> None:
    Path("conn.log").write_text(ZEEK)
    rows = outputs("--events", "conn.log")
    assert rows[1:] == [
        '"x","2018-03-24T17:15:12Z","2018-03-24T17:15:22Z",1,0.125,0.125',
        '"x","2018-03-24T17:15:16Z","2018-03-24T17:15:26Z",3,6.25,1.5625',
        '"x","2018-03-24T17:15:20Z","2018-03-24T17:15:30Z",3,6.25,1.5625',
    ]
    with gzip.open("conn.log.gz", "wt") as file:
        file.write(ZEEK)
    assert outputs("--events", "conn.log.gz") == rows


def test_json_arrays_are_read_as_lines_are() -> None:
    rows = [
        {"time": n, "type": kind, "k": "x", "v": v}
        for n, (kind, v) in enumerate(zip(TYPES, VALUES, strict=True))
    ]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("array.json").write_text(json.dumps(rows, indent=1))
    assert outputs("--events", "lines.jsonl") == outputs("--events", "array.json")


def test_several_files_and_patterns_are_read_together() -> None:
    whole = table(pa.array(range(5)))
    write_table(whole, "all.csv", "csv")
    write_table(whole.slice(0, 2), "day=1.csv", "csv")
    write_table(whole.slice(2).select(["v", "k", "type", "time"]), "day=2.csv", "csv")
    expected = outputs("--events", "all.csv")
    assert outputs("--events", "day=2.csv", "--events", "day=1.csv") == expected
    assert outputs("--events", "day*.csv") == expected


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_that_do_not_fit_are_named_with_the_column(form: str) -> None:
    whole = table(pa.array(range(5)))
    texts = whole.set_column(3, "v", pa.array(["a", "b", "c", "d", "e"]))
    as_one_type = "--text v" if form == "csv" else "with the type of the other"
    write_table(whole, f"types/a.{form}", form)  # type: ignore[arg-type]
    write_table(texts, f"types/b.{form}", form)  # type: ignore[arg-type]
    told = refusal("--events", "types", status=1)
    assert "The files do not fit together: column 'v'" in told
    assert f"a.{form}'" in told
    assert f"b.{form}'" in told
    assert as_one_type in told


def test_a_wrong_delimiter_is_guessed() -> None:
    Path("e.csv").write_text("user;ts;page\na;1;x\n")
    told = refusal("--events", "e.csv", status=1)
    assert "one column, named 'user;ts;page': is the delimiter ';'?" in told
    assert "--delimiter ';'" in told or "--delimiter ;" in told


def test_a_header_without_rows_holds_no_events() -> None:
    Path("e.csv").write_text("time,type,k,v\n")
    assert "has no events: a header and no rows" in refusal("--events", "e.csv", status=1)


def test_a_file_without_a_header_is_guessed() -> None:
    Path("e.csv").write_text("1489021895,A\n1489025507,B\n")
    told = refusal("--events", "e.csv", "--type", "'T'")
    assert "its first line is to name the columns" in told


def test_urls_are_refused_with_what_reads_them() -> None:
    told = refusal("--events", "s3://bucket/trips.parquet")
    assert "spark.read.parquet('s3a://bucket/trips.parquet')" in told


def test_unusable_events_are_told_alike() -> None:
    write_table(table(pa.array([1.0, None, float("nan"), 1e300, 5.0])), "e.parquet", "parquet")
    told = []
    for engine in ENGINES:
        done = call(
            *["run", "-q", QUERY, "--events", "e.parquet", "--engine", engine],
            *["--rejects", f"{engine}.json", "--format", "csv"],
        )
        assert done.exit_code == 0, done.stderr
        told.append(sorted(Path(f"{engine}.json").read_text().splitlines()))
    assert told[0] == told[1]
    assert len(told[0]) == 3


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_the_standard_input_holds_events_of_any_format(form: str) -> None:
    write_table(table(pa.array(range(5))), f"e.{form}", form)  # type: ignore[arg-type]
    Path("w.cep").write_text(f"QUERY q {QUERY};")
    from_file = call("run", "w.cep", "--events", f"e.{form}", "--engine", "local")
    from_input = call(
        *["run", "w.cep", "--events", "-", "--engine", "local"],
        given=Path(f"e.{form}").read_bytes(),
    )
    assert (from_input.exit_code, from_input.stdout) == (0, from_file.stdout)


def test_the_standard_input_holds_queries() -> None:
    write_table(table(pa.array(range(5))), "e.csv", "csv")
    query = f"QUERY q {QUERY};".encode()
    done = call("run", "-", "--events", "e.csv", "--engine", "local", given=query)
    assert done.exit_code == 0, done.stderr
    both = call("run", "-", "--events", "-", "--engine", "local", given=query)
    assert (both.exit_code, both.stderr) == (2, "There is only one standard input: name - once.\n")


def test_parts_are_a_folder(folder: Path) -> None:
    write_table(table(pa.array(range(5))), "e.csv", "csv")
    rows = []
    for engine in ENGINES:
        done = call(
            *["run", "-q", QUERY, "--events", "e.csv", "--engine", engine, "--out", engine],
            *["--parts", "--format", "json"],
        )
        assert done.exit_code == 0, done.stderr
        (place,) = Path(engine).iterdir()
        assert place.is_dir()
        rows.append(sorted("".join(part.read_text() for part in place.iterdir()).splitlines()))
    assert rows[0] == rows[1]
    assert rows[0]


def test_a_format_without_a_place_goes_to_the_standard_output() -> None:
    write_table(table(pa.array(range(5))), "e.csv", "csv")
    (expected,) = {tuple(outputs("--events", "e.csv"))}
    for engine in ENGINES:
        done = call(
            *["run", "-q", QUERY, "--events", "e.csv", "--engine", engine, "--format", "csv"]
        )
        assert sorted(done.stdout.splitlines()) == list(expected)
    arguments = ["--events", "e.csv", "--engine", "local", "--format", "parquet"]
    done = call("run", "-q", QUERY, *arguments)
    assert pq.read_table(BytesIO(done.stdout_bytes)).num_rows > 0
    Path("w.cep").write_text(f"QUERY a {QUERY}; QUERY b {QUERY};")
    refused = call("run", "w.cep", *arguments)
    assert (refused.exit_code, "Only one result can be written" in refused.stderr) == (2, True)


def test_so_many_rows_are_printed_as_asked() -> None:
    write_table(table(pa.array(range(5))), "e.csv", "csv")
    for engine in ENGINES:
        done = call(*["run", "-q", QUERY, "--events", "e.csv", "--engine", engine, "--limit", "1"])
        assert "of which" in done.stdout


DETECTORS = """
import elsinore.quantitative as qre

A, B = qre.event("A"), qre.event("B")


def total(begin, values) -> float:
    return values


runs = qre.split(qre.atom(A), qre.iterate1(qre.atom(B, lambda b: b.v), qre.sum(0.0)), total)
totals = qre.split(qre.match(B.star()), runs, lambda before, value: value).by("k")
"""


def test_queries_of_python_run_beside_others_where_their_module_is_named() -> None:
    Path("detectors.py").write_text(DETECTORS)
    write_table(table(pa.array(range(5), pa.int64())), "e.parquet", "parquet")
    text = f"QUERY totals FROM detectors:totals; QUERY trends {QUERY}"
    for module in ("detectors", "detectors.py"):
        for engine in ENGINES:
            done = call(
                *["run", "-q", text, "--events", "e.parquet", "--engine", engine],
                *["--python", module, "--out", engine, "--format", "csv", "--overwrite"],
            )
            assert done.exit_code == 0, done.stderr
            actual = sorted(Path(engine, "totals.csv").read_text().splitlines())
            assert actual == ['"k","time","value"', '"x",1,0.1', '"y",4,5e+20']
            assert Path(engine, "trends.csv").read_text().count("\n") > 1
    told = call("check", "-q", text, "--events", "e.parquet")
    assert told.exit_code == 2
    assert "--python" in told.stderr
    assert "split(" in call("explain", "-q", text, "--python", "detectors").stdout


def test_numbers_in_text_that_are_compared_by_order_are_warned_of() -> None:
    Path("e.csv").write_text("time,type,v\n1,A,9\n2,A,10\n3,A,n/a\n")
    for engine in ENGINES:
        options = ["--events", "e.csv", "--engine", engine]
        query = "RETURN COUNT(*) PATTERN A+ WHERE A[i].v > A[i-1].v"
        done = call("run", "-q", query, *options)
        assert done.exit_code == 0
        assert "compares texts: '10' is before '9'" in done.stderr
        assert "compares texts" not in call("run", "-q", query, *options, "--text", "v").stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_a_first_line_that_is_an_event_is_no_header(engine: str) -> None:
    Path("e.csv").write_text("1489021895,A,9\n1489021896,A,10\n")
    options = ["--events", "e.csv", "--type", "A", "--engine", engine]
    done = call("run", "-q", "RETURN COUNT(*) PATTERN A+", *options, "--time", "1489021895")
    assert done.exit_code == 2
    assert "that event would be lost. Put a line before it that names the columns" in done.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_numbered_columns_are_a_header(engine: str) -> None:
    Path("e.csv").write_text("0,1\n1489021895,A\n1489021896,A\n")
    options = ["--events", "e.csv", "--type", "1", "--time", "0", "--engine", engine]
    done = call("run", "-q", "RETURN COUNT(*) PATTERN A+", *options, "--format", "csv")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].endswith("3")


def test_types_are_guessed_without_the_rows_that_are_rejected() -> None:
    rows = ["1,A,3,2024-01-01,0.5", "2,B,5,2024-01-02,1", "3,B,7,2024-01-03,", "4,B,1,2024-01-03,2"]
    header = "time,type,v,day,share"
    odd = [header, "N/A,B,x,y,z", ",A,-,-,-"]
    Path("events.csv").write_text("\n".join([header, *rows[:2], *odd, *rows[2:]]) + "\n")
    Path("usable.csv").write_text("\n".join([header, *rows]) + "\n")
    query = (
        "RETURN SUM(b.v) AS s, MIN(b.day) AS d, AVG(b.share) AS m PATTERN SEQ(A a, B b) "
        "WHERE b.v > a.v AND b.day >= '2024-01-02'"
    )
    rejects = ["--rejects", "bad.csv", "--overwrite"]
    actual = outputs("--events", "events.csv", *rejects, query=query)
    assert actual == outputs("--events", "usable.csv", query=query)
    bad = pa.csv.read_csv("bad.csv").column("v").to_pylist()
    assert sorted(bad) == ["-", "v", "x"]


def test_rows_that_are_no_events_are_reported_before_the_types_they_spoil() -> None:
    Path("events.csv").write_text("time,type,v\n1,A,3\ntime,type,v\n2,B,5\n")
    query = "RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE b.v > a.v AND b.v < 9"
    for engine in ENGINES:
        done = call("run", "-q", query, "--events", "events.csv", "--engine", engine)
        assert done.exit_code == 1
        assert "1 event of 3 cannot be used (1 with unparseable time)" in done.stderr


def test_extension_types_of_parquet_are_read_alike() -> None:
    json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', '{"a":1}', "{}"]))
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 1, 0], pa.int8()))
    events = pa.table({"time": [1, 2, 3], "type": list("ABB"), "j": json, "ok": flags})
    pq.write_table(events, "events.parquet")
    for query, rows in (
        ("RETURN j, COUNT(*) AS n PATTERN SEQ(A a, B b) WHERE b.ok GROUP BY j", 1),
        ("RETURN b.j AS j, b.ok AS ok PATTERN SEQ(A a, B b) WHERE a.j = b.j OR b.ok = FALSE", 2),
        ("RETURN COUNT(*) AS n PATTERN SEQ(A a, B b) WHERE [j, ok]", 1),
    ):
        actual = outputs("--events", "events.parquet", query=query)
        assert len(actual) == rows + 1


def test_a_column_that_spark_cannot_read_is_named() -> None:
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16], pa.binary(16)))
    pq.write_table(pa.table({"time": [1], "type": ["A"], "id": ids}), "events.parquet")
    arguments = ("run", "-q", QUERY, "--events", "events.parquet", "--engine", "spark")
    done = call(*arguments)
    assert "Spark cannot read column 'id' of 'events.parquet'" in done.stderr
    assert "--engine local" in done.stderr


def test_rows_with_too_few_or_too_many_cells_are_rejected() -> None:
    header = "time,type,v"
    rows = ["1,A,3", "2,B,5", "3,B,7"]
    odd = ['2,B,4,"x"', "2,B", header]
    Path("events.csv").write_text("\n".join([header, rows[0], *odd, *rows[1:]]) + "\n")
    Path("usable.csv").write_text("\n".join([header, *rows]) + "\n")
    query = "RETURN SUM(b.v) AS s PATTERN SEQ(A a, B b) WHERE b.v > a.v"
    actual = outputs("--events", "events.csv", "--rejects", "bad.csv", "--overwrite", query=query)
    assert actual == outputs("--events", "usable.csv", query=query)
    for engine in ENGINES:
        rejects = ["--rejects", f"{engine}.csv", "--engine", engine]
        done = call("run", "-q", query, "--events", "events.csv", *rejects)
        assert done.exit_code == 0, done.stderr
        assert "3 events cannot be used" in done.stderr
        reasons = pa.csv.read_csv(f"{engine}.csv").column("reject_reason").to_pylist()
        assert sorted(reasons) == [
            "2 cells where there are 3 columns, in row 3 of 'events.csv': 2,B",
            "4 cells where there are 3 columns, in row 2 of 'events.csv': 2,B,4,\"x\"",
            "unparseable time",
        ]


def test_a_quote_that_is_not_closed_is_no_row_to_reject() -> None:
    Path("events.csv").write_text('time,type,v\n1,A,3\n2,"B,5\n3,B,7\n')
    done = call("run", "-q", QUERY, "--events", "events.csv", "--rejects", "bad.csv")
    assert done.exit_code == 1
    assert "a quote is opened and not closed" in done.stderr
    assert not Path("bad.csv").exists()


def test_a_second_header_in_one_of_several_files_is_rejected() -> None:
    header = "time,type,v,day"
    Path("1.csv").write_text(f"{header}\n1,A,1.50,2024-01-01\n2,B,2.50,2024-01-02\n")
    Path("2.csv").write_text(f"{header}\n3,A,3,2024-01-03\n{header}\n4,B,4,2024-01-04\n")
    Path("usable.csv").write_text(Path("2.csv").read_text().replace(f"3\n{header}", "3"))
    query = (
        "RETURN SUM(b.v) AS s, MIN(b.day) AS d PATTERN SEQ(A a, B b) "
        "WHERE b.v > a.v AND b.day >= '2024-01-02'"
    )
    rejects = ["--rejects", "bad.csv", "--overwrite"]
    actual = outputs("--events", "1.csv", "--events", "2.csv", *rejects, query=query)
    assert actual == outputs("--events", "1.csv", "--events", "usable.csv", query=query)
    assert pa.csv.read_csv("bad.csv").column("v").to_pylist() == ["v"]


def test_files_whose_events_have_different_types_do_not_fit_together() -> None:
    Path("1.csv").write_text("time,type,v\n1,A,1\n2,B,2\n")
    Path("2.csv").write_text("time,type,v\n3,A,x\nN/A,A,4\n4,B,y\n")
    for engine in ENGINES:
        rejects = ["--rejects", "bad.csv", "--engine", engine]
        events = ["--events", "1.csv", "--events", "2.csv"]
        done = call("run", "-q", "RETURN COUNT(*) PATTERN A a", *events, *rejects)
        assert done.exit_code == 1
        assert "do not fit together: column 'v' is" in done.stderr
