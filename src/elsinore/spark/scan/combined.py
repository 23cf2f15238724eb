"""Deciding whether tasks that read files combine a key's events before the shuffle."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.plan import Sharing, Unit
from elsinore.plan.modes import Combine
from elsinore.runtime.options import RunOptions
from elsinore.spark.combining import (
    CombineEvents,
    least_events,
    panes_of,
    share_outside,
    shared_times,
)
from elsinore.spark.scan.files import RowGroup
from elsinore.spark.scan.parts import MOSTLY
from elsinore.spark.scan.ranges import pieces_of, span_of

ENOUGH_ROWS = 1 << 17  # with fewer rows, loading the code that combines takes longer than shuffling
TOO_DEAR = "an action of a pane costs more than any number of its events"
ALL_THE_SAME = "other operators of the same pass read the events anyway"


def combining(
    units: Sequence[Unit], parts: Sequence[Sequence[RowGroup]], options: RunOptions
) -> CombineEvents | str:
    """Return the combiner of a pass's events, or the reason against one.

    `parts` are the row groups of each task. Only one of several units can be combined. Events are
    not combined if the user set options of sharing, because statistics then report all bursts.
    """
    if options.combine is Combine.NEVER:
        return "as requested (combine: never)"
    if options.record:
        return "a record of every decision was requested, and decisions are about single events"
    if options.sharing is not Sharing.DYNAMIC:
        return f"queries are to share in one way (sharing: {options.sharing.value})"
    chosen = _chosen(units, options.combine)
    if isinstance(chosen, str):
        return chosen
    number, least = chosen
    if any(group.span is None for part in parts for group in part):
        return "the files do not record the first and the last time of each row group"
    pieces = [piece for part in parts for piece in pieces_of(part)]
    spans = [span_of(piece) for piece in pieces]
    rows = [sum(group.rows for group in piece) for piece in pieces]
    shared = shared_times(spans)
    if options.combine is Combine.AUTO:
        if sum(rows) < ENOUGH_ROWS:
            return f"there are fewer than {ENOUGH_ROWS:,} events"
        share = share_outside(spans, rows, shared)
        if share < MOSTLY:
            return (
                f"the row groups of several tasks overlap in time: {share:.0%} of the events are "
                "at times at which only one task has events"
            )
    orders = tuple(f"o{n}" for n in range(len(options.order_by)))
    return CombineEvents(
        units=tuple(units), number=number, least=least, shared=shared, orders=orders
    )


def _chosen(units: Sequence[Unit], mode: Combine) -> tuple[int, int] | str:
    """Return the unit to combine and the least number of its events, or the reason against it."""
    whys = []
    for number, unit in enumerate(units):
        panes = panes_of(unit)
        if isinstance(panes, str):
            whys.append(panes)
            continue
        other_units = [*units[:number], *units[number + 1 :]]
        least = least_events(panes.size, mode, unsent_share=unsent_share(unit, other_units))
        if least is not None:
            return number, least
        whys.append(ALL_THE_SAME if other_units else TOO_DEAR)
    return "; ".join(dict.fromkeys(whys))


def unsent_share(unit: Unit, other_units: Sequence[Unit]) -> float:
    """Return the share of a unit's types whose events are not shuffled if they are combined.

    Events are shuffled anyway if another unit reads all events of their type, or all events.
    """
    travel: set[str] = set()
    for beside in other_units:
        if beside.keeps_all:
            return 0.0
        predicate_sets = dict(beside.predicate_sets)
        travel |= {
            name for name in beside.types if not all(predicate_sets.get(name, (frozenset(),)))
        }
    return 1.0 - len(travel.intersection(unit.types)) / max(1, len(unit.types))
