"""The grammar's tables, kept in the cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import elsinore as el
from elsinore.cache_folder import FOLDER_VARIABLE
from elsinore.language import grammar as module
from elsinore.language.clauses import recipe_for
from elsinore.language.grammar import grammar
from elsinore.language.statements import _clause_ranges

TEXT = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x < 3 WITHIN 10 minutes"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, and nothing kept in memory before or after."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    forget()


def forget() -> None:
    grammar.cache_clear()
    recipe_for.cache_clear()
    _clause_ranges.cache_clear()


def kept(folder: Path) -> list[Path]:
    return list(folder.glob("grammar-*.lark"))


def test_tables_are_loaded_where_they_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = el.Workload.parse(TEXT)
    assert len(kept(folder)) == 1
    forget()
    monkeypatch.setattr(module.Lark, "__init__", lambda *_, **__: pytest.fail("made anew"))
    assert el.Workload.parse(TEXT) == made


def test_damaged_tables_are_made_anew(folder: Path) -> None:
    made = el.Workload.parse(TEXT)
    (path,) = kept(folder)
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"x" + whole[1:]):
        path.write_bytes(content)
        forget()
        assert el.Workload.parse(TEXT) == made
        assert path.read_bytes() not in {b"", content}


@pytest.mark.skipif(os.name == "nt", reason="other rights")
def test_tables_that_others_can_write_are_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    el.Workload.parse(TEXT)
    (path,) = kept(folder)
    path.chmod(0o666)
    forget()
    monkeypatch.setattr(module.Lark, "load", lambda *_: pytest.fail("read"))
    el.Workload.parse(TEXT)


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "cache"))
    forget()
    assert el.Workload.parse(TEXT)
    forget()
