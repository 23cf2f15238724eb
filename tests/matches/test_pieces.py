"""Matches leave in pieces of a bounded size, however many begin with one event."""

import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.matches import query as search
from elsinore.matches.operator import MatchOperator
from elsinore.operators import OperatorOptions
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


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pieces_are_small_and_hold_every_match_once(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    expected = pa.Table.from_batches(batches(PATTERNS[pattern]))
    monkeypatch.setattr(search, "ROOM", 100)
    pieces = batches(PATTERNS[pattern])
    assert len(pieces) >= expected.num_rows // 100
    assert max(piece.num_rows for piece in pieces) <= 100
    assert pa.Table.from_batches(pieces).to_pylist() == expected.to_pylist()


def test_the_guard_counts_a_window_once_however_many_pieces_it_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "ROOM", 100)
    monkeypatch.setattr(search, "GUARD", 2**EVENTS - 1)
    assert sum(piece.num_rows for piece in batches(PATTERNS["lists"])) == 2**EVENTS - 1
    monkeypatch.setattr(search, "GUARD", 2**EVENTS - 2)
    with pytest.raises(InputError, match="a window has 4,095 matches"):
        batches(PATTERNS["lists"])
