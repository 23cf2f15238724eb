"""Starting and resuming live runs, with the same workload or a changed one.

A saved run contains the text of the queries of each generation: the plan of its state is recreated
from them, and from the queries of the workload that resumes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from elsinore.errors import StateError
from elsinore.local.live.generation import Generation
from elsinore.local.live.live import Live
from elsinore.local.live.state import OWNER, part_of
from elsinore.model import Query
from elsinore.runtime.live import (
    LENGTHS,
    Bucket,
    Change,
    LiveOptions,
    Planner,
    changes_between,
    first_generation,
    handed_over,
    planned_again,
    ticks_of,
)
from elsinore.runtime.live.state import unpack_state
from elsinore.saved_states import reading_state, schema_from_bytes

LOG = logging.getLogger("elsinore.live")


def start(planner: Planner, schema: pa.Schema, options: LiveOptions) -> Live:
    """Return a new live run."""
    planned = first_generation(planner, schema, options)
    return Live([Generation(planned, count=options.buckets)], options, planner.meanings)


def resume(
    planner: Planner,
    blob: bytes,
    schema: pa.Schema | None,
    changes: Mapping[str, Any],
    *,
    now: Callable[[], float] | None = None,
) -> Live:
    """Return the live run of a saved state, with the planner's queries.

    `schema` is that of future events, if it has changed. `changes` are changed options. `now` is a
    clock that continues that of the saved run; by default the machine's.
    Raises StateError if the bytes are damaged, of another version, or cannot be continued.
    """
    facts, parts = unpack_state(OWNER, blob)
    with reading_state(OWNER):
        options = LiveOptions.from_saved(facts["options"])
        before = {str(name): str(meaning) for name, meaning in facts["meanings"].items()}
        fine = int(facts["per microsecond"]) > 1
        descriptions = list(facts["generations"])
        progress = dict(facts["progress"])
        begin = _next_time(progress)
        last_schema = f"schema {len(descriptions) - 1}"
        before_schema = schema_from_bytes(parts[last_schema])
    options, meanings = options.changed(changes), planner.meanings
    query_changes = changes_between(before, meanings)
    unchanged = {name for name, change in query_changes.items() if change is Change.UNCHANGED}
    generations: list[Generation] = []
    if begin is None:  # before the first event
        query_changes = {name: change for name, change in query_changes.items() if name in meanings}
        unchanged = set()
    else:
        queries = {query.name: query for query in planner.queries if query.name in unchanged}
        restored_generations = [
            _restored(planner, queries, options, fine, number, saved, parts)
            for number, saved in enumerate(descriptions)
        ]
        generations = [generation for generation in restored_generations if generation is not None]
    if len(unchanged) < len(query_changes):
        schema = before_schema if schema is None else schema
        before_all = [generation.planned for generation in generations]
        planned = handed_over(
            before_all, planner, unchanged, schema, options, fine=fine, begin=begin
        )
        buckets = [generation.buckets for generation in generations]
        generations = [
            Generation(one, state, count=options.buckets)
            for one, state in zip_longest(planned, buckets)
        ]
    elif schema is not None and schema != before_schema:
        raise StateError(
            "The schema of the events is not that of the saved state, and no query has changed. "
            "Cast the events to the schema that they had."
        )
    clock = generations[-1].setup.options.clock
    with reading_state(OWNER):
        for name in LENGTHS:  # Live checks changed ones
            length = getattr(options, name)
            if length is not None and name not in changes:
                ticks_of(length, clock, name)
    live = Live(generations, options, meanings, now=now or time.monotonic)
    with reading_state(OWNER):
        live.restore(progress, same_clock=now is not None)
    live.changes = query_changes
    for name, change in query_changes.items():
        LOG.info("query %s is %s", name, change.value)
    return live


def _restored(
    planner: Planner,
    unchanged: Mapping[str, Query],
    options: LiveOptions,
    fine: bool,
    number: int,
    saved: Mapping[str, Any],
    parts: Mapping[str, memoryview],
) -> Generation | None:
    """Return a saved generation; None if it answers no unchanged query."""
    with reading_state(OWNER):
        counts = dict(saved["buckets"])
        schema = schema_from_bytes(parts[f"schema {number}"])
    planned = planned_again(OWNER, planner, unchanged, saved, schema, options, fine=fine)
    if planned is None:
        return None
    buckets = []
    with reading_state(OWNER):
        for of_pass in planned.setup.passes:
            where = repr(of_pass.units[0].partition)
            blobs = [parts[part_of(number, where, n)] for n in range(counts[where])]
            buckets.append([Bucket.load(of_pass, bytes(blob), drop=True) for blob in blobs])
    return Generation(planned, buckets)


def _next_time(progress: Mapping[str, Any]) -> int | None:
    """Return a time after all events of a run (`Live.progress`), at its watermark or later.

    None before the first event.
    """
    greatest = max(progress["watermark"]["greatest"].values(), default=None)
    if greatest is None:
        return None
    watermark = progress["reached"]
    return int(greatest) + 1 if watermark is None else max(int(greatest) + 1, int(watermark))
