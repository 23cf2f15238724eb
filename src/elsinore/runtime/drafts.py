"""Writing results atomically: to a draft beside the destination, which is then renamed."""

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

# Bytes of a file's name that its draft's name can contain: the rest are an identifier of the
# machine (12), two numbers of up to 64 bits (20 each), a role (4) and dots (5).
LONGEST_PREFIX = LONGEST_NAME - 61


@contextmanager
def draft(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write a file or a folder to; rename it when the block ends.

    The folder of `path` is created if it is missing. If the block raises, the draft is removed and
    `path` is unchanged. With `overwrite` an existing file at `path` is replaced; a link is
    replaced, not its target. The content is synchronized to disk before it is renamed. Drafts of
    processes of this machine that have been killed are removed.

    Raises OutputError if `path` exists without `overwrite`, if it is a folder with other files than
    the parts of a data set, and if it cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "q.csv"
    >>> with draft(path) as place:
    ...     _ = place.write_text("trends")
    >>> path.read_text()
    'trends'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _remove_stale_drafts(path) and not overwrite:
            raise OutputError(
                f"'{path}' exists: it was restored after a run that was killed while replacing it."
            )
        place = _draft_path(path, "part")
        _remove(place)
        try:
            yield place
            _sync(place)
            _move_to_destination(place, path, overwrite=overwrite)
            sync_entries(path.parent)
        finally:
            _remove(place)
    except OSError as error:
        raise OutputError(f"Cannot write '{path}': {error.strerror or error}.") from error


def _draft_path(path: Path, role: str) -> Path:
    """Return the path of this thread's draft (part) of `path`, or of its backup (old)."""
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
    """Return an identifier of the machine, boot and container, within which process ids are unique.

    >>> len(_machine())
    12
    """
    marks = [platform.node()]
    with suppress(OSError):  # systems without these files
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        marks.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:12]


def _remove_stale_drafts(path: Path) -> bool:
    """Remove drafts of `path` by dead processes of this machine; restore a backup that one left.

    Return whether a backup was restored.
    """
    put_back = False
    prefix = _prefix(path)
    for draft_path in path.parent.glob(f"{glob.escape(prefix)}*"):
        writer = draft_path.name.removeprefix(prefix).split(".")
        process, role = writer[0], writer[-1]
        if not process.isdecimal() or role not in {"part", "old"} or _is_running(int(process)):
            continue
        if role == "old" and not os.path.lexists(path):  # the process died between two renames
            os.rename(draft_path, path)
            put_back = True
        else:
            _remove(draft_path)
    return put_back


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        return True
    return True


def _move_to_destination(place: Path, path: Path, *, overwrite: bool) -> None:
    """Rename a draft to its destination, replacing an existing one if allowed."""
    if not overwrite:
        _rename_to_nothing(place, path)
        return
    refuse_foreign_folder(path)
    folders = [candidate.is_dir() and not candidate.is_symlink() for candidate in (place, path)]
    if not any(folders) or not os.path.lexists(path):
        os.replace(place, path)
        return
    # A folder cannot be replaced in one step: it is renamed until the new one has its name.
    aside = _draft_path(path, "old")
    os.rename(path, aside)
    try:
        os.rename(place, path)
    except OSError:
        os.rename(aside, path)
        raise
    _remove(aside)


def _rename_to_nothing(place: Path, path: Path) -> None:
    """Rename a draft to a path that does not exist."""
    exists = OutputError(f"'{path}' exists already: it was created during this run.")
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
    """Synchronize a file, or a folder with all its files, to disk before it is renamed.

    Otherwise a machine that loses power may have the new name and not the content.
    """
    for path in [place, *place.rglob("*")] if place.is_dir() else [place]:
        if path.is_dir():
            sync_entries(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())


def sync_entries(folder: Path) -> None:
    """Synchronize the names in a folder to disk, if the system can do that."""
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
