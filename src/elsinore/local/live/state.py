"""The saved state of a live run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elsinore.local.live.generation import Generation
from elsinore.runtime.live.state import pack_state

OWNER = "a live run"


def saved_run(generations: Sequence[Generation], facts: Mapping[str, Any]) -> bytes:
    """Return generations as bytes, with facts about the run (JSON values).

    Each generation is saved as the texts of its queries, from which they are planned again, the
    schema of its events, and the states of its buckets.
    """
    descriptions = []
    parts: dict[str, bytes] = {}
    for number, generation in enumerate(generations):
        parts[f"schema {number}"] = generation.setup.schema.serialize().to_pybytes()
        counts = {}
        for of_pass, buckets in zip(generation.setup.passes, generation.buckets, strict=True):
            where = repr(of_pass.units[0].partition)
            counts[where] = len(buckets)
            for place, bucket in enumerate(buckets):
                parts[part_of(number, where, place)] = bucket.save()
        descriptions.append({**generation.planned.described(), "buckets": counts})
    return pack_state(OWNER, {**facts, "generations": descriptions}, parts)


def part_of(generation: int, where: str, bucket: int) -> str:
    """Return the name of a bucket's part of the state; `where` identifies its pass."""
    return f"bucket {generation} {where} {bucket}"
