"""Topics of the tests' Kafka broker: created, written and read with the plain client."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from support.broker import Broker

QUIET = logging.getLogger("tests.kafka")
QUIET.addHandler(logging.NullHandler())
POLL_SECONDS = 0.01  # seconds between two requests to the broker
Message = tuple[int, bytes | None, bytes | None]  # partition, key, value


class Topics:
    """Creates topics of one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.admin = AdminClient({"bootstrap.servers": broker.server}, logger=QUIET)

    def close(self) -> None:
        """Close the connections, before the broker ends."""
        del self.admin

    def make(self, partitions: int = 1, name: str = "", **config: str) -> str:
        """Create a topic; return its name once each partition has a leader."""
        name = name or f"t-{uuid.uuid4().hex[:12]}"
        options = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(name, partitions, 1, config=options)
        self.admin.create_topics([new])[name].result()
        self._wait_for(name, partitions)
        return name

    def delete(self, name: str) -> None:
        """Delete a topic; return once the broker does not list it any more."""
        self.admin.delete_topics([name])[name].result()
        while name in self.admin.list_topics(timeout=30).topics:
            time.sleep(POLL_SECONDS)

    def grow(self, name: str, partitions: int) -> None:
        """Add partitions to a topic, up to a number of them."""
        self.admin.create_partitions([NewPartitions(name, partitions)])[name].result()
        self._wait_for(name, partitions)

    def _wait_for(self, name: str, partitions: int) -> None:
        requests = {TopicPartition(name, n): OffsetSpec.latest() for n in range(partitions)}
        while True:
            # A client remembers that it did not find a topic; a new one asks again.
            client = AdminClient({"bootstrap.servers": self.broker.server}, logger=QUIET)
            try:
                for answer in client.list_offsets(requests).values():
                    answer.result()
                client.describe_topics(TopicCollection([name]))[name].result()
            except KafkaException:
                time.sleep(POLL_SECONDS)
                continue
            return

    def topic_id(self, name: str) -> str:
        topic = self.admin.describe_topics(TopicCollection([name]))[name]
        return str(topic.result().topic_id)

    def delete_records(self, name: str, before: Mapping[int, int]) -> None:
        """Delete the messages before an offset of each partition, as retention does."""
        places = [TopicPartition(name, number, offset) for number, offset in before.items()]
        for answer in self.admin.delete_records(places).values():
            answer.result()

    def limit(self, name: str, size: int) -> None:
        """Have the broker refuse batches of messages above a size in bytes."""
        entry = ConfigEntry(
            "max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET
        )
        place = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        for answer in self.admin.incremental_alter_configs([place]).values():
            answer.result()

    def permit(self, user: str, name: str, *, allow: bool = True) -> None:
        """Permit a user to read and describe a topic, or revoke the permission."""
        bindings = [
            AclBinding(
                ResourceType.TOPIC,
                name,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in (AclOperation.READ, AclOperation.DESCRIBE)
        ]
        if allow:
            answers = self.admin.create_acls(bindings)
        else:
            filters = [
                AclBindingFilter(
                    b.restype,
                    b.name,
                    b.resource_pattern_type,
                    b.principal,
                    b.host,
                    b.operation,
                    b.permission_type,
                )
                for b in bindings
            ]
            answers = self.admin.delete_acls(filters)
        for answer in answers.values():
            answer.result()

    def fill(self, name: str, messages: Iterable[Message]) -> None:
        """Write messages."""
        errors: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                errors.append(error)

        # A producer of its own knows partitions that were just added.
        producer = Producer({"bootstrap.servers": self.broker.server, "linger.ms": 1}, logger=QUIET)
        for partition, key, value in messages:
            producer.produce(name, value, key, partition=partition, on_delivery=delivered)
        producer.flush(30)
        assert not errors, errors

    def transaction(self, name: str, values: Sequence[bytes], *, commit: bool) -> None:
        """Write messages of partition 0 in a transaction, and commit or abort it."""
        producer = Producer(
            {"bootstrap.servers": self.broker.server, "transactional.id": uuid.uuid4().hex},
            logger=QUIET,
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(name, value, partition=0)
        producer.flush(30)
        (producer.commit_transaction if commit else producer.abort_transaction)(30)
        while self._end(name, IsolationLevel.READ_COMMITTED) < self._end(
            name, IsolationLevel.READ_UNCOMMITTED
        ):
            time.sleep(POLL_SECONDS)  # the end of a transaction is written after it is confirmed

    def _end(self, name: str, level: Any) -> int:
        place = {TopicPartition(name, 0): OffsetSpec.latest()}
        (answer,) = self.admin.list_offsets(place, isolation_level=level).values()
        return int(answer.result().offset)

    def read_all(self, name: str) -> list[Any]:
        """Return the messages that partition 0 has now."""
        return self.read(name, self._end(name, IsolationLevel.READ_UNCOMMITTED))

    def read(self, name: str, count: int) -> list[Any]:
        """Return the first messages of partition 0."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.server,
                "group.id": "tests",
                "enable.auto.commit": False,
            },
            logger=QUIET,
        )
        try:
            consumer.assign([TopicPartition(name, 0, 0)])
            messages: list[Any] = []
            while len(messages) < count:
                messages_read = consumer.consume(count - len(messages), 30)
                assert messages_read, "no message within 30 s"
                messages += messages_read
            return messages
        finally:
            consumer.close()
