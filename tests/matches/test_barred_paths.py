"""A match that NOT does not let continue is given up: later events are not tried one by one."""

import os
import subprocess
import sys

SCRIPT = """
import elsinore as el
from elsinore.matches.engine import followers

counted = 0
is_open = followers.is_open


def counting(*arguments):
    global counted
    counted += 1
    return is_open(*arguments)


followers.is_open = counting
for size in (20, 80):
    counted = 0
    workload = el.Workload.parse(
        "RETURN a.time AS a, c.time AS c PATTERN SEQ(A a, NOT D d, C c) "
        "STRATEGY SKIP TILL NEXT MATCH"
    )
    events = [{"time": n, "type": "ADC"[n % 3]} for n in range(3 * size)]
    events += [{"time": 3 * size, "type": "A"}, {"time": 3 * size + 1, "type": "C"}]
    (table,) = workload.run(events).values()
    assert table.to_pylist() == [{"a": 3 * size, "c": 3 * size + 1}]
    print(counted)
"""


def test_checks_of_not_grow_with_the_stream_and_not_with_its_square() -> None:
    """They are counted in a process that runs compiled modules as plain Python."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"ELSINORE_PURE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    few, many = map(int, done.stdout.split())
    assert 0 < many <= 5 * few
