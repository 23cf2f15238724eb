"""Evaluations of match queries from the literature, to compare with the engine.

Each returns the matches that the engine returns, with other costs:

- `runs`: the runs of an automaton, cloned at each event that may be skipped, which share a buffer
  of events and test all predicates on each edge (SASE+: Agrawal et al., SIGMOD 2008);
- `zstream`: the same, but events wait in a buffer for each state until no buffer on some way to the
  end is empty (Mei and Madden, SIGMOD 2009);
- `postponing`: one run for all matches that begin with an event takes whatever fits by type and
  window; predicates between events are tested when matches are made (SASE++, Section 5.1).

The engine itself has `paths` and `on-the-fly` (SASE++, Section 5.2). A query that an evaluation
cannot run, such as one with COLLAPSED, is evaluated by paths, and `explain` says why.
"""

from __future__ import annotations

from typing import Any

from elsinore.operators import registered
from elsinore.workload import Workload

EVALUATIONS = ("runs", "zstream", "postponing")


def run_by(evaluation: str, workload: Workload, events: Any, **options: Any) -> Any:
    """Return the results of a workload whose match queries are evaluated as `evaluation` says.

    It is one of `EVALUATIONS`, or of the engine's ("auto", "paths", "on-the-fly"). A workload keeps
    its plans, so each evaluation needs a new one. `options` are those of `Workload.run`.
    """
    if evaluation not in EVALUATIONS:
        return workload.run(events, evaluation=evaluation, **options)  # type: ignore[arg-type]
    with registered(f"benchmarks.evaluations.{evaluation}"):
        return workload.run(events, **options)
