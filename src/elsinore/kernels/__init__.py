"""How compiled passes over columns are written.

A *kernel* is a function over arrays and numbers that is compiled: `@kernel` carries the compiler's
options for all of them. `uncompiled` gives the same source as plain Python, callees included.
"""

from elsinore.kernels.decorator import COMPILE_VARIABLE, is_kernel, kernel
from elsinore.kernels.uncompiled import uncompiled

__all__ = ["COMPILE_VARIABLE", "is_kernel", "kernel", "uncompiled"]
