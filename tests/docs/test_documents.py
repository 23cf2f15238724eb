"""What the documents show is what happens.

A block of Python followed by a block of text prints that text; blocks share their names. In a block
of console, the lines after each `$ elsinore ...` are what the command prints. Indented commands
run, except for benchmarks, which take minutes: these name figures and parts that exist.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.papers import parts_of
from benchmarks.papers.parts import check_parts
from typer.testing import CliRunner

from elsinore.cli.app import app
from elsinore.cli.bench import FIGURES

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    elsinore (?!bench)((?:.*\\\n)*.*)$", re.MULTILINE)
BENCHMARK = re.compile(r"^    elsinore bench (.*)$", re.MULTILINE)
EXAMPLES = {
    "trips": "ridesharing",
    "pools": "ridesharing",
    "abc": "abc",
    "ridesharing/introduction": "ridesharing",
    "cluster/monitoring": "cluster",
}


PAGES = [
    page.relative_to(ROOT).as_posix()
    for folder in (".", "docs", "examples", "examples/*")
    for page in sorted(ROOT.glob(f"{folder}/*.md"))
]


def blocks(document: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))


def pages_with(kind: str) -> list[str]:
    return [page for page in PAGES if kind in dict(blocks(page))]


@pytest.fixture
def beside_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("beside_the_examples", "spark")
@pytest.mark.parametrize("document", pages_with("python"))
def test_python_in_documents_prints_what_they_say(document: str) -> None:
    found = blocks(document)
    names: dict[str, Any] = {}
    compared = 0
    for (kind, code), (next_kind, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, document, "exec"), names)
        if next_kind == "text":
            assert printed.getvalue() == expected
            compared += 1
    assert compared


@pytest.mark.usefixtures("beside_the_examples", "spark")
@pytest.mark.parametrize("document", pages_with("console"))
def test_commands_in_documents_print_what_they_say(document: str) -> None:
    consoles = [text for kind, text in blocks(document) if kind == "console"]
    assert consoles
    for text in consoles:
        for part in text.split("$ elsinore ")[1:]:
            command, _, expected = part.partition("\n")
            done = CliRunner().invoke(app, shlex.split(command))
            assert (done.exit_code, done.output) == (0, expected), command


@pytest.mark.usefixtures("beside_the_examples", "spark")
@pytest.mark.parametrize(
    "document", [page for page in PAGES if COMMAND.search((ROOT / page).read_text("utf-8"))]
)
def test_commands_that_are_set_in_run(document: str) -> None:
    made = ["generate", "ridesharing", "--events", "2000", "--out", "trips.parquet"]
    assert CliRunner().invoke(app, made).exit_code == 0
    Path("trips.cep").symlink_to("examples/trips.cep")
    for command in COMMAND.findall((ROOT / document).read_text(encoding="utf-8")):
        few = command.replace("100000", "20000").replace("\\\n", " ")
        words = shlex.split(few, comments=True)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (command, done.output)


@pytest.mark.parametrize(
    "words",
    [
        shlex.split(command)
        for page in PAGES
        for command in BENCHMARK.findall((ROOT / page).read_text(encoding="utf-8"))
    ],
    ids=" ".join,
)
def test_commands_that_measure_name_figures_and_their_parts(words: list[str]) -> None:
    assert words[0] in FIGURES
    only = [part for option, part in pairwise(words) if option == "--only"]
    check_parts(parts_of(words[0]), only)


@pytest.mark.parametrize("document", PAGES)
def test_links_in_documents_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


@pytest.mark.usefixtures("beside_the_examples")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_give_results_and_no_warnings(name: str) -> None:
    stream = EXAMPLES[name]
    made = CliRunner().invoke(app, ["generate", stream, "--events", "20000", "--out", "e.parquet"])
    assert made.exit_code == 0
    run = ["run", f"examples/{name}.cep", "--events", "e.parquet", "--engine", "local"]
    done = CliRunner().invoke(app, run)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "0 rows\n" not in [line + "\n" for line in done.stdout.splitlines()]


def test_every_example_is_tried() -> None:
    examples = ROOT / "examples"
    found = {
        path.relative_to(examples).with_suffix("").as_posix()
        for path in examples.rglob("*.cep")
        if "rules" not in path.parts  # which have tests of their own
    }
    assert found == set(EXAMPLES)
