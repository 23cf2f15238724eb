"""Entries of `progress` that evaluations have beside those of `benchmarks.evaluations.checks`."""

from __future__ import annotations

from benchmarks.evaluations.checks import PROGRESS

# How far to go (`GO_BEGIN` ...); how many matches there is room for at a time; what is counted:
# runs, at most at once, events stored, predicates looked at, complete candidates.
GO, AT_ONCE, RUNS, PEAK, STORED, LOOKED, CANDIDATES = range(PROGRESS, PROGRESS + 7)
# Of main runs: whether to filter early; how many edges there are; how many events were taken,
# below 0 where the run was not made yet.
EARLY, EDGES, MEMBERS = range(PROGRESS + 7, PROGRESS + 10)
EVALUATION_PROGRESS = PROGRESS + 10
GO_BEGIN, GO_MATCH, GO_CONSTRUCT = range(3)  # begin runs alone; extend them too; make matches too
