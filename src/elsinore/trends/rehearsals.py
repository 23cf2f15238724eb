"""Small workloads for the kernels of the trend engine that Numba compiles: those of variances."""

from __future__ import annotations

from elsinore.operators import Rehearsal

_EVENTS = tuple(
    {"time": time, "type": "A" if time % 10 == 0 else "T", "k": time % 2, "v": float(time % 7)}
    for time in range(40)
)
_AT_ONCE = tuple({**event, "time": place // 2} for place, event in enumerate(_EVENTS))
_SPREAD = """
    QUERY a RETURN k, VARIANCE(T.v) PATTERN SEQ(A, T+) WHERE [k] GROUP BY k;
    QUERY b RETURN VARIANCE(T.v) PATTERN SEQ(A, T+) WITHIN 40 SLIDE 20;
"""

REHEARSALS = (
    Rehearsal(queries=_SPREAD, events=_EVENTS),
    Rehearsal(queries=_SPREAD, events=_AT_ONCE),
)
