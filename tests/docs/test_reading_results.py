"""What docs/streaming.md shows about reading results from Kafka works on messages of a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from docs.test_documents import blocks
from elsinore import Workload

if TYPE_CHECKING:
    from support.broker import Broker

WORKLOAD = Workload.parse(
    "QUERY q RETURN g, COUNT(*) AS n PATTERN SEQ(A, B) GROUP BY g WITHIN 5 seconds;"
)
EVENTS = [
    {"time": time, "type": kind, "g": g}
    for g in range(3)
    for time, kind in ((1, "A"), (2, "B"), (6, "A"), (7, "B"))
]


def reader_of_the_page() -> Any:
    """Return the function of the page that leaves out repeated messages."""
    names: dict[str, Any] = {}
    (code,) = [
        code
        for kind, code in blocks("docs/streaming.md")
        if kind == "python" and "def without_repetitions" in code
    ]
    exec(compile(code, "docs/streaming.md", "exec"), names)
    return names["without_repetitions"]


@pytest.fixture
def topic(kafka: Broker) -> Iterator[tuple[Any, str]]:
    from support.topics import Topics

    topics = Topics(kafka)
    yield topics, topics.make()
    topics.close()


def test_a_reader_leaves_out_what_a_replay_sends_again(topic: tuple[Any, str]) -> None:
    from elsinore.connectors.targets import target_of

    topics, name = topic
    rows = WORKLOAD.run(EVENTS)["q"].to_arrow()
    sink = target_of(topics.broker.address(name), "parquet", None, None, WORKLOAD)
    for _ in range(2):  # the second time is a replay after a crash
        sink.write("q", 0, rows)
        sink.flush()
    sink.close()
    messages = [(one.key(), one.value()) for one in topics.read(name, 2 * rows.num_rows)]
    assert list(reader_of_the_page()(messages, set())) == rows.to_pylist()
