"""What the engine decided of each burst, told by the events of one key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elsinore.plan import TrendUnit
from elsinore.plan.merged import nodes_of_states
from elsinore.trends.engine.sharing.sets import sharing_sets
from elsinore.trends.engine.sharing.statistics import in_words
from elsinore.trends.engine.units import engine_unit
from elsinore.trends.engine.updates import Updates
from elsinore.trends.graphlets.build import Piece, SharedSet, State
from elsinore.trends.graphlets.counts import RecordedEvent
from elsinore.trends.statistics import BurstRecord, SharingStatistics

Members = Mapping[State, int]  # of a sharing set, each with the bit that tells it in a mask


def shared_sets(
    unit: TrendUnit,
    sharing: Sequence[SharingStatistics],
    events: Sequence[tuple[int, RecordedEvent]],
) -> list[SharedSet]:
    """Return the sharing sets of a unit, with the bursts of one key.

    events: of the key, each with the slot that it had.
    """
    records_of = {
        (statistics.name, statistics.queries): statistics.records for statistics in sharing
    }
    sets_with_pieces = []
    for name, members in _sets(unit):
        queries = dict.fromkeys(query for query, _ in sorted(members))
        names = tuple(unit.templates[query].query.name for query in queries)
        pieces = _pieces(unit, members, records_of.get((name, names), ()), events)
        sets_with_pieces.append(SharedSet(frozenset(members), pieces))
    return sets_with_pieces


def _sets(unit: TrendUnit) -> list[tuple[str, Members]]:
    """Return the sharing sets of a unit, by their sub-patterns; all who are in one may share."""
    engine = engine_unit(unit)
    assert engine is not None
    nodes = nodes_of_states(engine.templates)
    return [
        (
            f"{found.type}+{in_words(found.reads)}",
            {
                state: 0
                for state, node in nodes.items()
                if any(node in cohort for cohort in found.holders)
            },
        )
        for found in sharing_sets(Updates(engine))
    ]


def _pieces(
    unit: TrendUnit,
    members: Members,
    records: Sequence[BurstRecord],
    events: Sequence[tuple[int, RecordedEvent]],
) -> dict[int, Piece]:
    """Return the piece of each event, by its row: a record tells the first event's time."""
    taken = [(slot, event) for slot, event in events if _takes(unit, members, event)]
    by_row: dict[int, Piece] = {}
    place = 0
    for number, record in enumerate(sorted(records, key=lambda piece_record: piece_record.time)):
        begin = place
        while begin < len(taken) and taken[begin][1].time < record.time:
            begin += 1
        if begin == len(taken) or taken[begin][1].time != record.time:
            continue
        if taken[begin][0] != record.key:
            continue
        sharers = frozenset(state for state, bit in members.items() if record.mask >> bit & 1)
        for _, event in taken[begin : begin + record.events]:
            by_row[event.row] = Piece(number, sharers)
        place = begin + record.events
    return by_row


def _takes(unit: TrendUnit, members: Members, event: RecordedEvent) -> bool:
    return any(
        move.target == state and move.takes(event.type, event.true)
        for query, state in members
        for move in unit.templates[query].transitions
    )
