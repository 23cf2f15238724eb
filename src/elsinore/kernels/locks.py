"""Processes that want the same kernel at once: one compiles it, the others wait and load it.

One file in the folder carries all the locks: a kernel's is one byte of it, locked while it is being
compiled. The system lets go of a lock when its process ends, however it ends. Whatever goes wrong
here costs time, never an answer: who has waited for long compiles by itself.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: everybody compiles
    fcntl = None  # type: ignore[assignment]

LOCK_FILE = ".locks"
_POLL_SECONDS = 0.05


class Locks:
    """The locks of this process in one folder."""

    __slots__ = ("_file", "_process")

    def __init__(self, folder: Path) -> None:
        self._process = os.getpid()
        self._file = -1
        if fcntl is not None:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with suppress(OSError):
                self._file = os.open(folder / LOCK_FILE, flags, 0o600)

    def lock(self, key: str, seconds: float) -> None:
        """Lock a kernel's byte; wait so long for who has it, and then go on without."""
        end = time.monotonic() + seconds
        while not self._try(key) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)

    def release(self, key: str) -> None:
        """Let go of a kernel's byte."""
        if self._usable():
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(key))

    def _try(self, key: str) -> bool:
        """Return whether the byte is ours now, or never will be: where locks do not work."""
        if not self._usable():
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            self._file = -1
        return True

    def _usable(self) -> bool:
        return self._file >= 0 and self._process == os.getpid()  # a fork has no locks yet


def _byte(key: str) -> int:
    """Return the byte of a key in hexadecimal; two keys of one byte merely wait for each other."""
    return int(key[:7], 16)
