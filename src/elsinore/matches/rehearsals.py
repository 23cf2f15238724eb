"""Small workloads that go all ways through the match engine, for its kernels to be compiled."""

from __future__ import annotations

from elsinore.operators import Rehearsal

_EVENTS = tuple(
    {"time": time, "type": kind, "k": time % 2, "v": float(value)}
    for time, (kind, value) in enumerate(
        [("A", 1), ("A", 2), ("B", 2), ("B", 3), ("N", 0), ("B", 4), ("B", 3), ("C", 5), ("C", 6)]
    )
)
_STRATEGIES = """
    QUERY contiguous RETURN a.v, COUNT(b[]) PATTERN SEQ(A a, B+ b[]) WHERE [k]
    STRATEGY CONTIGUOUS WITHIN 20;
    QUERY next RETURN a.v, AVG(b[].v), MAX(b[].v), c.v PATTERN SEQ(A a, B+ b[], C c)
    WHERE b[i].v >= b[i-1].v STRATEGY SKIP TILL NEXT MATCH WITHIN 20;
    QUERY any RETURN a.v, b[].v, b[1].time, b[b.LEN].time, c.v
    PATTERN SEQ(A a, NOT N n, B+ b[], C c)
    WHERE b[i].v > MAX(b[1..i-1].v) AND c.v > AVG(b[].v) WITHIN 20;
"""
_WINDOWS = """
    QUERY rising RETURN b[].v PATTERN B+ b[] WHERE b[i].v >= b[i-1].v
    STRATEGY SKIP TILL ANY MATCH WITHIN 8 SLIDE 4 LIMIT 3;
    QUERY sets RETURN a.v, b[].v PATTERN SEQ(A a, B+ b[]) WITHIN 8 COLLAPSED;
    QUERY paths RETURN a.v, b[].v PATTERN SEQ(A a, B+ b[]) WHERE b[i].v >= b[i-1].v
    WITHIN 8 SLIDE 4 COLLAPSED;
    QUERY either RETURN a.v PATTERN SEQ(A a, (B b OR C c)) WITHIN 8;
"""

_UNCERTAIN = """
    QUERY probable RETURN a.v, b[].v, CONFIDENCE() PATTERN SEQ(A a, B+ b[], C c)
    WHERE b[i].v >= b[i-1].v WITHIN 5 CONFIDENCE >= 0.1;
    QUERY unbroken RETURN a.v PATTERN SEQ(A a, NOT N n, B b) WITHIN 5 COLLAPSED;
"""

REHEARSALS = (
    Rehearsal(queries=_STRATEGIES, events=_EVENTS),
    Rehearsal(queries=_WINDOWS, events=_EVENTS),
    Rehearsal(queries=_UNCERTAIN, events=_EVENTS, options={"time_interval": ("time", "time + 2")}),
)
