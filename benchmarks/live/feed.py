"""A process that adds events to a folder or a topic at a rate, while a stream reads them."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.live.events import DENSITY, events, write_file


@contextmanager
def feeding(
    target: str, *, rate: int, seconds: float, every: float, clock: bool = False
) -> Iterator[None]:
    """Feed a folder or an address of Kafka; stop when the block ends.

    rate: events a second, in files or bursts of `every` seconds. clock: times of events are the
    machine's; else the events' time passes by DENSITY events a second.
    """
    command = [sys.executable, "-m", "benchmarks.live.feed", target]
    command += ["--rate", str(rate), "--seconds", str(seconds), "--every", str(every)]
    process = subprocess.Popen([*command, *(["--clock"] if clock else [])])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--every", type=float, required=True)
    parser.add_argument("--clock", action="store_true")
    arguments = parser.parse_args()
    begun = time.time()
    density = arguments.rate if arguments.clock else DENSITY
    write = writer_to(arguments.target, int(begun * 1e6), density)
    rows = int(arguments.rate * arguments.every)
    for number in range(int(arguments.seconds / arguments.every)):
        happened = begun + (number + 1) * arguments.every  # when the last of the events happens
        time.sleep(max(0.0, happened - time.time()))
        write(number * rows, rows)


def writer_to(target: str, start: int, density: int) -> Callable[[int, int], None]:
    """Return what writes so many events from a number on; start: the time of the first one."""
    if target.startswith("kafka:"):
        from benchmarks.live.kafka import Filler  # noqa: PLC0415 - needs a client

        filler = Filler(target)
        return lambda first, count: filler.write(first, count, start=start)
    folder = Path(target)

    def add_file(first: int, count: int) -> None:
        write_file(events(first, count, start=start, density=density), folder, first // count)

    return add_file


if __name__ == "__main__":
    main()
