"""How compiled passes over columns are written.

A *kernel* is a compiled function over arrays and numbers: `@kernel` holds the compiler's options
for all of them, and `uncompiled` returns the same source as plain Python, callees included. A
*store* is the memory that kernels work on: fields are declared in a layout and laid out as one
header record and a few arenas, so that a kernel takes few arguments, however much it keeps.
Compiled code is kept in a folder (`folder_path`) for the next process.
"""

from elsinore.cache_folder import FOLDER_VARIABLE, folder_path
from elsinore.kernels.decorator import COMPILE_VARIABLE, is_kernel, kernel
from elsinore.kernels.layout import Field, Layout
from elsinore.kernels.shelf import SHELF
from elsinore.kernels.slots import NONE_FREE, count_free, give_back, take
from elsinore.kernels.store import Store
from elsinore.kernels.tiers import compiling, enter, is_compiled, is_compiling
from elsinore.kernels.uncompiled import uncompiled

__all__ = [
    "COMPILE_VARIABLE",
    "FOLDER_VARIABLE",
    "NONE_FREE",
    "SHELF",
    "Field",
    "Layout",
    "Store",
    "compiling",
    "count_free",
    "enter",
    "folder_path",
    "give_back",
    "is_compiled",
    "is_compiling",
    "is_kernel",
    "kernel",
    "take",
    "uncompiled",
]
