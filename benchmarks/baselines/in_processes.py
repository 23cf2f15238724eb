"""What a machine's cores give to a run: processes that share nothing, one alone and all at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection

Runs = dict[str, Callable[[], object]]


class Processes:
    """Processes each of which makes the same runs, and does one of them when it is told."""

    def __init__(self, made: Callable[[], Runs], count: int) -> None:
        """Start them; `made`, a function of a module, makes the runs in each of them."""
        context = multiprocessing.get_context("spawn")
        self._wires: list[Connection] = []
        for _ in range(count):
            mine, its = context.Pipe()
            context.Process(target=_serve, args=(made, its), daemon=True).start()
            self._wires.append(mine)

    def run(self, name: str, processes: int) -> None:
        """Let so many of them do a run at once, and wait for the last."""
        for wire in self._wires[:processes]:
            wire.send(name)
        for wire in self._wires[:processes]:
            wire.recv()


def _serve(made: Callable[[], Runs], wire: Connection) -> None:
    """Do the runs that are named, one after the other, until nobody is left to name any."""
    runs = made()
    while True:
        try:
            name = wire.recv()
        except EOFError:
            return
        runs[name]()
        wire.send(name)
