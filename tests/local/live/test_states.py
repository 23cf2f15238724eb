"""Saved states of live runs: continued in other processes and by later releases, or refused.

The folder `states` has a state of each version, which the release that introduced it saved:
`PYTHONPATH=tests python tests/local/live/test_states.py` writes one of the present version. As long
as that version has not been released, a change of plans or layouts may write it again. Afterwards
its version is increased (`runtime.live.state.VERSION`, or the owner's name in an operator's
state), a state of the new version is added, and the old one is refused by a message that says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import elsinore as el
import elsinore.quantitative as qre
from elsinore import Workload
from elsinore.errors import InputError, StateError
from elsinore.local.live.state import OWNER
from elsinore.runtime.live.state import VERSION, pack_state, unpack_state
from support.forged import check_forgeries
from support.live import comparable

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "0"))
STATES = Path(__file__).parent / "states"
SCHEMA = pa.schema(
    {
        "time": pa.timestamp("us", "UTC"),
        "type": pa.string(),
        "g": pa.string(),
        "k": pa.int64(),
        "v": pa.float64(),
    }
)
TEXT = """
QUERY sums RETURN g, COUNT(*), AVG(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g
    WITHIN 20 seconds SLIDE 5 seconds;
QUERY events RETURN g, COUNT(*) PATTERN SEQ(A, B+ b) WHERE b[i].v > b[i-1].v GROUP BY g
    WITHIN 20 seconds SLIDE 10 seconds;
QUERY negated RETURN COUNT(*), MAX(B.v) PATTERN SEQ(A, B+, NOT C) WITHIN 15 seconds;
QUERY matches RETURN a.v, b[].v PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND b[i].v > 1
    WITHIN 8 seconds;
QUERY absent RETURN g, a.v PATTERN SEQ(A a, NOT C c) GROUP BY g WITHIN 5 seconds;
"""


def value_of(item: Any) -> Any:
    """Return what is added up; a lambda would be known by its line, which may move."""
    return item.v


TOTALS = qre.iterate1(qre.atom(qre.any, value_of), qre.sum(0.0)).by("k")


def workload() -> Workload:
    totals = el.query("totals").from_python(TOTALS, "states:totals")
    return Workload(*Workload.parse(TEXT), totals)


def events() -> pa.Table:
    seconds = [n * 3 // 4 for n in range(120)]
    columns = [
        pa.array([n * 1_000_000 for n in seconds]).cast(pa.timestamp("us", "UTC")),
        pa.array(["ABBC"[n * n % 7 % 4] for n in range(120)]),
        pa.array(["xyz"[n % 3] if n % 11 else None for n in range(120)]),
        pa.array([n % 2 for n in range(120)]),
        pa.array([n * 7 % 5 + 0.5 for n in range(120)]),
    ]
    return pa.table(columns, schema=SCHEMA)


def first_half() -> tuple[bytes, list[tuple[str, pa.Table]]]:
    live = workload().live(SCHEMA, lateness="4 seconds", buckets=2)
    rows = live.push(events().slice(0, 37)) + live.push(events().slice(37, 30))
    return live.save(), rows


def second_half(state: bytes) -> list[tuple[str, pa.Table]]:
    live = workload().resume(state)
    return live.push(events().slice(67)) + live.end()


def told(rows: list[tuple[str, pa.Table]]) -> list[str]:
    return sorted(f"{name}: {comparable(row)}" for name, rows in rows for row in rows.to_pylist())


def expected() -> list[str]:
    results = workload().run(events())
    return told([(name, result.to_arrow()) for name, result in results.items()])


def path_of(version: int) -> Path:
    return STATES / f"version_{version}.state"


def test_the_stored_state_of_this_version_is_continued() -> None:
    _, rows = first_half()
    assert told(rows + second_half(path_of(VERSION).read_bytes())) == expected()


def test_stored_states_of_older_versions_are_refused() -> None:
    for version in range(1, VERSION):
        with pytest.raises(StateError, match=f"version {version}"):
            workload().resume(path_of(version).read_bytes())


def test_a_state_is_continued_in_another_process(tmp_path: Path) -> None:
    state, rows = first_half()
    (tmp_path / "state").write_bytes(state)
    command = [sys.executable, __file__, str(tmp_path / "state")]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert sorted(told(rows) + done.stdout.splitlines()) == expected()


SMALL = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 9 seconds;")


def small_state() -> bytes:
    live = SMALL.live(SCHEMA, lateness="4 seconds", order_by="v")
    live.push(events().slice(0, 20))
    return live.save()


def test_states_that_are_damaged_or_forged_are_refused() -> None:
    for seed in range(1 + EXAMPLES // 50):
        check_forgeries(SMALL.resume, small_state(), seed=seed)


@pytest.mark.parametrize("text", ["type", "UTC"])
def test_a_state_whose_schema_has_names_that_are_no_text_is_refused(text: str) -> None:
    facts, parts = unpack_state(OWNER, small_state())
    forged = {name: bytes(part) for name, part in parts.items()}
    forged["schema 0"] = forged["schema 0"].replace(text.encode(), b"\xb6" + text[1:].encode())
    with pytest.raises(StateError, match="UnicodeDecodeError"):
        SMALL.resume(pack_state(OWNER, facts, forged))


@pytest.mark.parametrize("lateness", ["  seconds", "-1 second", 4, [], True])
def test_a_state_with_a_lateness_that_is_no_length_of_time_is_refused(lateness: Any) -> None:
    facts, parts = unpack_state(OWNER, small_state())
    facts["options"]["lateness"] = lateness
    forged = pack_state(OWNER, facts, {name: bytes(part) for name, part in parts.items()})
    with pytest.raises(StateError, match="lateness"):
        SMALL.resume(forged)
    with pytest.raises(InputError, match="lateness"):
        SMALL.resume(small_state(), lateness=lateness)


@pytest.mark.parametrize("content", [b"", b"x" * 100, "text", None, bytearray(b"ELSA")])
def test_what_is_no_state_is_refused(content: Any) -> None:
    with pytest.raises(StateError):
        workload().resume(content)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("\n".join(told(second_half(Path(sys.argv[1]).read_bytes()))))
    else:
        path_of(VERSION).write_bytes(first_half()[0])
