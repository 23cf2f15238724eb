"""Calling a function by its address: an aggregate that a user defined, compiled or in Python.

The function takes the address of doubles, the value, state and arguments of the aggregate, and
returns 0 unless it failed. Compiled code has it in `foreign.pxd`.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from typing import Any

    from elsinore.kernels.foreign import call_at

    def call_step(address: int, numbers: Any, row: int, place: int) -> int:
        """Return what the function returns for the numbers from a place of a row on."""
        return call_at(address, numbers[row, place:].ctypes.data)
