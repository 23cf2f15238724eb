"""The fuzzer of files reads damaged files, and reports outcomes except tables and InputError."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import files

SEED = 5


def test_damaged_files_give_a_table_or_an_input_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])  # where the processes find the package
    told: list[str] = []
    assert files.campaign(120, SEED, told.append) == 0, "\n".join(told)
    assert told[-1].startswith(f"files, seed {SEED}: 120 read (")


def test_a_case_is_drawn_again_by_its_number(tmp_path: Path) -> None:
    outcomes = [files.read_one(SEED, 7, tmp_path) for _ in range(2)]
    assert outcomes[0] == outcomes[1]


def test_an_error_that_does_not_name_the_file_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise files.InputError("something is wrong")

    monkeypatch.setattr(files, "read_events", refused)
    with pytest.raises(AssertionError, match="the file is not named"):
        files.read_one(SEED, 0, tmp_path)
