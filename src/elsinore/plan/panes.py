"""Whether and how the events of a pane become one action (HAMLET, Section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.plan.merged import Node, ancestors
from elsinore.plan.paths import Path
from elsinore.plan.template import START
from elsinore.plan.trends import TrendUnit

ROW_LIMIT = 48  # of actions: with more they cost more than they save


def stays(nodes: Sequence[Node]) -> tuple[bool, ...]:
    """Return for each node whether trends that ended there stay: none comes back or is emptied.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.operators import plan
    >>> (unit,) = plan(parse_workload("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+, C);")).units
    >>> stays(unit.spec.merged.nodes)
    (True, False, True)
    """
    before = ancestors(nodes)
    return tuple(
        not node.storage.resets
        and not any(edge.source != START and number in before[edge.source] for edge in node.edges)
        for number, node in enumerate(nodes)
    )


def action_rows(nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return for each node the row of an action that says what becomes of trends that end in it.

    Row 0 is of trends that begin, and means none for a node that leads to no other and `stays`. Two
    nodes have one row if no node can be reached from both: then the node of a number determines
    what it came from. So many queries of few states each need no more rows than one of them.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.operators import plan
    >>> texts = [f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A, {t}+, D);" for n, t in enumerate("BC")]
    >>> (unit,) = plan(parse_workload(" ".join(texts))).units
    >>> len(unit.spec.merged.nodes), max(action_rows(unit.spec.merged.nodes))
    (5, 2)
    """
    before, is_staying = ancestors(nodes), stays(nodes)
    leading = {number for number, stay in enumerate(is_staying) if not stay}
    leading.update(*(several - {number} for number, several in enumerate(before)))
    together: list[set[int]] = [set() for _ in nodes]
    for reached_from in before:
        for node in reached_from & leading:
            together[node] |= reached_from
    rows = [0] * len(nodes)
    for node in sorted(leading, key=lambda n: (len(before[n]), n)):
        used = {rows[node_beside] for node_beside in together[node]}
        rows[node] = next(row for row in range(1, len(nodes) + 1) if row not in used)
    return tuple(rows)


def can_combine(unit: TrendUnit) -> str | None:
    """Return why a unit's events cannot be combined by panes; None if they can.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.modes import Granularity
    >>> from elsinore.plan.paths import route
    >>> from elsinore.plan.trends import trend_unit
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;"
    >>> query = parse_workload(text).queries[0]
    >>> can_combine(trend_unit([route(query, Granularity.AUTO, exact=False)])) is None
    True
    """
    if unit.path is not Path.COARSE:
        return "single events are kept, and trends connect them across panes"
    if unit.exact:
        return "it computes with integers of any size"
    if not unit.merged.nodes:
        return "no event can be in a trend"
    if max(action_rows(unit.merged.nodes)) > ROW_LIMIT:
        return f"its template has more than {ROW_LIMIT} states that trends may have in common"
    return None
