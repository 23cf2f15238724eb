"""Common functions of generators: checks of arguments, times, and columns of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.errors import InputError

START = 1_704_067_200_000_000  # 2024-01-01T00:00:00
MICROSECONDS_PER_MINUTE = 60_000_000


def check_size(name: str, value: float, *, least: float) -> None:
    """Raise InputError if the argument `name` is below `least`.

    >>> check_size("events", -1, least=0)
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: 'events' is at least 0, not -1.
    """
    if not value >= least:
        raise InputError(f"'{name}' is at least {least}, not {value}.")


def check_share(name: str, value: float) -> None:
    """Raise InputError if the argument `name` is not a share from 0 to 1.

    >>> check_share("hot", 1.5)
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: 'hot' is a share from 0 to 1, not 1.5.
    """
    if not 0 <= value <= 1:
        raise InputError(f"'{name}' is a share from 0 to 1, not {value}.")


def times_at_rate(rng: np.random.Generator, events: int, rate: float) -> npt.NDArray[np.int64]:
    """Return ascending times in microseconds, with exponential gaps: `rate` events per minute.

    Raise InputError for a rate that is not above 0.

    >>> times_at_rate(np.random.default_rng(0), 2, 60.0) - START
    array([ 679931, 1699528])
    """
    if not rate > 0:
        raise InputError(f"'rate' is above 0 events per minute, not {rate}.")
    gaps = rng.standard_exponential(events) * (MICROSECONDS_PER_MINUTE / rate)
    return START + np.cumsum(np.maximum(gaps.astype(np.int64), 1))


def named_codes(codes: npt.NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    """Return the dictionary-encoded strings that `codes` index in `names`.

    >>> named_codes(np.array([1, 0]), ["A", "B"]).to_pylist()
    ['B', 'A']
    """
    indices = pa.array(codes.astype(np.int32), pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))
