"""The cache folder of the grammar's tables, and its permissions.

Whoever can write the tables decides how queries are read. The folder is therefore created for its
user alone; one that others can write to, or that belongs to somebody else, is not used. One of the
machine's administrator (root) that others cannot write to is read: images are made so.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER_VARIABLE = "ELSINORE_CACHE_DIR"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnusableError(Exception):
    """A folder or file that must not be read or written; the message has the reason."""


def folder_path() -> Path:
    """Return the cache folder: ELSINORE_CACHE_DIR, or elsinore in the user's cache folder.

    The user's is ~/.cache/elsinore (or below XDG_CACHE_HOME), ~/Library/Caches/elsinore on macOS.
    Raises UnusableError where there is none.
    """
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    usual = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    try:
        home = Path(base) if os.path.isabs(base) else Path(usual).expanduser()
    except RuntimeError as error:
        raise UnusableError(f"the user has no home; name a folder in {FOLDER_VARIABLE}") from error
    return home / "elsinore"


def make_private(folder: Path) -> None:
    """Create a folder that only its user can access. Raises UnusableError if that fails.

    A folder that is there stays as it is.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    except OSError as error:
        raise UnusableError(f"{folder} cannot be made ({_reason(error)})") from error


def check_folder(folder: Path) -> None:
    """Raise UnusableError if others than the user or the administrator can write a folder."""
    try:
        status = folder.stat()
    except OSError as error:
        raise UnusableError(f"{folder} cannot be read ({_reason(error)})") from error
    if not stat.S_ISDIR(status.st_mode):
        raise UnusableError(f"{folder} is no folder")
    _check(status, folder, "go-w")


def read_file(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist.

    Raises UnusableError where somebody else could have written it, or it cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnusableError(f"{path} cannot be read ({_reason(error)})") from error
    with os.fdopen(handle, "rb") as file:
        _check(os.fstat(handle), path, "go-w")
        try:
            return file.read()
        except OSError as error:
            raise UnusableError(f"{path} cannot be read ({_reason(error)})") from error


def write_file(path: Path, content: bytes) -> None:
    """Write a file for its user alone, at once: others read it whole or not at all.

    Raises UnusableError where it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)  # of mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(handle)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise UnusableError(f"{path.parent} cannot be written ({_reason(error)})") from error


def _check(status: os.stat_result, path: Path, remedy: str) -> None:
    if not hasattr(os, "geteuid"):
        return  # Windows keeps a user's folders by other means
    if status.st_uid not in {os.geteuid(), 0}:
        raise UnusableError(f"{path} belongs to another user")
    if status.st_mode & _OTHERS_WRITE:
        raise UnusableError(f"{path} can be written by other users (chmod {remedy} mends that)")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
