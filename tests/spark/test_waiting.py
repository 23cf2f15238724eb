"""Partial outputs wait for their groups to be whole, in memory or on disk."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from elsinore.errors import InputError
from elsinore.spark import waiting as waiting_module
from elsinore.spark.waiting import Waiting


@pytest.mark.parametrize("memory", [0, 100, 1 << 20])
def test_what_waits_comes_back_whole(memory: int) -> None:
    waiting = Waiting(memory=memory)
    batches = [pa.record_batch({"n": list(range(n, n + 9)), "s": ["x"] * 9}) for n in range(12)]
    for n, batch in enumerate(batches):
        waiting.add(n % 3, batch.slice(n % 2))
    assert waiting.queries == [0, 1, 2]
    for query in range(3):
        actual = waiting.take(query)
        mine = [batch.slice(n % 2) for n, batch in enumerate(batches) if n % 3 == query]
        assert sorted(actual.to_pylist(), key=str) == sorted(
            pa.Table.from_batches(mine).to_pylist(), key=str
        )
    assert waiting.queries == []
    waiting.close()


def test_a_folder_that_is_not_there_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_module, "local_directory", lambda: "/no/such/folder")
    with pytest.raises(
        InputError, match=r"cannot be written to '/no/such/folder'.*spark.local.dir"
    ):
        Waiting(memory=0).add(0, pa.record_batch({"n": [1]}))
