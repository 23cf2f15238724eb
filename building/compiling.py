"""Compile the modules of src/elsinore that import `cython`.

A compiled module is an ordinary Python file in Cython's pure Python mode; its line `import cython`
is what marks it. `python building/compiling.py` compiles what changed in a working copy into
build/compiled-TAG; with ELSINORE_BOUNDSCHECK=1, with checks of array bounds into build/checked-TAG.
`elsinore.compiled_modules` runs this where it imports a module that changed since.

A C compiler is taken from CC or PATH; without one, Zig's (the package `ziglang`).
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from declarations import write_sources

if TYPE_CHECKING:
    from setuptools import Extension

try:
    import fcntl
except ImportError:  # Windows: nobody waits for another process
    fcntl = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "elsinore")
SHARED = "elsinore._shared"  # Cython's code for memoryviews, compiled once for all modules
MARK = re.compile(rb"^import cython$", re.MULTILINE)
CHECKS = "ELSINORE_BOUNDSCHECK"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
STAMP = "stamp"  # a file as old as the sources that were compiled last
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "autotestdict": False,  # doctest finds the examples of compiled functions by itself
}
# Processes that translate all modules to C at first. Later, few have changed, and Cython reports an
# error once, without the traceback of a process.
TRANSLATORS = (os.cpu_count() or 1) if sys.platform == "linux" else 0
CHECKING = DIRECTIVES | {"boundscheck": True, "initializedcheck": True}
# Portable: for any processor of the platform. a*b + c is rounded twice on each of them. Nobody
# reads the flags of floating-point errors, which would forbid to compute several lanes at once.
UNIX_FLAGS = ["-O3", "-g0", "-w", "-ffp-contract=off", "-fno-trapping-math"]
# PyArrow needs SSE 4.2 as well; it makes loops over whole numbers twice as fast.
X86_FLAGS = ["-msse4.2"] if platform.machine().lower() in {"x86_64", "amd64"} else []
# Zig compiles for the processor of this machine unless it is told another.
ZIG_FLAGS = ["-mcpu=x86_64_v2"] if X86_FLAGS else ["-mcpu=baseline"]
MSVC_FLAGS = ["/O2", "/fp:precise"]
REMEDY = (
    "Elsinore's compiled modules cannot be built: {reason}.\n"
    "Install a C compiler (Debian: apt-get install gcc; macOS: xcode-select --install; Windows: "
    "Microsoft C++ Build Tools) or, on Linux, Zig's (pip install ziglang); and Python's headers "
    "(Debian: apt-get install python3-dev)."
)


class CompilingError(Exception):
    """The compiled modules cannot be built; the text says what to install."""


def main() -> None:
    """Compile what changed in this working copy."""
    try:
        compile_working_copy(checked=os.environ.get(CHECKS) == "1")
    except CompilingError as error:
        sys.exit(str(error))


def compile_working_copy(*, checked: bool) -> None:
    """Compile what changed, unless another process does; then wait for it."""
    tag = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
    kind = "checked" if checked else "compiled"
    folder, scratch = (ROOT / "build" / f"{name}-{tag}" for name in (kind, f"scratch-{kind}"))
    with _locked(ROOT / "build" / f".lock-{kind}"):
        if _is_current(folder):
            return
        started = time.time()
        compile_modules(folder, scratch, checked=checked)
        (folder / STAMP).touch()
        os.utime(folder / STAMP, (started, started))


def compile_modules(folder: Path, scratch: Path, *, checked: bool) -> None:
    """Compile all modules into `folder`, reusing what `scratch` has of unchanged ones."""
    before = Path.cwd(), dict(os.environ)
    try:
        flags = _prepare_compiler()
        folder.mkdir(parents=True, exist_ok=True)
        copies = scratch / "sources"
        write_sources(ROOT, [_module_name(path) for path in sources()], copies)
        os.chdir(copies)  # C files name sources by their paths from here, which are those from ROOT
        _compile(_extensions(scratch, flags, checked=checked), scratch)
        for binary in (scratch / "lib").rglob(f"*{SUFFIX}"):
            _replace(binary, folder / binary.relative_to(scratch / "lib"))
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])


def sources() -> list[Path]:
    """Return the compiled modules, as paths from the root."""
    found = (path.relative_to(ROOT) for path in (ROOT / PACKAGE).rglob("*.py"))
    return sorted(path for path in found if MARK.search((ROOT / path).read_bytes()))


def _module_name(path: Path) -> str:
    """Return the name of the module whose path from the root is given."""
    return ".".join(path.with_suffix("").parts[1:])


def find_compiler() -> str | None:
    """Return the command of the C compiler on this machine, or None.

    It is that of CC, the one that Python was built with, or another one on PATH.
    """
    if os.environ.get("CC"):
        return os.environ["CC"]
    if sys.platform == "win32":
        return "cl"  # setuptools finds it, though it is not on PATH
    usual = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return next((name for name in (usual, "cc", "gcc", "clang") if shutil.which(name)), None)


def _prepare_compiler() -> list[str]:
    """Set the environment that setuptools takes the compiler from; return flags for it."""
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise CompilingError(REMEDY.format(reason="this Python has no headers (Python.h)"))
    if sys.platform == "win32":
        return MSVC_FLAGS
    compiler = find_compiler()
    users = shlex.split(os.environ.get("CFLAGS", ""))  # last, so that they win
    flags = [*UNIX_FLAGS, *X86_FLAGS, *users]
    if compiler is None:
        if importlib.util.find_spec("ziglang") is None:
            raise CompilingError(REMEDY.format(reason="there is no C compiler"))
        compiler = f"{sys.executable} -m ziglang cc"
        flags = [*UNIX_FLAGS, *ZIG_FLAGS, *users]
    usual = (sysconfig.get_config_var("CC") or "").split()
    if "CC" not in os.environ and compiler not in usual[:1]:
        os.environ["CC"] = compiler
        shared = "-bundle -undefined dynamic_lookup" if sys.platform == "darwin" else "-shared"
        os.environ["LDSHARED"] = f"{compiler} {shared}"
    return flags


def _extensions(scratch: Path, flags: list[str], *, checked: bool) -> list[Extension]:
    """Translate the modules to C, and return what setuptools is to compile."""
    try:
        from Cython import __version__ as version  # noqa: PLC0415 - only where something changed
        from Cython.Build import cythonize  # noqa: PLC0415
        from Cython.Compiler.Errors import CompileError  # noqa: PLC0415
        from setuptools import Extension  # noqa: PLC0415
    except ImportError as error:
        text = f"{error}. Install them: pip install 'cython>=3.2' 'setuptools>=80'"
        raise CompilingError(text) from error

    written = scratch / f"cython-{version}"  # the C files
    shared = written / "_shared.c"
    is_first = not shared.exists()
    if is_first:
        written.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", f"--generate-shared={shared}"]
        subprocess.run(command, check=True)
    modules = [
        Extension(_module_name(path), [str(path)], extra_compile_args=flags) for path in sources()
    ]
    try:
        translated: list[Extension] = cythonize(
            modules,
            build_dir=str(written),
            include_path=["src"],
            compiler_directives=CHECKING if checked else DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            quiet=True,
            nthreads=TRANSLATORS if is_first else 0,
        )
    except CompileError as error:  # Cython wrote what is wrong, and where
        raise CompilingError(f"Cython cannot compile {error}") from error
    quick = ["-O2" if flag == "-O3" else flag for flag in flags]  # takes half the time
    return [*translated, Extension(SHARED, [str(shared)], extra_compile_args=quick)]


def _compile(extensions: list[Extension], scratch: Path) -> None:
    """Compile C files that are newer than their binaries, as many at once as there are cores."""
    from setuptools import Distribution  # noqa: PLC0415 - only where something changed
    from setuptools.errors import BaseError, CCompilerError  # noqa: PLC0415

    command: Any = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib = str(scratch / "lib")
    command.build_temp = str(scratch / "objects")
    command.parallel = os.cpu_count()
    try:
        command.ensure_finalized()
        command.run()
    except (BaseError, CCompilerError, OSError) as error:
        raise CompilingError(REMEDY.format(reason=error)) from error


def _replace(binary: Path, target: Path) -> None:
    """Copy a binary that changed at once: other processes may have the old one in memory."""
    if target.exists() and target.stat().st_mtime_ns == binary.stat().st_mtime_ns:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(target.name + ".new")
    shutil.copy2(binary, new)
    new.replace(target)


def _is_current(folder: Path) -> bool:
    """Return whether nothing changed since the modules in `folder` were compiled."""
    stamp = folder / STAMP
    if not stamp.exists():
        return False
    modules = sources()
    binaries = [folder.joinpath(*path.parts[1:]).with_suffix("") for path in modules]
    inputs = [*map(ROOT.joinpath, modules), *(ROOT / PACKAGE).rglob("*.pxd")]
    inputs += Path(__file__).parent.glob("*.py")
    return all(path.with_name(path.name + SUFFIX).exists() for path in binaries) and all(
        path.stat().st_mtime <= stamp.stat().st_mtime for path in inputs
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time compile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
