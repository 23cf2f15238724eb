"""A path that NOT forbids to go on is given up: later events are not tried one by one."""

import pytest

import elsinore as el
from elsinore.kernels import uncompiled
from elsinore.matches import scan as sc
from elsinore.matches import search as se


def looks(monkeypatch: pytest.MonkeyPatch, size: int) -> int:
    """Return how often a search over `size` rounds of A D C looks at NOT; no round is a match."""
    counted = 0
    is_free = uncompiled(se.is_free)

    def counting(*arguments: object) -> bool:
        nonlocal counted
        counted += 1
        return is_free(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(se, "is_free", counting)
        scan = uncompiled(sc.scan)  # as plain Python, with what counts
    with monkeypatch.context() as patched:
        patched.setattr(sc, "scan", scan)
        workload = el.Workload.parse(
            "RETURN a.time AS a, c.time AS c PATTERN SEQ(A a, NOT D d, C c) "
            "STRATEGY SKIP TILL NEXT MATCH"
        )
        events = [{"time": n, "type": "ADC"[n % 3]} for n in range(3 * size)]
        events += [{"time": 3 * size, "type": "A"}, {"time": 3 * size + 1, "type": "C"}]
        (table,) = workload.run(events).values()
        assert table.to_pylist() == [{"a": 3 * size, "c": 3 * size + 1}]
    return counted


def test_looks_at_not_grow_with_the_stream_and_not_with_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = looks(monkeypatch, 20), looks(monkeypatch, 80)
    assert 0 < many <= 5 * few
