"""Calling a function by its address from a kernel: what a user gave, compiled or in Python.

The function takes the address of some doubles and returns a whole number. Its address is a number
like any other, so that kernels do not depend on the function: they are compiled once.
"""

from __future__ import annotations

import ctypes

FOREIGN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # the form of such a function


def call_at(address: int, pointer: int) -> int:
    """Return what the function at an address gives for doubles at another.

    >>> doubled = FOREIGN(lambda pointer: 2 * pointer)
    >>> call_at(ctypes.cast(doubled, ctypes.c_void_p).value, 21)
    42
    """
    return int(FOREIGN(int(address))(int(pointer)))  # NumPy's numbers are no addresses to ctypes
