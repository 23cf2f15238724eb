"""Loading modules that import `cython` other than from a wheel's binaries.

In a working copy, they are compiled into its folder `build`, and compiled again when they are
imported after a change. With ELSINORE_BOUNDSCHECK=1 in the environment, that is done with checks of
array bounds. With ELSINORE_PURE=1 they are plain Python, for a debugger; this needs Cython to be
installed, of which binaries need nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

PURE, CHECKS = "ELSINORE_PURE", "ELSINORE_BOUNDSCHECK"
SHARED = "elsinore._shared"  # Cython's code for memoryviews, compiled once for all modules
MARK = b"\nimport cython\n"
PACKAGE = Path(__file__).parent
ROOT = PACKAGE.parent.parent
COMPILING = ROOT / "building" / "compiling.py"  # in a working copy


def install() -> None:
    """Install the importer of modules as the environment requests; once per process."""
    is_pure = os.environ.get(PURE) == "1"
    if is_pure and find_spec("cython") is None:
        raise ImportError(f"{PURE}=1 needs Cython, which is not installed: pip install cython")
    if is_pure or COMPILING.exists():
        sys.meta_path.insert(0, ModuleFinder(is_pure=is_pure))
    if os.environ.get(CHECKS) == "1":
        sys.unraisablehook = _end_process


def _end_process(error: sys.UnraisableHookArgs) -> None:
    """End the process: a compiled function that cannot raise has met an error."""
    traceback.print_exception(error.exc_value)
    os._exit(1)


class ModuleFinder:
    """Find the modules of this package that import `cython`."""

    def __init__(self, *, is_pure: bool) -> None:
        self.is_pure = is_pure
        kind = "checked" if os.environ.get(CHECKS) == "1" else "compiled"
        tag = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
        self.folder = ROOT / "build" / f"{kind}-{tag}"

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a compiled module; None for modules that are not compiled."""
        if path is None or not name.startswith("elsinore."):
            return None
        source = Path(path[0], name.rpartition(".")[2] + ".py")
        if name != SHARED and not is_compiled_source(source):
            return None
        if self.is_pure:
            return spec_from_file_location(name, source)
        binary = self.folder / (name.replace(".", "/") + sysconfig.get_config_var("EXT_SUFFIX"))
        if name != SHARED and self._is_stale(binary):
            compile_changed()
        return spec_from_file_location(name, binary, loader=ExtensionFileLoader(name, str(binary)))

    def _is_stale(self, binary: Path) -> bool:
        """Return whether a compiled module changed since this one was compiled."""
        try:
            compiled = (self.folder / "stamp").stat().st_mtime
            return not binary.exists() or _last_change() > compiled
        except FileNotFoundError:
            return True


def is_compiled_source(path: Path) -> bool:
    """Return whether a file is a module that is to be compiled."""
    try:
        return MARK in path.read_bytes()
    except OSError:
        return False


def compiled_sources() -> Iterator[tuple[str, Path]]:
    """Yield the names and files of all modules that are to be compiled."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if is_compiled_source(path):
            yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts), path


def compile_changed() -> None:
    """Compile changed modules; raises ImportError that names missing tools."""
    print("Compiling Elsinore's modules ...", file=sys.stderr, flush=True)
    command = [sys.executable, str(COMPILING)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ImportError(done.stderr.strip())


@cache
def _last_change() -> float:
    """Return when a compiled module, what they share, or how they are compiled changed last.

    Of functions that modules share, the declaration is part of a module: if one is compiled again,
    so are those that call its functions.
    """
    modules = [path for _, path in compiled_sources()]
    building = COMPILING.parent.glob("*.py")
    return max(path.stat().st_mtime for path in (*building, *modules, *PACKAGE.rglob("*.pxd")))
