"""`elsinore compile` fills the folder of compiled kernels ahead."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elsinore.cli.app import app
from elsinore.kernels import FOLDER_VARIABLE, folder_path
from elsinore.matches import kind
from elsinore.operators.registry import MODULES, kind_in
from elsinore.workload import Workload


def test_what_was_compiled_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "REHEARSALS", kind.REHEARSALS[:1])
    done = CliRunner().invoke(app, ["compile"])
    assert done.exit_code == 0
    told = r"\d+ kernels compiled, \d+ there already, in \d+ s: " + re.escape(str(folder_path()))
    assert re.fullmatch(told, done.stdout.strip())


def test_without_a_folder_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    done = CliRunner().invoke(app, ["compile"])
    assert done.exit_code == 2
    assert "no folder for compiled kernels" in done.stderr


@pytest.mark.parametrize("module", MODULES)
def test_the_queries_of_each_rehearsal_can_be_planned(module: str) -> None:
    for rehearsal in kind_in(module).rehearsals():
        workload = Workload.parse(rehearsal.queries)
        assert {unit.kind for unit in workload.plan.units} == {module}
