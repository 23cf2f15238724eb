"""Event streams for experiments: generators, recorded streams, and the demo's flights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from elsinore.datasets.abc import abc
from elsinore.datasets.ads import ads
from elsinore.datasets.auctions import auctions
from elsinore.datasets.cluster import cluster
from elsinore.datasets.flights import flights, write_flights
from elsinore.datasets.patients import patients
from elsinore.datasets.recorded import LOADERS, plug_measurements, taxi_trips, trades
from elsinore.datasets.ridesharing import ridesharing
from elsinore.datasets.smarthome import smarthome
from elsinore.datasets.stock import stock
from elsinore.datasets.taxi import taxi
from elsinore.datasets.ticks import with_ticks
from elsinore.datasets.workloads import hamlet_workload
from elsinore.errors import InputError, did_you_mean

__all__ = [
    "GENERATORS",
    "LOADERS",
    "abc",
    "ads",
    "auctions",
    "cluster",
    "flights",
    "generate",
    "hamlet_workload",
    "patients",
    "plug_measurements",
    "ridesharing",
    "smarthome",
    "stock",
    "taxi",
    "taxi_trips",
    "trades",
    "with_ticks",
    "write_flights",
]

Generator = Callable[..., pa.Table]

GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        "abc": abc,
        "ads": ads,
        "auctions": auctions,
        "cluster": cluster,
        "patients": patients,
        "ridesharing": ridesharing,
        "smarthome": smarthome,
        "stock": stock,
        "taxi": taxi,
    }
)


def generate(name: str, events: int, seed: int = 0, **options: Any) -> pa.Table:
    """Return `events` events of the stream `name`; `options` are for its generator.

    Raise InputError for an unknown name, or an option that the generator does not have.

    >>> generate("abc", 5).num_rows
    5
    >>> generate("ridesharin", 5)
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: There is no generator ... Did you mean 'ridesharing'?
    """
    if name not in GENERATORS:
        raise InputError(
            f"There is no generator for a stream called '{name}'. Streams: "
            f"{', '.join(GENERATORS)}.{did_you_mean(name, GENERATORS)}"
        )
    option_names = [*signature(GENERATORS[name]).parameters][2:]
    for option in options:
        if option not in option_names:
            raise InputError(
                f"The stream '{name}' has no option '{option}'. Options: "
                f"{', '.join(option_names) or 'none'}.{did_you_mean(option, option_names)}"
            )
    return GENERATORS[name](events, seed, **options)
