"""The structs of `tables.pxd` that uncompiled code creates."""

from __future__ import annotations

from typing import NamedTuple


class Number(NamedTuple):
    """A mantissa and a power of 2**512."""

    mantissa: float
    power: float
