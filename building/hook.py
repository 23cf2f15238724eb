"""Hatchling's build hook: compiled modules are part of a wheel, or of a working copy.

A wheel's build reuses the C files and objects of an earlier build in the folder ELSINORE_SCRATCH,
if it is set: a working copy has them in build/scratch-compiled-TAG.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import compiling


class CompiledModules(BuildHookInterface[Any]):
    """Compile the modules that import `cython` where a wheel or an editable install is built."""

    folder = ""  # of what is compiled for a wheel

    def dependencies(self) -> list[str]:
        """Return what a build on this machine needs beyond pyproject.toml: perhaps a compiler."""
        return [] if compiling.find_compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; `version` is "editable" for a working copy."""
        if version == "editable":
            compiling.compile_working_copy(checked=False)
            return
        self.folder = tempfile.mkdtemp(prefix="elsinore-")
        compiled = Path(self.folder, "compiled")
        scratch = os.environ.get("ELSINORE_SCRATCH") or Path(self.folder, "scratch")
        compiling.compile_modules(compiled, Path(scratch), checked=False)
        for binary in compiled.rglob("*.*"):
            build_data["force_include"][str(binary)] = str(binary.relative_to(compiled))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the interface
        """Remove what was compiled for a wheel."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
