"""What a job needs is noted, and packed for other processes."""

from pathlib import Path

import numpy as np
import pytest

from elsinore.kernels import FOLDER_VARIABLE, kernel
from elsinore.kernels import needed as needed_module
from elsinore.kernels.needed import NOTE, needed_kernels, pack_kernels, read_packed
from elsinore.kernels.slots import count_free


def test_a_job_is_rehearsed_once_until_a_kernel_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kernels"))
    monkeypatch.setattr(needed_module.SHELF, "files", set())
    rehearsed = []

    def rehearse() -> None:
        rehearsed.append(True)
        kernel(count_free.py_func)(np.array([1, 2]), 0)  # type: ignore[attr-defined]

    first = needed_kernels(["a job"], rehearse)
    assert [name.partition("-")[0] for name in first] == ["elsinore.kernels.slots.count_free"]
    assert needed_kernels(["a job"], rehearse) == first
    assert len(rehearsed) == 1
    needed_kernels(["another job"], rehearse)
    assert len(rehearsed) == 2
    assert len(list((tmp_path / "kernels").glob(f"*{NOTE}"))) == 2
    (tmp_path / "kernels" / next(iter(first))).unlink()
    assert needed_kernels(["a job"], rehearse).keys() == first.keys()
    assert len(rehearsed) == 3


def test_what_is_packed_is_read_and_never_written_twice(tmp_path: Path) -> None:
    path = pack_kernels({"a": b"1", "b": b"2"}, tmp_path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert pack_kernels({"b": b"2", "a": b"1"}, tmp_path) == path
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    pack_kernels({"c": b"3"}, tmp_path)
    (tmp_path / "elsinore-kernels-broken.zip").write_bytes(b"no archive")
    assert [read_packed(tmp_path, name) for name in "abcd"] == [b"1", b"2", b"3", None]
