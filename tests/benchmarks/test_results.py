"""RESULTS.md and docs/evaluation.md are written by commands, section by section."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from benchmarks.measure import Row

from benchmarks import __main__ as command
from benchmarks import claims, evaluation, results

ROWS = [Row("a | b", "2 s", "at most 3 s", True), Row("c", "5 s", "at most 3 s", False)]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "RESULTS.md"
    file.write_text("# Results\n")
    monkeypatch.setattr(results, "RESULTS", file)
    monkeypatch.setattr(evaluation, "PAGE", tmp_path / "evaluation.md")
    (tmp_path / "evaluation.md").write_text("")
    return file


def test_a_section_names_its_command_date_and_machine(written: Path) -> None:
    section = results.section_of("Matches", "About.", "command", results.table_of(ROWS))
    results.write(section, ["Matches"])
    text = written.read_text()
    assert "\n## Matches\n\nAbout.\n\n    command\n\nMeasured on " in text
    assert "| c | 5 s | at most 3 s | no |" in text
    assert results.is_from_today(results.sections_in(text)["Matches"])


def test_sections_have_an_order_and_those_of_deleted_benchmarks_go(written: Path) -> None:
    written.write_text("# Results\n\n## Gone\n\nx\n\n## Matches\n\nold\n\n## Spark\n\ny\n")
    results.write(results.section_of("Matches", "new", "c", []), ["Spark", "Matches"])
    assert list(results.sections_in(written.read_text())) == ["Spark", "Matches"]
    assert "old" not in written.read_text()


def test_results_continue_with_what_is_missing_and_a_failure_stops_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SECTIONS", ("many", "graph", "stream"))
    results.write(results.section_of("Many", "a", "c", []), ["Many"])
    started = []

    def run(words: list[str], *, check: bool) -> CompletedProcess[str]:
        started.append(words[3:])
        return CompletedProcess(words, 1 if "graph" in words else 0)

    monkeypatch.setattr("subprocess.run", run)
    assert command.write_results((), quick=False) == 1
    assert started == [["graph", "--write"], ["stream", "--write", "--minutes", "5.0"]]
    started.clear()
    assert command.write_results(["many"], quick=True) == 0
    assert started == [["many", "--write", "--quick"]]


def test_parts_of_a_section_are_not_written(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["matches", "any", "--write"], ["results", "matches", "any"]):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
        with pytest.raises(SystemExit):
            command.main()
        assert "whole, so that it is of one run" in capsys.readouterr().err


def test_every_section_has_a_benchmark() -> None:
    for name in (*command.BENCHMARKS, *command.TABLES):
        module: Any = __import__(f"benchmarks.{name}", fromlist=["COMMAND"])
        assert module.COMMAND.startswith("python -m benchmarks")
        assert hasattr(module, "table" if name in command.TABLES else "main")
    assert {*claims.CLAIMS} <= {*command.FIGURES}


def test_a_claim_is_set_beside_the_figures_of_a_file(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "FIGURES", written.parent)
    page = "Text.\n<!-- measured: qre-fig6 -->\nold\n<!-- end -->\nMore.\n"
    assert "Not measured yet: `make results SECTIONS=qre-fig6`" in evaluation.filled(page, {})
    lines = ["query,system,M items/s", "Y1,Elsinore,10", "Y1,RxJava,4", "N1,Elsinore,9"]
    lines += ["N1,RxJava,1", "Y1,Flink,"]
    (written.parent / "qre-fig6.csv").write_text("\n".join(lines))
    title = command.TITLES["qre-fig6"]
    sections = {
        title: "## x\n\n    elsinore bench qre-fig6 --quick\n\nMeasured on 2026-11-28: m.\n"
    }
    filled = evaluation.filled(page, sections)
    assert (
        "| throughput over RxJava | 2 to 4 times | 2.5 to 9 times (2 points) | confirmed |"
        in filled
    )
    assert "| throughput over Flink | 10 to 140 times | no figure | - |" in filled
    assert "`elsinore bench qre-fig6 --quick`. Measured on 2026-11-28: m." in filled
    assert "old" not in filled
    assert evaluation.filled(filled, sections) == filled
    with pytest.raises(ValueError, match="no figure"):
        evaluation.filled(page.replace("qre-fig6", "qre-fig9"), {})


def test_the_page_has_a_place_for_each_figure_and_nothing_typed_in_it() -> None:
    page = evaluation.PAGE.read_text()
    for name in command.FIGURES:
        assert page.count(f"<!-- measured: {name} -->") == 1
    sections = results.sections_in(results.RESULTS.read_text())
    assert evaluation.filled(page, sections) == page


def test_systems_are_compared_at_the_points_that_both_have() -> None:
    keys = ("stream", "axis", "value")
    rows = [
        dict(zip((*keys, "system", "events/s", "latency, ms", "shared"), row, strict=True))
        for row in [
            ("s", "rate", "1", "Elsinore", "100", "2", "3 of 4"),
            ("s", "rate", "1", "always", "50", "6", ""),
            ("s", "rate", "1", "never", "80", "4", ""),
            ("s", "rate", "2", "Elsinore", "10", "1", "5 of 6"),
            ("s", "rate", "2", "GRETA", "", "", ""),
        ]
    ]
    of = {claim.about: claim.measure(rows) for claim in claims.CLAIMS["hamlet-fig12"]}
    assert of["throughput of dynamic decisions over the better static ones"] == [1.25]
    assert of["throughput over sharing always"] == [2.0]
    assert of["bursts that were shared"] == [80.0]
    assert claims.beside("latency, ms", "Elsinore", "always", keys, more=False)(rows) == [3.0]
    assert claims.beside("events/s", "Elsinore", "GRETA", keys, more=True)(rows) == []


def test_options_may_stand_between_names(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(command, "write_results", lambda *words: asked.append(words) or 0)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "results", "--quick", "many", "qre-fig5"])
    assert command.main() == 0
    assert asked == [(["many", "qre-fig5"], True)]


@pytest.mark.parametrize("name", command.SECTIONS)
def test_what_measures_a_section_can_be_imported(name: str) -> None:
    module = f"papers.{name.replace('-', '_')}" if name in evaluation.NAMES else name
    assert import_module(f"benchmarks.{module}")
