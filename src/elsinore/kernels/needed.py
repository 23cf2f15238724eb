"""Which compiled kernels a job needs: noted once, and packed for processes elsewhere.

What a job needs is known after it has been rehearsed in this process. The note of it lies beside
the kernels, under a key that tells the job, this package's whole source and the compiler, so that
the next process does not rehearse.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path

from elsinore.kernels.shelf import SHELF
from elsinore.kernels.source import PACKAGE
from elsinore.kernels.tiers import compiling

NOTE = ".needed"


def needed_kernels(job: Iterable[str], rehearse: Callable[[], None]) -> dict[str, bytes]:
    """Return the compiled kernels that a job needs, by name; it is rehearsed where none knows.

    job: what tells it from others. Kernels that cannot be kept are left out.
    """
    note = f"{_digest(job)}{NOTE}"
    noted = SHELF.read(note)
    if noted is not None:
        kernels = _read(json.loads(noted))
        if kernels is not None:
            return kernels
    with compiling():
        rehearse()
    names = sorted(SHELF.files)  # those of this process: what it had loaded is not told apart
    SHELF.write(note, json.dumps(names).encode())
    return {name: content for name in names if (content := SHELF.read(name)) is not None}


def _read(names: Sequence[str]) -> dict[str, bytes] | None:
    """Return kernels by name; None where one is not there."""
    kernels = {}
    for name in names:
        content = SHELF.read(name)
        if content is None:
            return None
        kernels[name] = content
    return kernels


def pack_kernels(kernels: dict[str, bytes], folder: Path) -> Path:
    """Write kernels into one file in a folder, named after what it holds; once, and the same bytes.

    Executors may have fetched it, and refuse a file that has changed.
    """
    digest = hashlib.sha256()
    for name in sorted(kernels):
        digest.update(name.encode())
        digest.update(hashlib.sha256(kernels[name]).digest())
    path = folder / f"{PACKAGE}-kernels-{digest.hexdigest()[:32]}.zip"
    if not path.exists():
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(kernels):
                archive.writestr(zipfile.ZipInfo(name), kernels[name], zipfile.ZIP_DEFLATED)
    return path


def read_packed(folder: Path, name: str) -> bytes | None:
    """Return a kernel from what `pack_kernels` wrote into a folder; None where it is not there."""
    for path in folder.glob(f"{PACKAGE}-kernels-*.zip"):
        with suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            return archive.read(name)
    return None


def canonical(value: object) -> str:
    """Return a text that is equal in every process for equal data, whatever sets it holds.

    Fields of dataclasses that are neither given nor compared are left out, as they are no data.

    >>> canonical((1, frozenset({"b", "a"}), {"k": None}))
    "tuple(1,frozenset('a','b'),dict(tuple('k',None)))"
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = (part.name for part in fields(value) if part.init or part.compare)
        parts = [f"{name}={canonical(getattr(value, name))}" for name in names]
    elif isinstance(value, Mapping):
        parts = sorted(canonical(item) for item in value.items())
    elif isinstance(value, AbstractSet):
        parts = sorted(map(canonical, value))
    elif isinstance(value, tuple | list):
        parts = list(map(canonical, value))
    else:
        return repr(value)
    return f"{type(value).__name__}({','.join(parts)})"


def _digest(job: Iterable[str]) -> str:
    from elsinore.kernels.content import compiler  # noqa: PLC0415 - it imports Numba

    digest = hashlib.sha256()
    for part in (*job, _source(), *compiler()):
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()[:40]


@lru_cache(maxsize=1)
def _source() -> str:
    """Return a digest of this package's source."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
