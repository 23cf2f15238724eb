"""`elsinore bench` lists figures of papers, measures one, and replaces no file unasked."""

from pathlib import Path

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
