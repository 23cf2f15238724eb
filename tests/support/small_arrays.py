"""Searches with small arrays, which have to grow every few events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from benchmarks.evaluations import kernel_search, postponed_search, run_kernels, run_search

from elsinore.matches import store
from elsinore.matches.engine import pattern
from elsinore.operators.conditions import ranked
from support.drawn import Drawn
from support.uncompiled import in_python

POSTPONED_KERNELS = ((postponed_search, "scan_main_runs"),)
EVALUATION_KERNELS = ((run_kernels, "scan_runs"), *POSTPONED_KERNELS)


@cache
def _plain_python(module: ModuleType, name: str) -> Any:
    return in_python(getattr(module, name))


def interpret_evaluations(
    patch: pytest.MonkeyPatch, kernels: Sequence[tuple[ModuleType, str]] = EVALUATION_KERNELS
) -> None:
    """Run the evaluations of papers as plain Python: Numba compiles each kernel for ten seconds.

    Each kernel runs compiled in one test of `tests/benchmarks/test_sase_figures.py`.
    """
    for module, name in kernels:
        patch.setattr(module, name, _plain_python(module, name))


def with_small_arrays(patch: pytest.MonkeyPatch, drawn: Drawn) -> None:
    """Make searches start with arrays for a few matches of a few events."""
    interpret_evaluations(patch)
    for module in (pattern, kernel_search):
        patch.setattr(module, "STEPS", drawn.number(2, 4))
        patch.setattr(module, "ROOM", drawn.number(1, 3))
    patch.setattr(pattern, "WIDEST", 4)
    patch.setattr(run_search, "RUNS", drawn.number(2, 4))
    patch.setattr(pattern, "PAUSE_STEPS", drawn.number(1, 9))
    patch.setattr(pattern, "MANY", drawn.one([-1.0, 0.5]))
    patch.setattr(store, "FEW", drawn.number(0, 4))
    patch.setattr(ranked, "FEW", drawn.number(0, 2))
    patch.setattr(ranked, "STEP", 1)
    patch.setattr(ranked, "HIGHEST", drawn.number(20, 40))
