"""Which queries share what, why others do not, and what a sample of the events showed of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.plan.paths import Path
from elsinore.plan.sharing import loops, sharing_sets, why_not
from elsinore.plan.trends import TrendUnit
from elsinore.plan.unit import Partition
from elsinore.words import count, listed

MOST_PAIRS = 20  # pairs of queries that are told for one reason; the rest is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBursts:
    """What became of one sharing set's bursts in a sample (HAMLET, Section 4).

    `events` are those of all its bursts, `shared_events` those of the `shared` ones.
    """

    pattern: str  # the Kleene sub-pattern, such as Travel+
    queries: tuple[str, ...]
    bursts: int
    shared: int
    events: int
    shared_events: int
    graphlet_snapshots: int
    event_snapshots: int


@dataclass(frozen=True, slots=True)
class SharedSample:
    """What was shared in a run over the first `events` of `total` events."""

    events: int
    total: int
    sets: tuple[SharedBursts, ...]


@dataclass(frozen=True, slots=True)
class Alone:
    """Queries that share no bursts with any other, for one reason."""

    queries: tuple[str, ...]
    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Apart:
    """Pairs of queries that share no bursts with one another, for one reason."""

    pairs: tuple[tuple[str, str], ...]
    why: str


Units = Sequence[tuple[Partition, TrendUnit]]  # all of a workload's


def may_share(units: Units) -> bool:
    """Return whether some queries may share the events of a graph."""
    return any(sharing_sets(unit.templates) for _, unit in units if unit.path is Path.SHARED)


def alone(units: Units) -> tuple[Alone, ...]:
    """Return the queries that share no graph with any other, by their reasons.

    They are on a path that keeps none that could be shared, or in no sharing set.
    """
    found: dict[tuple[Path, str], list[str]] = {}
    others = sum(len(unit.members) for _, unit in units if unit.path is Path.SHARED) - 1
    for _, unit in units:
        reasons = unit.why if unit.path is not Path.SHARED else _unshared(unit, others)
        for template, why in zip(unit.members, reasons, strict=True):
            if why is not None:
                found.setdefault((unit.path, why), []).append(template.query.name)
    return tuple(Alone(tuple(queries), *reason) for reason, queries in found.items())


def _unshared(unit: TrendUnit, others: int) -> list[str | None]:
    """Return why each query of a unit in the shared graph is in no sharing set; None: it is."""
    sharing = {query for one in sharing_sets(unit.templates) for query in one.queries}
    told: list[str | None] = []
    for number, template in enumerate(unit.templates):
        if number in sharing:
            why = None
        elif not loops(template):
            why = "it has no Kleene sub-pattern"
        elif others:
            why = "it goes together with no other query there"
        else:
            why = "no other query is run there"
        told.append(None if why is None else f"alone in the shared graph: {why}")
    return told


def apart(units: Units) -> tuple[Apart, ...]:
    """Return the pairs of queries that could share by their paths and do not, by their reasons."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one, other, why in _reasons(units):
        found.setdefault(why, []).append((one, other))
    return tuple(Apart(tuple(pairs), why) for why, pairs in found.items())


def _reasons(units: Units) -> Iterator[tuple[str, str, str]]:
    shared = [(key, unit) for key, unit in units if unit.path is Path.SHARED]
    for _, unit in shared:
        for one, other in itertools.combinations(unit.templates, 2):
            why = why_not(one, other)
            if why is not None:
                yield one.query.name, other.query.name, why
    for (key, here), (other_key, there) in itertools.combinations(shared, 2):
        why = f"their events are partitioned by {_partition(key)}, {_partition(other_key)}"
        for first, second in itertools.product(here.templates, there.templates):
            yield first.query.name, second.query.name, why


def _partition(partition: Partition) -> str:
    return f"[{', '.join(partition.key)}]"


def sharing_text(units: Units, sample: SharedSample | None) -> list[str]:
    """Return lines on what is shared and what not; none where there is nothing to tell."""
    kept = any(unit.path is not Path.COARSE for _, unit in units)
    if sample is None and not kept:
        return []
    if sample is None:
        lines = ["", "Sharing of bursts"]
    else:
        over = "all" if sample.events == sample.total else f"the first {sample.events:,} of"
        lines = ["", f"Sharing of bursts, over {over} {count(sample.total, 'event', 'events')}"]
        for found in sample.sets:
            lines += _set_lines(found)
    for single in alone(units):
        what, _, reason = single.why.partition(": ")
        if single.path is Path.COARSE:
            told = f"{what}; a burst changes them at once for all that share it"
        else:
            told = f"{what}, as {reason}"
        lines.append(f"  {listed(single.queries, MOST_PAIRS)}: {told}.")
    for pairs in apart(units):
        names = [" with ".join(pair) for pair in pairs.pairs]
        lines.append(f"  Not {listed(names, MOST_PAIRS)}: {pairs.why}.")
    return lines


def _set_lines(found: SharedBursts) -> list[str]:
    lines = [f"  {found.pattern} of {listed(found.queries, MOST_PAIRS)}"]
    if found.bursts == 0:
        return [*lines, "    no bursts"]
    share, weight = found.shared / found.bursts, found.shared_events / max(found.events, 1)
    lines.append(
        f"    {share:.0%} of {count(found.bursts, 'burst', 'bursts')} shared, with {weight:.0%} of "
        f"{count(found.events, 'event', 'events')}"
    )
    lines.append(
        f"    {count(found.graphlet_snapshots, 'snapshot', 'snapshots')} of graphlets, "
        f"{found.event_snapshots:,} of events"
    )
    return lines


def sharing_facts(units: Units, sample: SharedSample | None) -> dict[str, Any]:
    """Return what there is to tell of sharing, as plain data; `sampled` only with a sample."""
    told: dict[str, Any] = {
        "alone": [
            {"queries": list(one.queries), "path": one.path.value, "why": one.why}
            for one in alone(units)
        ],
        "apart": [
            {
                "pairs": [list(pair) for pair in one.pairs[:MOST_PAIRS]],
                "count": len(one.pairs),
                "why": one.why,
            }
            for one in apart(units)
        ],
    }
    if sample is not None:
        told["sampled"] = {
            "events": sample.events,
            "total": sample.total,
            "sets": [_set_facts(found) for found in sample.sets],
        }
    return told


def _set_facts(found: SharedBursts) -> dict[str, Any]:
    return {
        "pattern": found.pattern,
        "queries": list(found.queries),
        "bursts": found.bursts,
        "shared_bursts": found.shared,
        "events": found.events,
        "shared_events": found.shared_events,
        "graphlet_snapshots": found.graphlet_snapshots,
        "event_snapshots": found.event_snapshots,
    }


def path_in_words(path: Path, why: str) -> str:
    """Return a query's way and the reason for it as one phrase.

    >>> path_in_words(Path.GRAPH, "its own graph of events: NOT looks at what lies between events")
    'graph path (its own graph of events), as NOT looks at what lies between events'
    """
    what, _, reason = why.partition(": ")
    return f"{path.value} path ({what}), as {reason}" if reason else f"{path.value} path: {what}"
