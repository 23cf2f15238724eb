"""Choosing whether tasks that read files combine a key's events before they are shuffled."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.operators.panes import SEVERAL_OPERATORS
from elsinore.plan import Sharing, Unit
from elsinore.plan.modes import Combine
from elsinore.runtime.options import RunOptions
from elsinore.spark.combining import CombineEvents, apart, least_events, panes_of, shared_times
from elsinore.spark.scan.files import RowGroup
from elsinore.spark.scan.ranges import pieces_of, span_of

ENOUGH_ROWS = 1 << 17  # fewer are sent sooner than tasks have loaded what combines them
MOSTLY = 0.5  # of the events must lie where no other task has any, for some to be combined


def combining(
    units: Sequence[Unit], parts: Sequence[Sequence[RowGroup]], options: RunOptions
) -> CombineEvents | str:
    """Return what combines a pass's events, or why they all travel; `parts`: what each task reads.

    Queries that share what they do otherwise than by default are told of what they shared, so they
    are given all events.
    """
    if options.combine is Combine.NEVER:
        return "that was asked for (combine: never)"
    if len(units) > 1:
        return SEVERAL_OPERATORS
    if options.record:
        return "a record of every decision is asked for, and decisions are about single events"
    if options.sharing is not Sharing.DYNAMIC:
        return f"queries are to share in one way (sharing: {options.sharing.value})"
    (unit,) = units
    panes = panes_of(unit)
    if isinstance(panes, str):
        return panes
    least = least_events(panes.size, options.combine)
    if least is None:
        return "what a pane's events do, as numbers, costs more than any number of them"
    if any(group.span is None for part in parts for group in part):
        return "the files do not tell the first and the last time of each row group"
    pieces = [piece for part in parts for piece in pieces_of(part)]
    spans = [span_of(piece) for piece in pieces]
    rows = [sum(group.rows for group in piece) for piece in pieces]
    shared = shared_times(spans)
    if options.combine is Combine.AUTO:
        if sum(rows) < ENOUGH_ROWS:
            return f"there are fewer than {ENOUGH_ROWS:,} events"
        share = apart(spans, rows, shared)
        if share < MOSTLY:
            return f"row groups overlap in time: {share:.0%} of the events lie in one alone"
    orders = tuple(f"o{n}" for n in range(len(options.order_by)))
    return CombineEvents(unit=unit, least=least, shared=shared, orders=orders)
