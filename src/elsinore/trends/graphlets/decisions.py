"""What the engine decided of each burst, told by the events of one key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elsinore.plan import Path, TrendUnit
from elsinore.plan.merged import nodes_of_states
from elsinore.plan.sharing import loop_sets
from elsinore.trends.graphlets.build import Piece, SharedSet, State
from elsinore.trends.graphlets.counts import RecordedEvent
from elsinore.trends.nodes.labels import Labels
from elsinore.trends.sharing.groups import groups_of
from elsinore.trends.statistics import BurstRecord, SharingStatistics

Members = Mapping[State, int]  # of a sharing set, each with the bit that tells it in a mask


def shared_sets(
    unit: TrendUnit,
    sharing: Sequence[SharingStatistics],
    events: Sequence[tuple[int, RecordedEvent]],
    *,
    mixed: bool,
) -> list[SharedSet]:
    """Return the sharing sets of a unit, with the bursts of one key.

    events: of the key, each with the slot that it had. mixed: queries that compare events in
    different ways may share.
    """
    records_of = {
        (statistics.name, statistics.queries): statistics.records for statistics in sharing
    }
    sets_with_pieces = []
    for name, members in _sets(unit, mixed=mixed):
        queries = dict.fromkeys(query for query, _ in sorted(members))
        names = tuple(unit.templates[query].query.name for query in queries)
        pieces = _pieces(unit, members, records_of.get((name, names), ()), events)
        sets_with_pieces.append(SharedSet(frozenset(members), pieces))
    return sets_with_pieces


def _sets(unit: TrendUnit, *, mixed: bool) -> list[tuple[str, Members]]:
    """Return the sharing sets of a unit, by their sub-patterns.

    On the path that keeps sums all who are in one share, or none does. In the shared graph a mask
    has a bit for each group of a set.
    """
    if unit.path is not Path.COARSE:
        sets = loop_sets(unit.templates, mixed=mixed)
        return [
            (sharing_set.name, dict(zip(sharing_set.members, sharing_set.groups, strict=True)))
            for sharing_set in sets
        ]
    nodes = nodes_of_states(unit.templates)
    with_groups: list[tuple[str, Members]] = []
    for group in groups_of(unit, Labels(unit.classes)):
        holders = {node for cohort in group.cohorts for node in cohort.nodes}
        members = {state: 0 for state, node in nodes.items() if node in holders}
        with_groups.append((f"{group.type}+", members))
    return with_groups


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
