"""Functions of users, and machines of queries, compiled by Numba.

`compiled` holds the compiler's options for all of them. Compiled code is kept in a folder
(`folder_path`) for the next process.
"""

from elsinore.cache_folder import FOLDER_VARIABLE, folder_path
from elsinore.kernels.decorator import (
    COMPILE_VARIABLE,
    compiled,
    is_kernel,
    numba_is_installed,
)
from elsinore.kernels.shelf import SHELF

__all__ = [
    "COMPILE_VARIABLE",
    "FOLDER_VARIABLE",
    "SHELF",
    "compiled",
    "folder_path",
    "is_kernel",
    "numba_is_installed",
]
