"""The speed-up by the machine's cores: independent processes, one alone and all at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection

Runs = dict[str, Callable[[], object]]


class Processes:
    """Processes with the same runs, each of which executes one on request."""

    def __init__(self, made: Callable[[], Runs], count: int) -> None:
        """Start them; `made`, a function of a module, creates the runs in each process."""
        context = multiprocessing.get_context("spawn")
        self._wires: list[Connection] = []
        for _ in range(count):
            mine, its = context.Pipe()
            context.Process(target=_serve, args=(made, its), daemon=True).start()
            self._wires.append(mine)

    def run(self, name: str, processes: int) -> None:
        """Execute a run in a number of processes at once, and wait for all of them."""
        for wire in self._wires[:processes]:
            wire.send(name)
        for wire in self._wires[:processes]:
            wire.recv()


def _serve(made: Callable[[], Runs], wire: Connection) -> None:
    """Execute requested runs one after another, until the connection is closed."""
    runs = made()
    while True:
        try:
            name = wire.recv()
        except EOFError:
            return
        runs[name]()
        wire.send(name)
