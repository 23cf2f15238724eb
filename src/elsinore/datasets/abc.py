"""A synthetic stream of letters, for experiments and for benchmarks with controlled parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from elsinore.datasets.columns import check_size, named_codes, times_at_rate
from elsinore.errors import InputError


def abc(
    events: int,
    seed: int = 0,
    *,
    keys: int = 10,
    burst: float = 4.0,
    types: Sequence[str] = ("A", "B", "C", "D"),
    rate: float = 10_000.0,
) -> pa.Table:
    """Return `events` events ordered by time, no two at once, the same for the same arguments.

    Columns: time (timestamp[us]), type, key (0 to `keys` - 1, evenly drawn) and v (0 to 100 with
    two decimals). Within a key the types come in bursts of one type, `burst` events long on average
    (geometric); the next burst is of another type. `rate` is in events per minute.

    Raise InputError for a negative number of events, no key, no type, a type named twice, a burst
    shorter than 1 or a rate that is not above 0.

    >>> abc(3, seed=1, keys=1, types=["A"]).select(["type", "key"]).to_pydict()
    {'type': ['A', 'A', 'A'], 'key': [0, 0, 0]}
    """
    check_size("events", events, least=0)
    check_size("keys", keys, least=1)
    check_size("burst", burst, least=1)
    check_size("types", len(types), least=1)
    if len(set(types)) < len(types):
        raise InputError(f"'types' names a type twice: {', '.join(types)}.")
    rng = np.random.default_rng(seed)
    time = times_at_rate(rng, events, rate)
    key = rng.integers(0, keys, events)
    return pa.table(
        {
            "time": pa.array(time, pa.int64()).cast(pa.timestamp("us")),
            "type": named_codes(_bursts(rng, key, burst, len(types)), types),
            "key": pa.array(key),
            "v": pa.array(np.round(rng.random(events) * 100, 2)),
        }
    )


def _bursts(
    rng: np.random.Generator, key: np.ndarray[tuple[int], np.dtype[np.int64]], burst: float, n: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a type for each event, such that each key's types come in bursts."""
    events = len(key)
    codes = np.zeros(events, np.int64)
    if n > 1 and events:
        # A step of 1 to n - 1 around the circle of types always leads to another type.
        steps = np.where(rng.random(events) < 1 / burst, rng.integers(1, n, events), 0)
        steps[0] = rng.integers(0, n)
        codes[np.argsort(key, kind="stable")] = np.cumsum(steps) % n
    return codes
