"""Evaluation methods of match queries from the literature, to compare with the engine.

Each returns the matches that the engine returns, with other costs:

- `runs`: the runs of an automaton, cloned at each event that may be skipped, which share a buffer
  of events and test all predicates on each edge (SASE+: Agrawal et al., SIGMOD 2008);
- `zstream`: the same, but events wait in a buffer for each state until no buffer on some way to the
  end is empty (Mei and Madden, SIGMOD 2009);
- `postponing`: one run for all matches that begin with an event takes whatever fits by type and
  window; predicates between events are tested when matches are made (SASE++, Section 5.1);

- `on-the-fly`: the same behind early filters, which do not take what a predicate rules out for
  whatever events are selected (SASE++, Section 5.2).

A query that an evaluation cannot run, such as one with COLLAPSED, is left to the engine.
"""

from __future__ import annotations

from typing import Any

from elsinore.operators import registered
from elsinore.workload import Workload

EVALUATIONS = ("runs", "zstream", "postponing", "on-the-fly")
ENGINE = "engine"


def run_by(evaluation: str, workload: Workload, events: Any, **options: Any) -> Any:
    """Return the results of a workload whose match queries are evaluated as `evaluation` says.

    It is one of `EVALUATIONS`, or `ENGINE`. A workload keeps its plans, so each evaluation needs a
    new one. `options` are those of `Workload.run`.
    """
    if evaluation == ENGINE:
        return workload.run(events, **options)
    with registered(module_of(evaluation)):
        return workload.run(events, **options)


def module_of(evaluation: str) -> str:
    """Return the module with the kind of queries of an evaluation.

    >>> module_of("on-the-fly")
    'benchmarks.evaluations.on_the_fly'
    """
    return f"benchmarks.evaluations.{evaluation.replace('-', '_')}"
