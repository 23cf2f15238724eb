"""Entries of `progress` that runs have beside those of `benchmarks.evaluations.main_counters`."""

from __future__ import annotations

from benchmarks.evaluations.main_counters import EVALUATION_PROGRESS

# The next event, place of a run, and choice; the number of runs listed before this event, and with
# those of this event; free runs; versions; rows before the registers of runs; whether to buffer as
# ZStream does; runs have examined the events before READY.
(
    NEXT_EVENT, NEXT_RUN, NEXT_CHOICE, ACTIVE, LISTED_RUNS, FREE_RUNS, VERSIONS, ROOM, ZSTREAM,
    READY,
) = range(EVALUATION_PROGRESS, EVALUATION_PROGRESS + 10)  # fmt: skip
RUNS_PROGRESS = EVALUATION_PROGRESS + 10
