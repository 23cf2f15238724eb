"""How compiled passes over columns are written.

A *kernel* is a compiled function over arrays and numbers: `@kernel` holds the compiler's options
for all of them, and `uncompiled` returns the same source as plain Python, callees included.
Compiled code is kept in a folder (`folder_path`) for the next process.
"""

from elsinore.cache_folder import FOLDER_VARIABLE, folder_path
from elsinore.kernels.decorator import (
    COMPILE_VARIABLE,
    is_kernel,
    kernel,
    numba_is_installed,
)
from elsinore.kernels.shelf import SHELF
from elsinore.kernels.tiers import compiling, enter, is_compiled
from elsinore.kernels.uncompiled import uncompiled

__all__ = [
    "COMPILE_VARIABLE",
    "FOLDER_VARIABLE",
    "SHELF",
    "compiling",
    "enter",
    "folder_path",
    "is_compiled",
    "is_kernel",
    "kernel",
    "numba_is_installed",
    "uncompiled",
]
