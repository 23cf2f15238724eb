"""Starting a stream, or restarting it from its checkpoint with the same or a changed workload.

See `elsinore.runtime.live.changes` for what a changed workload means.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from elsinore.connectors.checkpoint import Checkpoint
from elsinore.runtime.live import (
    Change,
    LiveOptions,
    PassSetup,
    PlannedGeneration,
    Planner,
    changes_between,
    first_generation,
    handed_over,
    planned_again,
)
from elsinore.saved_states import reading_state, schema_from_bytes

OWNER = "the checkpoint of a stream"
ENGINE = "spark"
BUCKETS = 16  # by default; each is a value in Spark's state, with a fixed cost per micro-batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """The generations of a stream, by their numbers.

    `buckets` is the number of parts that keys are split into, by generation. `changes` has the
    change of each query, by name; empty for a new stream. `ended` are former generations, with the
    number of buckets of each key. `former` are names of queries removed from the workload.
    """

    generations: Mapping[int, PlannedGeneration]
    buckets: Mapping[int, int]
    changes: Mapping[str, Change] = field(default_factory=dict)
    ended: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    former: frozenset[str] = frozenset()


def start_or_continue(
    planner: Planner,
    schema: pa.Schema,
    options: LiveOptions,
    checkpoint: Checkpoint,
    buckets: int | None,
) -> Continuation:
    """Return the stream's generations for the planner's workload; save them in the checkpoint.

    `buckets` is the number of parts to split keys into; None means as before, or BUCKETS. If it
    changes, queries with windows continue in a new generation with the next window.

    Raises StateError for a checkpoint of another engine or version, or that cannot be continued.
    """
    description = checkpoint.stream(ENGINE)
    if description is None:
        generations = {0: first_generation(planner, schema, options)}
        continuation = Continuation(generations=generations, buckets={0: buckets or BUCKETS})
    else:
        continuation = _continue(planner, schema, options, checkpoint, description, buckets)
    _save(continuation, planner, options, checkpoint)
    return continuation


def _continue(
    planner: Planner,
    schema: pa.Schema,
    options: LiveOptions,
    checkpoint: Checkpoint,
    description: Mapping[str, Any],
    buckets: int | None,
) -> Continuation:
    """Return the generations of a checkpoint, with a new one if queries or buckets changed."""
    progress = checkpoint.progress()
    watermark, greatest = progress.get("watermark"), progress.get("greatest")
    with reading_state(OWNER):
        before = {str(name): str(meaning) for name, meaning in description["queries"].items()}
        saved_generations = {
            int(number): dict(described) for number, described in description["generations"].items()
        }
        ended = {int(number): dict(keys) for number, keys in description["ended"].items()}
        before_buckets, reading = int(description["buckets"]), dict(description["reading"])
        bucket_counts = {
            number: max(described["buckets"].values())
            for number, described in saved_generations.items()
        }
    bucket_total = before_buckets if buckets is None else buckets
    options.refuse_other_reading(reading)
    query_changes = changes_between(before, planner.meanings)
    if greatest is None:  # no event has come
        query_changes = {
            name: change for name, change in query_changes.items() if name in planner.meanings
        }
        before = {}
    unchanged = {
        name
        for name, change in query_changes.items()
        if change is Change.UNCHANGED and greatest is not None
    }
    unchanged_queries = {query.name: query for query in planner.queries if query.name in unchanged}
    generations: dict[int, PlannedGeneration] = {}
    fine = False
    for number, described in saved_generations.items():
        with reading_state(OWNER):
            old_schema = schema_from_bytes(base64.b64decode(described["schema"]))
            fine = int(described["per_microsecond"]) > 1
        generation = planned_again(
            OWNER, planner, unchanged_queries, described, old_schema, options, fine=fine
        )
        if (
            greatest is None
            or generation is None
            or (watermark is not None and generation.is_over(watermark))
        ):
            ended[number] = described["buckets"]
        else:
            generations[number] = generation
    if len(unchanged) < len(query_changes) or not generations or bucket_total != before_buckets:
        begin = None if greatest is None else max(greatest + 1, watermark or greatest + 1)
        numbers = list(generations)
        planned = handed_over(
            list(generations.values()),
            planner,
            unchanged if generations else set(),
            schema,
            options,
            fine=fine,
            begin=begin,
        )
        newest = max([*saved_generations, *ended], default=-1) + 1
        generations = dict(zip([*numbers, newest], planned, strict=False))
        bucket_counts[newest] = bucket_total
    return Continuation(
        generations=generations,
        buckets={number: bucket_counts[number] for number in generations},
        changes=query_changes,
        ended=ended,
        former=frozenset(before) - frozenset(planner.meanings),
    )


def bucket_count(planned_pass: PassSetup, buckets: int) -> int:
    """Return the number of a pass's buckets: one if it has no key."""
    return buckets if len(planned_pass.layout.keys) else 1


def _save(
    continuation: Continuation, planner: Planner, options: LiveOptions, checkpoint: Checkpoint
) -> None:
    """Save the description of the generations in the checkpoint."""
    descriptions = {}
    for number, generation in continuation.generations.items():
        setup = generation.setup
        descriptions[number] = {
            **generation.described(),
            "schema": base64.b64encode(setup.schema.serialize().to_pybytes()).decode(),
            "per_microsecond": setup.options.clock.per_microsecond,
            "buckets": {
                repr(planned_pass.units[0].partition): bucket_count(
                    planned_pass, continuation.buckets[number]
                )
                for planned_pass in setup.passes
            },
        }
    checkpoint.save_stream(
        ENGINE,
        {
            "queries": planner.meanings,
            "buckets": continuation.buckets[max(continuation.buckets)],
            "generations": descriptions,
            "ended": continuation.ended,
            "reading": options.reading(),
        },
    )
