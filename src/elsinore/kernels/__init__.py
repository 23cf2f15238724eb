"""How compiled passes over columns are written.

A *kernel* is a function over arrays and numbers that is compiled: `@kernel` carries the compiler's
options for all of them, and `uncompiled` gives the same source as plain Python, callees included.
A *store* is the memory that kernels work on: fields declared in a layout, laid into one header
record and a few arenas, so that a kernel takes few arguments, whatever it keeps. What was compiled
is kept in a folder (`folder_path`) for the next process.
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
