"""Reading a range of offsets of a Kafka partition into the stream's columns."""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import confluent_kafka as ck
import numpy as np
import pyarrow as pa

from elsinore.arrow import no_table, to_arrow
from elsinore.connectors.contract import Part
from elsinore.connectors.kafka.address import KafkaAddress
from elsinore.connectors.kafka.client import TIMEOUT, Cluster
from elsinore.connectors.rejects import no_rejects, refuse, rejects_table
from elsinore.errors import InputError, did_you_mean

Missing = Literal["fail", "skip"]

PARSED_AT_ONCE = 100_000  # messages
POLL_SECONDS = 0.05  # timeout of a poll, also where offsets have no message
KEY_NOT_UTF_8 = "a key that is not UTF-8"
METADATA = {
    "kafka_partition": pa.int32(),
    "kafka_offset": pa.int64(),
    "kafka_timestamp": pa.timestamp("us", "UTC"),
    "kafka_key": pa.string(),
}
# The queue is short in bytes, since each partition has one, and never waits for a second when
# it is full of small messages.
CONSUMER = {
    "group.id": "elsinore",  # required by the client; no group is joined
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 32_768,
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 50,
}


class Records(Protocol):
    """Parses the values of messages into rows: `JsonRecords` or `AvroRecords`."""

    schema: pa.Schema

    def parse(self, records: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        """Return the valid records as a table, and the reasons for invalid ones by position."""


@dataclass(frozen=True, slots=True)
class KafkaSplit:
    """Offsets `begin` to `end` (exclusive) of one partition."""

    number: int
    begin: int
    end: int

    @property
    def partition(self) -> str:
        """The partition's number as text."""
        return str(self.number)

    @property
    def rows(self) -> int:
        """The number of offsets, at least that of messages (a compacted topic has gaps)."""
        return self.end - self.begin


def schema_with(records: Records, metadata: Sequence[str]) -> pa.Schema:
    """Return the columns of the records and the named columns of METADATA.

    Raise InputError for an unknown name, and for one that is also a column of the records.
    """
    schema = records.schema
    for name in metadata:
        if name not in METADATA:
            hint = did_you_mean(name, METADATA)
            raise InputError(
                f"Messages have no metadata '{name}'.{hint} Columns: {', '.join(METADATA)}."
            )
        if name in schema.names:
            raise InputError(f"The events have a column '{name}' themselves. Rename it.")
        schema = schema.append(pa.field(name, METADATA[name]))
    return schema


@dataclass(kw_only=True)
class KafkaReader:
    """Reads splits of a topic; see `contract.Reader`.

    Each partition has a consumer that continues where the last split ended and prefetches; pickling
    drops the consumers. Messages of aborted transactions are not read.
    """

    address: KafkaAddress
    records: Records
    metadata: tuple[str, ...] = ()
    rejects: bool = False
    missing: Missing = "fail"
    timeout: float = TIMEOUT
    _clients: dict[int, PartitionClient] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_clients": {}}

    def read(self, split: KafkaSplit) -> Part:
        """Return the events of a split; see `contract.Reader`.

        Raise InputError if the broker does not respond for `timeout` seconds, if messages of the
        split no longer exist (with `missing="skip"` they become a reject), and if a message cannot
        be parsed and rejects are not requested.
        """
        client = self._clients.get(split.number)
        if client is None:
            client = self._clients[split.number] = PartitionClient(
                self.address, split.number, self.timeout
            )
        schema = schema_with(self.records, self.metadata)
        tables: list[pa.Table] = []
        rejects: list[pa.Table] = []
        tombstones = 0
        begin = split.begin
        if self.missing == "skip":
            begin = self._first_available(client, split, rejects)
        for received in client.messages(begin, split.end, PARSED_AT_ONCE):
            messages, values = received, [message.value() for message in received]
            if None in values:
                messages = [m for m, v in zip(received, values, strict=True) if v is not None]
                values = [value for value in values if value is not None]
                tombstones += len(received) - len(values)
            table, rejected = self._parse(messages, values, split.number)
            tables.append(table)
            rejects.append(rejected)
        events = pa.concat_tables(tables) if tables else no_table(schema)
        rejected = pa.concat_tables(rejects) if rejects else no_rejects()
        if not self.rejects:
            refuse(rejected)
        return Part(events=events, rejects=rejected, tombstones=tombstones)

    def close(self) -> None:
        """Close the consumers."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _first_available(
        self, client: PartitionClient, split: KafkaSplit, rejects: list[pa.Table]
    ) -> int:
        """Return the first offset of a split that still exists; add a reject for those before."""
        low = client.cluster.offsets([split.number], earliest=True)[split.number]
        if low <= split.begin:
            return split.begin
        first = min(low, split.end)
        why = f"deleted before they were read: messages up to offset {first - 1}"
        if self.rejects:
            rejects.append(
                rejects_table(
                    [why],
                    str(self.address),
                    [None],
                    partition=split.number,
                    offsets=[split.begin],
                )
            )
        return first

    def _parse(
        self, messages: list[ck.Message], values: list[bytes], number: int
    ) -> tuple[pa.Table, pa.Table]:
        """Return the rows of messages with values, and rejects for those that cannot be parsed."""
        table, bad = self.records.parse(values)
        positions = np.delete(np.arange(len(messages)), list(bad))
        if "kafka_key" in self.metadata:
            bad_keys = [n for n in positions.tolist() if not _is_utf_8(messages[n].key())]
            is_kept = ~np.isin(positions, bad_keys)
            table, positions = table.filter(to_arrow(is_kept)), positions[is_kept]
            bad = dict(sorted((bad | dict.fromkeys(bad_keys, KEY_NOT_UTF_8)).items()))
        good = [messages[n] for n in positions.tolist()] if bad else messages
        for name in self.metadata:
            table = table.append_column(pa.field(name, METADATA[name]), _metadata(name, good))
        rejects = rejects_table(
            list(bad.values()),
            str(self.address),
            [values[place] for place in bad],
            partition=number,
            offsets=[messages[place].offset() for place in bad],
        )
        return table, rejects


class PartitionClient:
    """The consumer of one partition, and its position."""

    def __init__(self, address: KafkaAddress, number: int, timeout: float) -> None:
        self.cluster = Cluster(address, timeout=timeout)
        self._number = number
        self._consumer: Any = None
        self._position = -1  # offset of the next message; -1: unknown
        self._prefetched: list[ck.Message] = []  # messages from `_position` on that were received
        self._reported_end = -1  # no message that was not received comes before this offset

    def messages(self, begin: int, end: int, most: int) -> Iterator[list[ck.Message]]:
        """Yield the messages with offsets from `begin` to `end` (exclusive) in lists of `most`.

        Offsets without a message (of compacted topics and transactions) are skipped.
        """
        if begin >= end:
            return
        self._go_to(begin)
        at = begin
        waiting: list[ck.Message] = []
        last_response = time.monotonic()
        while at < end:
            received = self._prefetched or self._consumer.consume(min(most, end - at), POLL_SECONDS)
            self._prefetched = []
            messages = [message for message in received if message.error() is None]
            if len(messages) < len(received):
                self._check_reports(received, begin)
            if messages:
                last_response = time.monotonic()
                if messages[-1].offset() >= end:
                    place = bisect.bisect_left(messages, end, key=ck.Message.offset)
                    messages, self._prefetched = messages[:place], messages[place:]
                    at = end
                else:
                    at = messages[-1].offset() + 1
                waiting += messages
            elif time.monotonic() - last_response > self.cluster.timeout:
                self._refuse_silence(at, end)
            if not self._prefetched:
                at = max(at, self._reported_end)
            if len(waiting) >= most:
                yield waiting
                waiting = []
        self._position = end
        if waiting:
            yield waiting

    def close(self) -> None:
        """Close the consumer."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        self.cluster.close()

    def _go_to(self, offset: int) -> None:
        """Move the consumer to an offset."""
        if self._consumer is None:
            self._consumer = self.cluster.client(ck.Consumer, CONSUMER)
        if self._position != offset:
            self._prefetched = []
            self._reported_end = -1
            topic = self.cluster.address.topic
            self._consumer.assign([ck.TopicPartition(topic, self._number, offset)])
        self._position = -1  # until everything was received

    def _check_reports(self, received: Sequence[ck.Message], begin: int) -> None:
        """Store the end of the partition that the client reports; raise reported errors."""
        for message in received:
            error = message.error()
            if error is None or error.code() == ck.KafkaError.GROUP_AUTHORIZATION_FAILED:
                continue  # no group is needed
            if error.code() == ck.KafkaError._PARTITION_EOF:
                self._reported_end = message.offset()
            elif error.code() == ck.KafkaError._AUTO_OFFSET_RESET:
                raise self._out_of_range(begin)
            else:
                raise self.cluster.error_for(error)

    def _refuse_silence(self, at: int, end: int) -> None:
        """Raise InputError if no message arrives although the partition has some."""
        high = self.cluster.offsets([self._number], earliest=False)[self._number]
        if high < end:
            raise self._out_of_range(at)
        raise InputError(
            f"Kafka at {self.cluster.address.bootstrap} delivered no message of partition "
            f"{self._number} of topic '{self.cluster.address.topic}' from offset {at} on for "
            f"{self.cluster.timeout:g} seconds. Check the broker, and run again."
        )

    def _out_of_range(self, begin: int) -> InputError:
        low = self.cluster.offsets([self._number], earliest=True)[self._number]
        high = self.cluster.offsets([self._number], earliest=False)[self._number]
        return out_of_range(self.cluster.address, self._number, begin, (low, high))


def out_of_range(
    address: KafkaAddress, number: int, begin: int, kept: tuple[int, int]
) -> InputError:
    """Return the error for messages after the checkpoint that the topic no longer has."""
    place = f"Partition {number} of topic '{address.topic}'"
    low, high = kept
    if begin < low:
        return InputError(
            f"{place} begins at offset {low}, and the checkpoint continues at {begin}: messages "
            "were deleted (by the topic's retention) before they were read. Start with a new "
            "checkpoint, or have the gap rejected and skipped (missing='skip')."
        )
    return InputError(
        f"{place} ends at offset {high}, and the checkpoint continues at {begin}: the topic was "
        "created anew or lost messages. Start with a new checkpoint."
    )


def _metadata(name: str, messages: Sequence[ck.Message]) -> pa.Array:
    """Return a column of METADATA."""
    kind = METADATA[name]
    if name == "kafka_partition":
        return to_arrow([message.partition() for message in messages], kind)
    if name == "kafka_offset":
        return to_arrow([message.offset() for message in messages], kind)
    if name == "kafka_key":
        keys = [message.key() for message in messages]
        return to_arrow([None if key is None else _bytes(key).decode() for key in keys], kind)
    times = [message.timestamp() for message in messages]
    known = [None if kind == ck.TIMESTAMP_NOT_AVAILABLE else 1000 * at for kind, at in times]
    return to_arrow(known, pa.int64()).cast(kind)


def _is_utf_8(key: bytes | str | None) -> bool:
    try:
        _bytes(key or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text
