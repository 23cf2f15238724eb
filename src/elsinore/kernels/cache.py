"""Compiled kernels are kept, one file each, and taken from there by the next process.

Numba asks a dispatcher's cache for the code of a signature before it compiles, and hands it the
code after it has. Its own cache goes by a file's path and text: it does not see that a function
called from another file has changed, and two processes that write at once can lose an entry. This
one goes by content (`content_key`). What cannot be read, for whatever reason, is compiled.
"""

from __future__ import annotations

import hashlib
import logging
from types import ModuleType
from typing import Any

from elsinore.cache_folder import folder_path
from elsinore.kernels.content import content_key
from elsinore.kernels.decorator import Kernel
from elsinore.kernels.shelf import SHELF, SUFFIX

LOG = logging.getLogger("elsinore.kernels")
_MAGIC = b"ELSK\x01"
_DIGEST = 32  # bytes of SHA-256


class KernelCache:
    """What Numba asks for the code of one kernel."""

    def __init__(self, kernel: Kernel, means: ModuleType) -> None:
        self._kernel = kernel
        self._means = means
        function = kernel.py_func
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
        name = self._file(signature)
        code = self._load(name, target)
        if code is None:
            SHELF.compiled.append(self._name)
        return code

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep what was compiled for a signature."""
        payload = self._means.packed(code) if self._enabled else None
        if payload is not None:
            content = _MAGIC + hashlib.sha256(payload).digest() + payload
            SHELF.write(self._file(signature), content)

    def enable(self) -> None:
        """Use the cache."""
        self._enabled = True

    def disable(self) -> None:
        """Compile without it."""
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: what is kept under a content's key is right for ever."""

    def _file(self, signature: Any) -> str:
        if signature not in self._files:
            key = content_key(self._kernel, signature)
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
                code = self._means.unpacked(target, payload)
                SHELF.loaded.append(self._name)
                return code
            except Exception as error:  # whatever the compiler says of code it cannot load
                LOG.debug("%s cannot be loaded", name, exc_info=error)
        SHELF.tell(f"A compiled kernel is damaged and is compiled anew: {folder_path() / name}.")
        return None
