"""No data can command the terminal, and no credentials are repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.cli.console import plain_table, print_table
from elsinore.errors import InputError, OutputError, without_credentials
from elsinore.runtime.files import read_events

CLEAR = "\x1b[2J"
HIDDEN = ("\x1b", "\x07", "\u202e", "\x9b", "\r")


def test_tables_show_control_codes_of_data_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    row = [f"a{CLEAR}", "b\x9b31m\u202e", "c\nd\te\rf", 1]
    print_table(f"q{CLEAR}", ["x", f"y{CLEAR}", "z", "n"], [row], 1, 1)
    plain_table("counts", [(f"name{CLEAR}", "\x07")])
    shown = capsys.readouterr().out
    assert not any(sign in shown for sign in HIDDEN)
    assert "a\\x1b[2J" in shown
    assert "c\\nd\\te\\rf" in shown


def test_results_and_messages_of_a_run_command_no_terminal(tmp_path: Path) -> None:
    events = tmp_path / "e.csv"
    events.write_text(f"time,type,name\n1,A,x{CLEAR}\n2,B{CLEAR},y\n", newline="")
    query = tmp_path / "q.cep"
    query.write_text("QUERY q RETURN name, COUNT(*) PATTERN A GROUP BY name;")
    arguments = ["run", str(query), "--events", str(events), "--engine", "local"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert not any(sign in done.output for sign in HIDDEN)
    assert "x\\x1b[2J" in done.output
    missing = CliRunner().invoke(app, [*arguments[:3], f"no{CLEAR}.csv", *arguments[4:]])
    assert missing.exit_code != 0
    assert "\x1b" not in missing.output


@pytest.mark.parametrize("form", ["text", "json", "mermaid", "svg"])
def test_explain_commands_no_terminal(form: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN SEQ(\"A{CLEAR}\" a, B+ b) WHERE a.v = 'x\u202e{CLEAR}'"
    workload = el.Workload.parse(text)
    assert not any(sign in workload.explain(form) for sign in HIDDEN)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [InputError, OutputError])
def test_errors_quote_control_codes_as_text(error: type[el.ElsinoreError]) -> None:
    assert str(error(f"'{CLEAR}' is none")) == "'\\x1b[2J' is none"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://key:secret@bucket/e.csv", "s3://...@bucket/e.csv"),
        ("https://token@host/e?day=1&sig=a%2Bb", "https://...@host/e?day=1&sig=..."),
        ("jdbc:postgresql://host/db?user=me&password=pw", "jdbc:postgresql://host/db?user=...&"),
        ("hdfs://host:8020/e@home", "hdfs://host:8020/e@home"),
        ("abfss://box@account.dfs/e", "abfss://box@account.dfs/e"),
        ("abfss://box:pw@account.dfs/e", "abfss://...@account.dfs/e"),
        ("mail me@host", "mail me@host"),
    ],
)
def test_credentials_of_urls_are_not_shown(text: str, shown: str) -> None:
    assert without_credentials(f"at '{text}'.").startswith(f"at '{shown}")
    for secret in ("secret", "token@", "a%2Bb", "=pw", ":pw"):
        assert secret not in str(InputError(f"at '{text}'."))


def test_a_url_with_a_password_is_refused_without_it(tmp_path: Path) -> None:
    url = "s3://key:hunter2@bucket/e.parquet?X-Amz-Signature=f00d"
    with pytest.raises(InputError) as refused:
        read_events(url)
    assert "bucket/e.parquet" in str(refused.value)
    query = tmp_path / "q.cep"
    query.write_text("QUERY q RETURN COUNT(*) PATTERN A;")
    done = CliRunner().invoke(app, ["run", str(query), "--events", url, "--engine", "local"])
    for shown in (str(refused.value), done.output):
        assert "hunter2" not in shown
        assert "f00d" not in shown
