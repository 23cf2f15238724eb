"""Calling a function by its address: an aggregate that a user defined, compiled or in Python.

The function takes the address of doubles, the value, state and arguments of the aggregate, and
returns how it ended (`elsinore.matches.stepping`). Compiled code has it in `foreign.pxd`.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    import ctypes
    from typing import Any

    FOREIGN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)

    def call_step(address: int, numbers: Any, row: int, place: int) -> int:
        """Return what the function returns for the numbers from a place of a row on."""
        return int(FOREIGN(int(address))(int(numbers[row, place:].ctypes.data)))
