"""What the generators share: checked sizes, and columns of names from columns of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.errors import InputError


def check_size(name: str, value: float, *, least: float) -> None:
    """Raise InputError if the argument `name` is below `least`.

    >>> check_size("events", -1, least=0)
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: 'events' is at least 0, not -1.
    """
    if not value >= least:
        raise InputError(f"'{name}' is at least {least}, not {value}.")


def named_codes(codes: npt.NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    """Return the dictionary-encoded strings that `codes` index in `names`.

    >>> named_codes(np.array([1, 0]), ["A", "B"]).to_pylist()
    ['B', 'A']
    """
    indices = pa.array(codes.astype(np.int32), pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))
