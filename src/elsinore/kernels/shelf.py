"""Where compiled kernels are kept: one file each, in a folder.

A file, once written, is right for ever, as its name tells all that its code is made from
(`content_key`), and nothing but files with such names is ever written. Nothing here knows the
compiler.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from elsinore.cache_folder import (
    UnusableError,
    check_folder,
    folder_path,
    make_private,
    read_file,
    write_file,
)

LOG = logging.getLogger("elsinore.kernels")
SUFFIX = ".kernel"
_UNUSED_DAYS = 90  # a file that nobody has read for so long is removed
_DAY = 24 * 60 * 60


@dataclass(slots=True)
class Shelf:
    """Where this process looks for compiled kernels, and what it did there.

    `compiled` and `loaded` list kernels.
    """

    compiled: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    swept: set[Path] = field(default_factory=set)

    def read(self, name: str) -> bytes | None:
        """Return what is kept under a name in the user's folder."""
        folder = self._folder()
        if folder is None or not folder.exists():
            return None
        try:
            kept = read_file(folder / name)
        except UnusableError as error:
            self.tell(f"A compiled kernel is not used, and is compiled anew: {error}.")
            return None
        if kept is not None:
            keep_used(folder / name)
        return kept

    def write(self, name: str, content: bytes) -> None:
        """Keep something under a name, where that is possible; else say once why not."""
        folder = self._folder()
        if folder is None:
            return
        try:
            make_private(folder)
            write_file(folder / name, content)
        except UnusableError as error:
            self._refuse(error)
            return
        if folder not in self.swept:
            self.swept.add(folder)
            remove_unused(folder)

    def _folder(self) -> Path | None:
        """Return the user's own folder; None, with a sentence, where it cannot be trusted."""
        try:
            folder = folder_path()
            if os.path.lexists(folder):
                check_folder(folder)
        except UnusableError as error:
            self._refuse(error)
            return None
        return folder

    def _refuse(self, error: UnusableError) -> None:
        self.tell(f"Compiled kernels are not kept, so each run compiles them: {error}.")

    def tell(self, sentence: str) -> None:
        """Say something on the screen, once in this process."""
        if sentence not in self.told:
            self.told.add(sentence)
            LOG.warning(sentence)


SHELF = Shelf()  # of this process: Numba has one compiler in each, too


def keep_used(path: Path) -> None:
    """Let a file's time say that it was read within the last days, where we may."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def remove_unused(folder: Path) -> None:
    """Remove compiled kernels that have not been written or read for long, and broken writes."""
    now = time.time()
    for pattern, days in ((f"*{SUFFIX}", _UNUSED_DAYS), (".new-*", 1)):
        for path in folder.glob(pattern):
            with suppress(OSError):
                if now - path.stat().st_mtime > days * _DAY:
                    path.unlink()
