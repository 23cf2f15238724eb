"""Small workloads that go all ways through the trend engine, for its kernels to be compiled."""

from __future__ import annotations

from elsinore.operators import Rehearsal

ROUNDS = 400  # with as many of T, numbers of trends pass 2**384 and get exponents

_FEW = tuple(
    {"time": time, "type": kind, "k": 1, "v": float(value)}
    for time, (kind, value) in enumerate(
        [("A", 2), ("T", 1), ("T", 3), ("N", 0), ("T", 2), ("Z", 4)]
    )
)
_MANY = tuple(
    {"time": time, "type": "A" if time % 40 == 0 else "T", "k": time % 2, "v": float(time % 7)}
    for time in range(2 * ROUNDS)
)
_AT_ONCE = tuple({**event, "time": place // 2} for place, event in enumerate(_FEW))

_TEXT = tuple({**event, "k": "xyz"[place % 3]} for place, event in enumerate(_FEW))

_SUMS = """
    QUERY a RETURN k, COUNT(*), SUM(T.v), MIN(T.v) PATTERN SEQ(A, T+) WHERE [k] GROUP BY k;
    QUERY b RETURN COUNT(*) PATTERN SEQ(A, NOT N, T+) WHERE T.v < 3 WITHIN 40 SLIDE 20;
    QUERY c RETURN COUNT(*) PATTERN SEQ(Z, T+);
"""
_PREDICATES = """
    QUERY a RETURN COUNT(*) PATTERN SEQ(A, T+) WHERE T.v < 1 AND T.k IN ('x', 'y') GROUP BY k;
    QUERY b RETURN COUNT(*) PATTERN SEQ(Z, T+) WHERE T.v < 2 AND T.k = 'z' GROUP BY k;
    QUERY c RETURN COUNT(*) PATTERN SEQ(N, T+) WHERE T.v < 3 AND T.k != 'x' GROUP BY k;
    QUERY d RETURN COUNT(*) PATTERN SEQ(A, Z+) WHERE Z.v < 3;
"""
_NEIGHBOURS = """
    QUERY a RETURN COUNT(*), MAX(T.v) PATTERN SEQ(A, T+) WHERE T[i].v >= T[i-1].v;
    QUERY b RETURN COUNT(*) PATTERN SEQ(Z, T+) WHERE T[i].v >= T[i-1].v AND Z.v < 3;
"""
_ALONE = "QUERY a RETURN COUNT(*) PATTERN SEQ(A, T+) WHERE T[i].v >= T[i-1].v AND [k];"
_SLIDES = "QUERY a RETURN COUNT(*) PATTERN SEQ(A, T+, Z) WHERE T[i].v >= T[i-1].v WITHIN 2 SLIDE 1;"
_GRAPH = """
    QUERY a RETURN COUNT(*), SUM(T.v) PATTERN SEQ(A, T+)
    WHERE T[i].v >= T[i-1].v AND T[i].v < 9 * T[i-1].v;
    QUERY b RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(N, Z), T+) WHERE T[i].v >= A.v;
"""
_STEPS = """
    QUERY a RETURN COUNT(*) PATTERN SEQ(A, T+) WHERE T[i].v >= T[i-1].v
    STRATEGY SKIP TILL NEXT MATCH;
    QUERY b RETURN SUM(T.v), MAX(T.v) PATTERN SEQ(A, T+) STRATEGY CONTIGUOUS WITHIN 40 SLIDE 20;
"""
_BOTH = "QUERY a RETURN COUNT(*) PATTERN (SEQ(A, T+) AND Z) WITHIN 40 SLIDE 20;"

REHEARSALS = (
    Rehearsal(queries=_SUMS, events=_MANY),
    Rehearsal(queries=_SUMS, events=_AT_ONCE),
    Rehearsal(queries=_PREDICATES, events=_TEXT),
    Rehearsal(queries=_NEIGHBOURS, events=_MANY),
    Rehearsal(queries=_NEIGHBOURS, events=_AT_ONCE),
    Rehearsal(queries=_ALONE, events=_MANY),
    Rehearsal(queries=_SLIDES, events=_FEW),
    Rehearsal(queries=_GRAPH, events=_FEW),
    Rehearsal(queries=_STEPS, events=_AT_ONCE),
    Rehearsal(queries=_BOTH, events=_FEW),
)
