"""Matches leave in pieces of a bounded size, however many begin with one event."""

import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.matches import query as search
from elsinore.matches.engine import pattern
from elsinore.matches.operator import MatchOperator
from elsinore.operators import OperatorOptions
from elsinore.plan.modes import HIGH, Uncertainty
from oracles.matches import Happening
from support.matches import batch_of, parsed, units_of

EVENTS = 12  # B events after one A: 2^12 - 1 matches
PATTERNS = {
    "lists": "RETURN b[].n PATTERN SEQ(A a, B+ b)",
    "two loops": "RETURN b[].n, COUNT(c[]) PATTERN SEQ(A a, B+ b, B* c) WHERE b[i].n > b[i-1].n",
    "leaves": "RETURN COUNT(b[]) PATTERN SEQ(A a, B* b, B c)",
}


def batches(text: str) -> list[pa.RecordBatch]:
    (unit,) = units_of(parsed(f"{text} WITHIN 60;"))
    stream = [Happening(0, "A", {"n": 0})]
    stream += [Happening(1_000_000 * n, "B", {"n": n}) for n in range(1, EVENTS + 1)]
    batch, _ = batch_of(unit, stream)
    operator = MatchOperator(unit, OperatorOptions())
    return [*operator.process(batch), *operator.close()]


@pytest.mark.parametrize("name", PATTERNS)
def test_pieces_are_small_and_hold_every_match_once(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expected = pa.Table.from_batches(batches(PATTERNS[name]))
    monkeypatch.setattr(pattern, "ROOM", 50)
    monkeypatch.setattr(pattern, "WIDEST", 100)
    pieces = batches(PATTERNS[name])
    assert len(pieces) >= expected.num_rows // 100
    assert max(piece.num_rows for piece in pieces) <= 100
    rows = pa.Table.from_batches(pieces).to_pylist()
    assert sorted(map(str, rows)) == sorted(map(str, expected.to_pylist()))


def test_the_guard_counts_a_window_once_however_many_pieces_it_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pattern, "ROOM", 100)
    monkeypatch.setattr(search, "GUARD", 2**EVENTS - 1)
    assert sum(piece.num_rows for piece in batches(PATTERNS["lists"])) == 2**EVENTS - 1
    monkeypatch.setattr(search, "GUARD", 2**EVENTS - 2)
    with pytest.raises(InputError, match="a window has 4,095 matches"):
        batches(PATTERNS["lists"])


@pytest.mark.parametrize("uncertain", [None, Uncertainty(step=1_000_000)], ids=["exact", "coarse"])
def test_matches_that_two_runs_find_are_given_out_once_in_whatever_pieces(
    monkeypatch: pytest.MonkeyPatch, uncertain: Uncertainty | None
) -> None:
    query = "RETURN EVENT_IDS(n) AS ids PATTERN SEQ(A a, (B b OR B b)+) WITHIN 60;"
    (unit,) = units_of(parsed(query), uncertain)
    stream = [
        Happening(1_000_000 * n, "BA"[n in {0, 3}], {"n": n, HIGH: 1_000_000 * n}) for n in range(9)
    ]
    batch, _ = batch_of(unit, stream)
    found = []
    for room in (1 << 15, 100, 7):
        monkeypatch.setattr(pattern, "ROOM", room)
        operator = MatchOperator(unit, OperatorOptions())
        pieces = [*operator.process(batch), *operator.close()]
        found.append(sorted(ids for piece in pieces for ids in piece["c0"].to_pylist()))
    assert len(found[0]) == 2**7 - 1 + 2**5 - 1  # of 3^7 + 3^5 runs
    assert len(set(map(tuple, found[0]))) == len(found[0])
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_events_are_kept_for_as_long_as_their_windows_are_open() -> None:
    texts = (
        "QUERY a RETURN b[].n PATTERN SEQ(A a, B+ b) WITHIN 4;",
        "QUERY b RETURN b[].n PATTERN SEQ(A a, B+ b, NOT C c) WITHIN 5;",
        "QUERY c RETURN b[].n PATTERN SEQ(A a, B+ b) WITHIN 6 SLIDE 3;",
        "QUERY d RETURN b[].n PATTERN SEQ(A a, B+ b) WHERE b[i].n > b[i-1].n WITHIN 5 COLLAPSED;",
    )
    (unit,) = units_of(parsed(*texts))
    stream = [Happening(1_000_000 * n, "ABBC"[n % 4], {"n": n}) for n in range(2_000)]
    batch, _ = batch_of(unit, stream)
    operator = MatchOperator(unit, OperatorOptions())
    sizes = []
    for begin in range(0, len(stream), 50):
        assert list(operator.process(batch.slice(begin, 50)))
        sizes.append(len(operator.save()))
    assert max(sizes[1:]) < 1.1 * min(sizes[1:])
