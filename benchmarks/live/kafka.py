"""A Kafka broker on this machine with a topic of JSON messages."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.live.events import JSON_SCHEMA, events, messages
from elsinore.connectors.kafka import KafkaAddress
from elsinore.connectors.places import KafkaPlace
from elsinore.connectors.records.json_records import JsonRecords

PARTITIONS = 2
SUPPORT = Path(__file__).parents[2] / "tests"  # which starts a broker for tests


@contextmanager
def topic_place() -> Iterator[KafkaPlace]:
    """Start a broker and make a topic with PARTITIONS partitions."""
    sys.path.insert(0, str(SUPPORT))
    try:
        from support.broker import broker  # noqa: PLC0415
        from support.topics import Topics  # noqa: PLC0415
    finally:
        sys.path.remove(str(SUPPORT))
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as running:
        topics = Topics(running)
        try:
            name = topics.make(PARTITIONS)
            address = KafkaAddress.parse(running.address(name))
            yield KafkaPlace(address=address, records=JsonRecords(JSON_SCHEMA))
        finally:
            topics.close()


class Filler:
    """Writes events to a topic; those of each partition are in order."""

    def __init__(self, address: str) -> None:
        self._topic = KafkaAddress.parse(address).topic
        servers = address.rpartition("@")[2]
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "linger.ms": 20,
                "queue.buffering.max.messages": 2_000_000,
            }
        )

    def write(self, first: int, count: int, *, start: int = 0) -> None:
        """Write some events (`events`), and wait until the broker has them."""
        for number, message in enumerate(messages(events(first, count, start=start))):
            self._producer.produce(self._topic, message, partition=number % PARTITIONS)
        self._producer.flush()

    def close(self) -> None:
        """Close the connection, before the broker ends."""
        del self._producer
