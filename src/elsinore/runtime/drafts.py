"""Writing beside a place and renaming: what bears a result's name is complete, or is not there."""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import platform
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elsinore.errors import OutputError
from elsinore.runtime.destinations import LONGEST_NAME, refuse_foreign_folder

# Bytes of a name that a draft's name can contain: beside it stand a machine (12) and two numbers of
# up to 64 bits (20 each), a role (4) and dots (5).
LONGEST_PREFIX = LONGEST_NAME - 61


@contextmanager
def draft(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Lend a place beside `path` for a file or a folder; it is given that name when the block ends.

    The folder of `path` is made if need be. Where the block raises, what it wrote is removed and
    `path` stays what it was. With `overwrite` what is at `path` is replaced; a link is replaced,
    not what it points to. The content is on disk before it gets its name. What a process left here
    that was killed while it wrote is removed, where that surely is dead: one of this machine, of
    which nothing runs any more.

    Raises OutputError where `path` exists without `overwrite`, where it is a folder that holds
    anything but parts of a data set, and where the place cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "q.csv"
    >>> with draft(path) as place:
    ...     _ = place.write_text("trends")
    >>> path.read_text()
    'trends'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _clear_up(path) and not overwrite:
            raise OutputError(
                f"'{path}' exists: a run that was killed had set it aside, and it is back."
            )
        place = _beside(path, "part")
        _remove(place)
        try:
            yield place
            _sync(place)
            _put_in_place(place, path, overwrite=overwrite)
            sync_entries(path.parent)
        finally:
            _remove(place)
    except OSError as error:
        raise OutputError(f"Cannot write '{path}': {error.strerror or error}.") from error


def _beside(path: Path, role: str) -> Path:
    """Return where this thread writes (part) or sets aside (old) what is to be at `path`."""
    writer = f"{os.getpid()}.{threading.get_native_id()}"
    return path.with_name(f"{_prefix(path)}{writer}.{role}")


def _prefix(path: Path) -> str:
    """Return the beginning of the names of all drafts of `path` by processes of this machine.

    It contains the name of `path`, or a digest of a name that leaves no room for the rest.
    """
    name = path.name
    if len(os.fsencode(name)) > LONGEST_PREFIX:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.{_machine()}."


@functools.cache
def _machine() -> str:
    """Return what tells apart where numbers of processes mean the same: machine, boot, container.

    >>> len(_machine())
    12
    """
    marks = [platform.node()]
    with suppress(OSError):  # a system without them
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        marks.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:12]


def _clear_up(path: Path) -> bool:
    """Remove drafts of `path` by dead processes of this machine; put back what one set aside.

    Return whether something was put back.
    """
    put_back = False
    prefix = _prefix(path)
    for left in path.parent.glob(f"{glob.escape(prefix)}*"):
        writer = left.name.removeprefix(prefix).split(".")
        process, role = writer[0], writer[-1]
        if not process.isdecimal() or role not in {"part", "old"} or _lives(int(process)):
            continue
        if role == "old" and not os.path.lexists(path):  # it died between two renames
            os.rename(left, path)
            put_back = True
        else:
            _remove(left)
    return put_back


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        return True
    return True


def _put_in_place(place: Path, path: Path, *, overwrite: bool) -> None:
    if not overwrite:
        _rename_to_nothing(place, path)
        return
    refuse_foreign_folder(path)
    folders = [candidate.is_dir() and not candidate.is_symlink() for candidate in (place, path)]
    if not any(folders) or not os.path.lexists(path):
        os.replace(place, path)
        return
    # A folder cannot be replaced in one step: it stands aside until the new one has its name.
    aside = _beside(path, "old")
    os.rename(path, aside)
    try:
        os.rename(place, path)
    except OSError:
        os.rename(aside, path)
        raise
    _remove(aside)


def _rename_to_nothing(place: Path, path: Path) -> None:
    """Give a draft its name, where nothing has that name."""
    exists = OutputError(f"'{path}' exists already: it was made while this run went on.")
    if place.is_file():
        try:
            os.link(place, path)  # unlike renaming, this never replaces anything
        except FileExistsError:
            raise exists from None
        except OSError:  # a file system without hard links
            pass
        else:
            return
    if os.path.lexists(path):
        raise exists
    os.rename(place, path)


def _sync(place: Path) -> None:
    """Have a file, or all files of a folder and its entries, reach the disk before it is renamed.

    Otherwise a machine that loses power may have the new name and not the content.
    """
    for path in [place, *place.rglob("*")] if place.is_dir() else [place]:
        if path.is_dir():
            sync_entries(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())


def sync_entries(folder: Path) -> None:
    """Have the names in a folder reach the disk, where the system can do that."""
    with suppress(OSError):  # Windows opens no folders, and some file systems sync none
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
