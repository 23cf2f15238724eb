"""What uncompiled code has in place of types of `tables.pxd`."""

from __future__ import annotations

from typing import NamedTuple

Index = int  # of lanes, rows, blocks and so on


class Number(NamedTuple):
    """A mantissa and a power of 2**512."""

    mantissa: float
    power: float
