"""Compiled kernels are kept, one file each, and taken from there by the next process.

Numba asks a dispatcher's cache for the code of a signature before it compiles, and hands it the
code after it has. Its own cache goes by a file's path and text: it does not see that a function
called from another file has changed, and two processes that write at once can lose an entry. This
one goes by content (`content_key`): a file, once written, is right for ever, and nothing but files
with such names is ever written. What cannot be read, for whatever reason, is compiled.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llvmlite.binding import address_of_symbol  # type: ignore[import-untyped]
from numba import typeof
from numba.core import serialize
from numba.core.caching import _Cache
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from elsinore.cache_folder import (
    UnusableError,
    check_folder,
    folder_path,
    make_private,
    read_file,
    write_file,
)
from elsinore.kernels.content import content_key
from elsinore.kernels.linked import rebuilt
from elsinore.kernels.locks import Locks
from elsinore.kernels.notice import begin_notice, seconds_of

LOG = logging.getLogger("elsinore.kernels")
SUFFIX = ".kernel"
_MAGIC = b"ELSK\x01"
_DIGEST = 32  # bytes of SHA-256
_UNUSED_DAYS = 90  # a file that nobody has read for so long is removed
_DAY = 24 * 60 * 60
PATIENCE = 10.0  # seconds beyond four times what compiling is expected to take


@dataclass(slots=True)
class Shelf:
    """Where this process looks for compiled kernels, and what it did there.

    `given` are asked first for what is kept under a name: what came with a job. `compiled` and
    `loaded` list kernels, `files` what they are kept as.
    """

    given: list[Callable[[str], bytes | None]] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    swept: set[Path] = field(default_factory=set)
    locks: dict[Path, Locks] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether something is kept under a name."""
        if any(look(name) is not None for look in self.given):
            return True
        folder = self._folder()
        return folder is not None and (folder / name).exists()

    def read(self, name: str) -> bytes | None:
        """Return what is kept under a name: in what is given, else in the user's folder."""
        for look in self.given:
            content = look(name)
            if content is not None:
                return content
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

    def lock(self, name: str, seconds: float) -> bool:
        """Wait so long for another process that compiles the same; return whether we may look."""
        folder = self._folder()
        if folder is None:
            return False
        with suppress(UnusableError):
            make_private(folder)
        if folder not in self.locks:
            self.locks[folder] = Locks(folder)
        self.locks[folder].lock(_key(name), seconds)
        return True

    def release(self, name: str) -> None:
        """Let others go on that want the same."""
        for locks in self.locks.values():
            locks.release(_key(name))

    def place(self) -> str | None:
        """Return the folder that what is compiled goes into, as text; None where none can."""
        folder = self._folder()
        return None if folder is None else str(folder)

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


class KernelCache(_Cache):  # type: ignore[misc]  # Numba is not typed
    """What Numba asks for the code of one kernel."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        function = dispatcher.py_func
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._enabled = True
        self._files: dict[Any, str] = {}  # signature -> file

    @property
    def cache_path(self) -> str:
        """The folder, for Numba's own reports."""
        return str(folder_path())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return what was compiled for a signature, None where it must be compiled."""
        if not self._enabled:
            return None
        name = self._file(signature, target.codegen())
        SHELF.files.add(name)
        code = self._load(name, target)
        if code is None and SHELF.lock(name, PATIENCE + 4 * seconds_of(self._dispatcher)):
            code = self._load(name, target)  # another process may have compiled it meanwhile
            if code is not None:
                SHELF.release(name)
        if code is None:
            SHELF.compiled.append(self._name)
            begin_notice(self._dispatcher, SHELF.place())
        return code

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep what was compiled for a signature."""
        if self._enabled and not code.library.has_dynamic_globals and not code.lifted:
            payload = serialize.dumps(code._reduce()) + pickle.dumps(symbols_of(code.library))
            name = self._file(signature, code.codegen)
            SHELF.write(name, _MAGIC + hashlib.sha256(payload).digest() + payload)
            SHELF.release(name)

    def has(self, arguments: Sequence[Any]) -> bool:
        """Return whether code for arguments of such types is kept."""
        types = tuple(map(typeof, arguments))
        return SHELF.has(self._file(types, cpu_target.target_context.codegen()))

    def enable(self) -> None:
        """Use the cache."""
        self._enabled = True

    def disable(self) -> None:
        """Compile without it."""
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: what is kept under a content's key is right for ever."""

    def _file(self, signature: Any, codegen: Any) -> str:
        if signature not in self._files:
            key = content_key(self._dispatcher, signature, codegen)
            name = self._name.replace("<", "").replace(">", "")[-80:]
            self._files[signature] = f"{name}-{key[:40]}{SUFFIX}"
        return self._files[signature]

    def _load(self, name: str, target: Any) -> Any:
        """Return the code that is kept under a name; None where there is none, or it is damaged."""
        content = SHELF.read(name)
        if content is None:
            return None
        begin = len(_MAGIC) + _DIGEST
        payload = content[begin:]
        if content[:begin] == _MAGIC + hashlib.sha256(payload).digest():
            try:
                stream = io.BytesIO(payload)
                parts = pickle.load(stream)
                get_ready(target, pickle.load(stream) if stream.tell() < len(payload) else None)
                code = rebuilt(target, parts)
                SHELF.loaded.append(self._name)
                return code
            except Exception as error:  # whatever the compiler says of code it cannot load
                LOG.debug("%s cannot be loaded", name, exc_info=error)
        SHELF.tell(f"A compiled kernel is damaged and is compiled anew: {folder_path() / name}.")
        return None


def symbols_of(library: Any) -> list[str]:
    """Return what machine code refers to outside itself."""
    module = library._final_module
    declared = [each.name for each in (*module.functions, *module.global_variables)
                if each.is_declaration]  # fmt: skip
    return [name for name in declared if not name.startswith("llvm.")]


def get_ready(target: Any, symbols: Sequence[str] | None) -> None:
    """Let there be what machine code refers to, before it is loaded; None: nobody knows what.

    Numba's runtime has almost all of it. What is in none of the libraries of this process comes
    with all that Numba can compile, whose loading takes 0.3 s: more than that of most kernels.
    """
    rtsys.initialize(target)
    if symbols is None or any(address_of_symbol(name) is None for name in symbols):
        target.refresh()


def _key(name: str) -> str:
    """Return the key in a file's name."""
    return name.removesuffix(SUFFIX).rpartition("-")[2]


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
