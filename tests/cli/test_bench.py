"""`elsinore bench` lists figures of papers, measures one, and replaces no file unasked."""

from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from elsinore.cli.app import app


def test_all_figures_are_listed_without_a_name() -> None:
    done = CliRunner().invoke(app, ["bench"])
    assert done.exit_code == 0, done.stderr
    assert "qre-fig6" in done.stdout
    assert "qre-table1" in done.stdout


def test_outside_of_a_checkout_figures_are_listed_and_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elsinore.cli.bench.CHECKOUT", tmp_path)
    done = CliRunner().invoke(app, ["bench"])
    assert done.exit_code == 0
    assert "sase-fig7" in done.stdout
    assert "clone it" in done.stderr
    done = CliRunner().invoke(app, ["bench", "sase-fig7"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "clone it" in done.stderr


def test_an_unknown_figure_is_named_with_the_nearest() -> None:
    done = CliRunner().invoke(app, ["bench", "qre-fig7"])
    assert done.exit_code == 2
    assert "no figure 'qre-fig7'" in done.stderr
    assert "Did you mean 'qre-fig6'?" in done.stderr


def test_files_that_exist_are_not_replaced_unasked(tmp_path: Path) -> None:
    kept = tmp_path / "qre-fig6.csv"
    kept.write_text("mine")
    done = CliRunner().invoke(app, ["bench", "qre-fig6", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "--overwrite" in done.stderr
    assert kept.read_text() == "mine"


def test_a_figure_is_a_table_remarks_and_a_picture(tmp_path: Path) -> None:
    CliRunner().invoke(app, ["bench"])  # puts the checkout on the path
    from benchmarks.papers import figure

    made = figure.Figure(
        title="Speeds",
        table=pa.table({"system": ["Elsinore"], "M items/s": [12.5]}),
        remarks=["The paper: faster."],
        draw=lambda picture: picture.subplots().bar([0], [12.5]),
    )
    files = [tmp_path / f"x{ending}" for ending in (".csv", ".png", ".svg")]
    figure.write(made, files)
    assert files[0].read_text().splitlines() == ['"system","M items/s"', '"Elsinore",12.5']
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[2].read_text()


def test_p6_and_p7_of_table_1_are_measured_within_eps() -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import qre_table1

    row = qre_table1.median_row(60)
    assert 0 <= row["error"] <= 0.01
    assert row["exact KB"] > 0
    assert qre_table1.shown(row)["paper KB"] == 1458


def test_what_passes_its_time_budget_is_ended_and_says_so() -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import sase

    assert sase.limited(lambda: 6 * 7, 60).value == 42
    assert sase.limited(Event().wait, 0.05) == sase.Refused("over budget")


def test_a_point_over_budget_is_a_cross_and_has_no_value(tmp_path: Path) -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import figure, sase

    rows = [
        {"panel": "a", "system": "SASE+", "W": 10, "events/s": 5e5},
        {"panel": "a", "system": "SASE+", "W": 20, "events/s": None},
    ]
    panels = [sase.Panel(name="a", title="Vary W", x="W", y="events/s")]
    made = figure.Figure(
        title="Speeds",
        table=pa.Table.from_pylist(rows),
        remarks=[],
        draw=lambda picture: sase.draw(picture, panels, rows, across=2),
    )
    files = [tmp_path / f"x{ending}" for ending in (".csv", ".png", ".svg")]
    figure.write(made, files)
    assert files[0].read_text().splitlines()[2] == '"a","SASE+",20,'
    assert "<!-- Vary W -->" in files[2].read_text()


def test_all_systems_of_figure_5_find_the_same_matches() -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import sase, sase_fig5

    table = sase.stream(300, {"A": 0.1, "B": 0.3, "C": 0.1})
    for where in (sase_fig5.TRUE, sase_fig5.FALSE):
        found = {}
        for system in sase_fig5.SYSTEMS:
            run = sase_fig5.runner(system, where.format(x=0.1), 20, table)
            found[system] = run if isinstance(run, sase.Refused) else sase.Spent(run(), 0.1)
        rows = sase_fig5._rows("θ, true", 20, table.num_rows, found)
        assert [row["system"] for row in rows] == list(sase_fig5.SYSTEMS)
        assert rows[0]["runs"] > rows[2]["runs"] > 0
        other = {**found, "SASE+": sase.Spent(found["Elsinore"].value | {"sums": [0]}, 0.1)}
        with pytest.raises(AssertionError, match="other matches"):
            sase_fig5._rows("θ, true", 20, table.num_rows, other)


def test_confidences_are_compared_with_worlds_one_by_one() -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import sase_fig6

    found = sase_fig6.naive(sase_fig6.uncertain(800), 15)()
    assert found["matches"] > 5


def test_the_automaton_of_xseqs_kind_finds_the_same_matches() -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import sase, sase_fig6

    table = sase.stream(60, {f"A{n}": 0.25 for n in (1, 2, 3)})
    found = sase_fig6.by_automaton("sequences", 3, sase_fig6.sequence(3), table)()
    assert found["matches"] > 5
    table = sase.stream(40, {"A": 0.1, "B": 0.4, "C": 0.1})
    found = sase_fig6.by_automaton("Kleene", 20, sase_fig6.kleene(20), table)()
    assert found["matches"] > 5


def test_the_case_study_has_six_queries() -> None:
    CliRunner().invoke(app, ["bench"])
    from benchmarks.papers import sase_fig7

    assert list(sase_fig7.queries()) == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
