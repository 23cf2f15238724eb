"""Workloads one and two of the HAMLET paper's evaluation (section 6.1), as files of queries.

The first has the same Kleene sub-pattern, window, grouping and aggregate in all queries, whose
patterns differ otherwise. The second is diverse: Kleene sub-patterns of one to three types, windows
of 5 to 20 minutes, several aggregates, groupings and predicates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from types import MappingProxyType

import numpy as np

from elsinore.datasets.columns import check_size
from elsinore.datasets.ridesharing import EVENT_TYPES as RIDE_TYPES
from elsinore.errors import InputError, did_you_mean

KINDS = ("shared", "diverse")
WINDOWS = (5, 10, 15, 20)  # minutes, of the diverse workload
SLIDE = 5  # minutes, of all windows
PLUG = "house, plug"


@dataclass(frozen=True, slots=True)
class Stream:
    """The parts from which a generator builds queries.

    types: event types, the Kleene types first; group: attributes of GROUP BY, from which the
    diverse workload takes one or none; value: what is aggregated and compared; thresholds: for
    predicates on it; within: minutes, of the shared workload.
    """

    types: Sequence[str]
    kleene: int
    group: Sequence[str]
    value: str
    thresholds: Sequence[float]
    within: int


STREAMS: Mapping[str, Stream] = MappingProxyType(
    {
        "ridesharing": Stream(
            ("Travel", "Wait", *(name for name in RIDE_TYPES if name not in {"Travel", "Wait"})),
            2,
            ("district", "driver"),
            "duration",
            (5.0, 30.0, 60.0),
            5,
        ),
        "stock": Stream(
            tuple(f"S{number}" for number in range(20)),
            5,
            ("level",),
            "volume",
            (30.0, 50.0, 100.0),
            10,
        ),
        "smarthome": Stream(("Load", "Work"), 1, ("house", PLUG), "value", (1.0, 50.0, 150.0), 10),
        "taxi": Stream(
            ("Pickup", "Dropoff"), 2, ("zone", "driver"), "price", (5.0, 10.0, 20.0), 20
        ),
    }
)


def hamlet_workload(
    stream: str, kind: str, queries: int = 50, seed: int = 0, *, neighbours: bool = False
) -> str:
    """Return the queries of a workload over a generated stream, the same for the same arguments.

    stream: a generator of the paper's four streams. kind: "shared", the paper's first workload, or
    "diverse", its second. neighbours: each event of a Kleene type has at least the value of the one
    before it. Streams of two types have few patterns: there, queries of the first workload also
    differ in a threshold.

    Raise InputError for an unknown stream or kind, or a negative number of queries.

    >>> print(hamlet_workload("stock", "shared", 1, seed=1))
    QUERY q0
    RETURN level, COUNT(*)
    PATTERN SEQ(S12 a, S0 k+, S16 z)
    GROUP BY level
    WITHIN 10 minutes SLIDE 5 minutes;
    <BLANKLINE>
    """
    for name, choices, value in (("stream", STREAMS, stream), ("kind", KINDS, kind)):
        if value not in choices:
            raise InputError(
                f"There is no {name} '{value}' for workloads: {', '.join(choices)}."
                f"{did_you_mean(value, choices)}"
            )
    check_size("queries", queries, least=0)
    random = np.random.default_rng(seed)
    generator = _shared if kind == "shared" else _diverse
    return "\n".join(generator(STREAMS[stream], random, queries, neighbours))


def _shared(
    stream: Stream, random: np.random.Generator, queries: int, neighbours: bool
) -> list[str]:
    """Return queries with one Kleene type between others: before it, after it, or on both sides."""
    kleene, group = stream.types[0], stream.group[0]
    others = stream.types[1:]
    around = [((one,), ()) for one in others] + [
        ((one,), (other,)) for one, other in permutations(others, 2)
    ]
    order = random.permutation(len(around)).tolist()
    texts = []
    for number in range(queries):
        before, after = around[order[number % len(order)]]
        repeats = number // len(order)
        conditions = [f"k.{stream.value} > {repeats:g}"] if repeats else []
        conditions += _rising(stream) if neighbours else []
        parts = _parts(before, kleene, after)
        texts.append(_query(number, f"{group}, COUNT(*)", parts, conditions, group, stream.within))
    return texts


def _diverse(
    stream: Stream, random: np.random.Generator, queries: int, neighbours: bool
) -> list[str]:
    """Return queries that differ in patterns, windows, aggregates, groupings and predicates."""
    texts = []
    for number in range(queries):
        length = int(random.integers(1, min(3, len(stream.types)) + 1))
        kleene = stream.types[int(random.integers(stream.kleene))]
        others = [name for name in stream.types if name != kleene]
        chosen = random.choice(others, length - 1, replace=False).tolist()
        before, after = chosen[:1], chosen[1:]
        group = (*stream.group, "")[int(random.integers(len(stream.group) + 1))]
        value = f"k.{stream.value}"
        aggregate = (
            "COUNT(*)",
            f"AVG({value})",
            f"MAX({value})",
            f"SUM({value})",
            f"MIN({value})",
        )[int(random.integers(5))]
        conditions = []
        if random.random() < 0.7:
            conditions.append(f"{value} > {stream.thresholds[int(random.integers(3))]:g}")
        conditions += _rising(stream) if neighbours else []
        parts = _parts(before, kleene, after)
        return_clause = f"{group}, {aggregate}" if group else aggregate
        within = WINDOWS[int(random.integers(len(WINDOWS)))]
        texts.append(_query(number, return_clause, parts, conditions, group, within))
    return texts


def _parts(before: Sequence[str], kleene: str, after: Sequence[str]) -> list[str]:
    """Return the parts of a sequence: types before a Kleene type, this, and types after it."""
    return [f"{name} a" for name in before] + [f"{kleene} k+"] + [f"{name} z" for name in after]


def _rising(stream: Stream) -> list[str]:
    """Return the condition that compares neighbours."""
    return [f"k[i].{stream.value} >= k[i-1].{stream.value}"]


def _query(
    number: int,
    return_clause: str,
    parts: Sequence[str],
    conditions: Sequence[str],
    group: str,
    within: int,
) -> str:
    pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
    lines = [f"QUERY q{number}", f"RETURN {return_clause}", f"PATTERN {pattern}"]
    lines += [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    lines += [f"GROUP BY {group}"] if group else []
    return "\n".join([*lines, f"WITHIN {within} minutes SLIDE {SLIDE} minutes;", ""])
