"""Modules that go with a workload are imported where they are named, and looked up by name."""

from pathlib import Path
from types import ModuleType

import pytest

import elsinore as el
from elsinore.errors import SetupError
from elsinore.language.modules import Modules, import_module_of

SOURCE = """
class Spread:
    def init(self):
        return 0.0

    def step(self, state, value):
        return max(state, value)

    def value(self, state):
        return state


class Other:
    trend = "found"
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "given_aggregates.py"
    path.write_text(SOURCE)
    return path


def test_a_file_is_a_module_by_its_stem(module: Path) -> None:
    modules = Modules.from_arguments([str(module)])
    assert modules.attribute("given_aggregates:Other.trend") == "found"
    assert list(modules.aggregates()) == ["Spread"]
    assert import_module_of(str(module)) is modules.by_name["given_aggregates"]


def test_a_module_may_be_given_itself() -> None:
    made = ModuleType("made")
    made.answer = 42
    assert Modules.from_arguments([made]).attribute("made:answer") == 42


def test_a_module_that_was_not_given_is_not_imported() -> None:
    with pytest.raises(el.QuerySemanticError, match="'antigravity' is not among"):
        Modules.from_arguments([]).attribute("antigravity:fly")


def test_an_attribute_that_is_missing_names_the_nearest(module: Path) -> None:
    with pytest.raises(el.QuerySemanticError, match="Did you mean 'Spread'"):
        Modules.from_arguments([str(module)]).attribute("given_aggregates:Spred")


def test_a_module_that_is_missing_is_told() -> None:
    with pytest.raises(SetupError, match="no module 'not_there_at_all'"):
        import_module_of("not_there_at_all")


def test_a_module_that_fails_tells_the_line(tmp_path: Path) -> None:
    path = tmp_path / "fails_on_import.py"
    path.write_text("x = 1\ny = x / 0\n")
    with pytest.raises(SetupError, match=r"line 2: ZeroDivisionError"):
        import_module_of(str(path))
