"""`elsinore compile`: compile all kernels ahead of time, for images and fast first answers."""

from __future__ import annotations

import time

import typer

from elsinore.cli.console import ArgumentError, reported
from elsinore.operators import OperatorOptions
from elsinore.operators.registry import MODULES, kind_in
from elsinore.plan import Sharing
from elsinore.words import count
from elsinore.workload import Workload

MINUTES = 6  # of one core, for all kernels
_CLOSING = OperatorOptions(
    one_slot=False, ordered=True, sharing=Sharing.DYNAMIC, record=False
)  # as a live stream has it


@reported
def compile_all() -> None:
    """Compile in advance what match queries need.

    The compiled code is kept in the folder that ELSINORE_CACHE_DIR names, or else in elsinore in
    your cache folder, and is for this processor, this Python and this release. Quantitative queries
    and aggregates in Python are programs of their own, which the first run over many events
    compiles and keeps there.
    """
    from elsinore.kernels import SHELF, compiling, numba_is_installed  # noqa: PLC0415 - Numba
    from elsinore.operators.rehearsal import rehearse_closing  # noqa: PLC0415

    if not numba_is_installed():
        raise ArgumentError(
            "Numba is not installed, so there is nothing to compile. Install it with: "
            "pip install 'elsinore[compiled]'"
        )
    folder = SHELF.place()
    if folder is None:
        raise ArgumentError("There is no folder for compiled kernels: see above.")
    typer.echo(f"Compiling all kernels: about {MINUTES} minutes where none are kept yet.", err=True)
    begun = time.monotonic()
    for module in MODULES:
        kind = kind_in(module)
        for rehearsal in kind.rehearsals():
            workload = Workload.parse(rehearsal.queries)
            for sharing in Sharing:
                with compiling():
                    workload.run(list(rehearsal.events), sharing=sharing.value, **rehearsal.options)
            for unit in workload.plan.units:
                with compiling():
                    rehearse_closing(unit, _CLOSING)
    seconds = time.monotonic() - begun
    typer.echo(
        f"{count(len(SHELF.compiled), 'kernel')} compiled, {len(SHELF.loaded)} there already, "
        f"in {seconds:.0f} s: {folder}"
    )
