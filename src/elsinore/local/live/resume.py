"""Starting and resuming live runs, with the same workload or a changed one.

A saved run contains, for each generation, the text of its queries: the plan that its state belongs
to is made again from them, and the queries of the workload that resumes it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from elsinore.errors import ElsinoreError, StateError
from elsinore.kernels.saved import reading_state
from elsinore.language import parse_workload
from elsinore.local.live.generation import Generation
from elsinore.local.live.live import Live, next_time
from elsinore.local.live.state import OWNER, part_of
from elsinore.model import Query
from elsinore.runtime.live import Bucket, Change, LiveOptions, Planner, Span, changes_between
from elsinore.runtime.live.state import unpack_state

LOG = logging.getLogger("elsinore.live")


def start(planner: Planner, schema: pa.Schema, options: LiveOptions) -> Live:
    """Return a live run that has seen no event."""
    setup = planner.plan(planner.queries, planner.exact, schema, options, False)
    spans = {name: Span() for name in setup.names}
    generation = Generation(
        setup, planner.queries, spans, exact=planner.exact, count=options.buckets
    )
    return Live([generation], options, planner.meanings)


def resume(
    planner: Planner, blob: bytes, schema: pa.Schema | None, changes: Mapping[str, Any]
) -> Live:
    """Return the live run that `save` returned the bytes of, with the planner's queries.

    schema: of the events from now on, if it has changed. changes: options that are changed.
    Raises StateError if the bytes are damaged, of another version, or cannot be continued.
    """
    facts, parts = unpack_state(OWNER, blob)
    with reading_state(OWNER):
        options = LiveOptions.from_saved(facts["options"])
        before = {str(name): str(meaning) for name, meaning in facts["meanings"].items()}
        fine = int(facts["per microsecond"]) > 1
        described = list(facts["generations"])
        progress = dict(facts["progress"])
        begin = next_time(progress)
        last = f"schema {len(described) - 1}"
        before_schema = pa.ipc.read_schema(pa.py_buffer(parts[last]))
    options, meanings = options.changed(changes), planner.meanings
    what = changes_between(before, meanings)
    unchanged = {name for name, change in what.items() if change is Change.UNCHANGED}
    generations: list[Generation] = []
    if begin is None:  # no event has come
        what = {name: change for name, change in what.items() if name in meanings}
        unchanged = set()
    else:
        kept = {query.name: query for query in planner.queries if query.name in unchanged}
        restored = [
            _restored(planner, kept, options, fine, number, saved, parts)
            for number, saved in enumerate(described)
        ]
        generations = [generation for generation in restored if generation is not None]
    if len(unchanged) < len(what):
        schema = before_schema if schema is None else schema
        generations = _handed_over(generations, planner, unchanged, schema, options, fine, begin)
    elif schema is not None and schema != before_schema:
        raise StateError(
            "The schema of the events is not that of the saved state, and no query has changed. "
            "Cast the events to the schema that they had."
        )
    live = Live(generations, options, meanings)
    with reading_state(OWNER):
        live.restore(progress)
    live.changes = what
    for name, change in what.items():
        LOG.info("query %s is %s", name, change.value)
    return live


def _restored(
    planner: Planner,
    kept: Mapping[str, Query],
    options: LiveOptions,
    fine: bool,
    number: int,
    saved: Mapping[str, Any],
    parts: Mapping[str, memoryview],
) -> Generation | None:
    """Return a saved generation; None if it answers no query that is kept.

    Its other queries are planned from their text.
    """
    queries = []
    with reading_state(OWNER):
        exact, begin, counts = bool(saved["exact"]), saved["begin"], dict(saved["buckets"])
        for name, text in saved["texts"].items():
            if name in kept:
                queries.append(kept[name])
            elif text is not None:  # the others are units of their own, which are dropped
                queries += parse_workload(text).queries
        schema = pa.ipc.read_schema(pa.py_buffer(parts[f"schema {number}"]))
        spans = {name: Span(*span) for name, span in saved["spans"].items() if name in kept}
    if not spans:
        return None
    try:
        setup = planner.plan(queries, exact, schema, options, fine)
    except ElsinoreError as error:
        raise StateError(
            f"The plan of the saved state cannot be made again: {error} Queries that were removed "
            "belong to it until their windows have ended: what they need must be at hand."
        ) from error
    buckets = []
    with reading_state(OWNER):
        for of_pass in setup.passes:
            where = repr(of_pass.units[0].partition)
            blobs = [parts[part_of(number, where, n)] for n in range(counts[where])]
            buckets.append([Bucket.load(of_pass, bytes(blob), drop=True) for blob in blobs])
    return Generation(setup, queries, spans, exact=exact, begin=begin, buckets=buckets)


def _handed_over(
    generations: Sequence[Generation],
    planner: Planner,
    unchanged: set[str],
    schema: pa.Schema,
    options: LiveOptions,
    fine: bool,
    begin: int | None,
) -> list[Generation]:
    """Return generations with a new one, for added queries and for windows to come.

    begin: the new generation answers windows that begin then or later.
    """
    windowed = set()
    for generation in generations:
        for name in generation.windowed() & set(generation.spans):
            windowed.add(name)
            span = generation.spans[name]
            if span.stop is None:
                generation.spans[name] = Span(span.start, begin)
    queries = [q for q in planner.queries if q.name not in unchanged or q.name in windowed]
    if not queries:
        return list(generations)
    setup = planner.plan(queries, planner.exact, schema, options, fine)
    if setup.options.clock.per_microsecond > 1 and not fine and begin is not None:
        raise StateError(
            "A query's window needs nanoseconds, and the times of the saved state are in "
            "microseconds. Start anew, or use windows of whole microseconds."
        )
    spans = {query.name: Span(begin) for query in queries}
    count = options.buckets
    new = Generation(setup, queries, spans, exact=planner.exact, begin=begin, count=count)
    return [*generations, new]
