"""A source of live events: a Kafka topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import pyarrow as pa

from elsinore.connectors.contract import NO_LIMIT, Limit, Offset
from elsinore.connectors.kafka.address import KafkaAddress
from elsinore.connectors.kafka.client import TIMEOUT, Cluster, Topic
from elsinore.connectors.kafka.reading import (
    KafkaReader,
    KafkaSplit,
    Missing,
    Records,
    out_of_range,
    schema_with,
)
from elsinore.errors import InputError, StateError, did_you_mean

Start = Literal["earliest", "latest"]


class KafkaSource:
    """The messages of a topic, as micro-batches.

    `records` parses values into rows (`JsonRecords`, `AvroRecords`); `metadata` names columns of
    `reading.METADATA` to add. A new stream starts at the `earliest` message that exists, or after
    the `latest`. With `rejects`, messages that cannot be parsed are among the rejects, else they
    raise InputError. Messages that were deleted before they were read are an error, or with
    `missing="skip"` a reject. A call fails after `timeout` seconds without a response.

    An offset is `{"topic": ID, "next": {"0": 17, ...}}`: the topic's id, and for each partition the
    offset of the next message. New partitions of the topic are read from their first message on.
    """

    def __init__(
        self,
        address: KafkaAddress,
        records: Records,
        *,
        metadata: Sequence[str] = (),
        start: Start = "earliest",
        rejects: bool = False,
        missing: Missing = "fail",
        timeout: float = TIMEOUT,
    ) -> None:
        for value, choices in ((start, get_args(Start)), (missing, get_args(Missing))):
            if value not in choices:
                hint = did_you_mean(value, choices)
                raise InputError(f"'{value}' is none of {', '.join(choices)}.{hint}")
        self._schema = schema_with(records, metadata)
        self._start = start
        self._missing = missing
        self._cluster = Cluster(address, timeout=timeout)
        self._reader = KafkaReader(
            address=address,
            records=records,
            metadata=tuple(metadata),
            rejects=rejects,
            missing=missing,
            timeout=timeout,
        )

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return f"'{self._cluster.address}'"

    @property
    def schema(self) -> pa.Schema:
        """The columns of all tables that the reader returns."""
        return self._schema

    @property
    def reader(self) -> KafkaReader:
        """The reader of splits."""
        return self._reader

    def first(self) -> Offset:
        """Return the offset before the first message, or after the last one that exists."""
        topic = self._cluster.topic()
        return _offset(
            topic, self._cluster.offsets(topic.partitions, earliest=self._start == "earliest")
        )

    def available(self) -> Offset:
        """Return the offset after the last committed message of each partition."""
        topic = self._cluster.topic()
        return _offset(topic, self._cluster.offsets(topic.partitions, earliest=False))

    def advance(
        self, start: Offset, limit: Limit = NO_LIMIT, until: Offset | None = None
    ) -> Offset:
        """Return the end of the micro-batch that begins at `start`; see `contract.StreamSource`.

        A limit of rows is divided among the partitions in proportion to their unread messages, so
        that their times advance together; each partition with messages gets at least one. A new
        partition is only recorded, and read with the next batch, so that replays are equal.

        Raise InputError if the topic does not have the messages after `start`.
        """
        topic = self._cluster.topic()
        begins, ends = _next_offsets(start), self._cluster.offsets(topic.partitions, earliest=False)
        lows = self._cluster.offsets(topic.partitions, earliest=True)
        self._check(topic, start, lows, ends)
        if until is not None:
            ends = {
                number: min(end, _next_offsets(until).get(number, 0))
                for number, end in ends.items()
            }
        unread = {number: max(0, ends[number] - begin) for number, begin in begins.items()}
        admitted_counts = _shares(unread, limit.rows)
        new = {number: lows[number] for number in topic.partitions if number not in begins}
        return _offset(topic, {n: begin + admitted_counts[n] for n, begin in begins.items()} | new)

    def splits(self, start: Offset, end: Offset) -> Sequence[KafkaSplit]:
        """Return the splits between two offsets: one range for each partition."""
        begins = _next_offsets(start)
        return [
            KafkaSplit(number, begins[number], stop)
            for number, stop in sorted(_next_offsets(end).items())
            if number in begins and stop > begins[number]
        ]

    def lag(self, start: Offset) -> Mapping[str, int]:
        """Return the number of unread offsets of each partition."""
        begins = _next_offsets(start)
        topic = self._cluster.topic()
        ends = self._cluster.offsets(topic.partitions, earliest=False)
        return {str(n): max(0, end - begins.get(n, 0)) for n, end in ends.items()}

    def close(self) -> None:
        """Close the connections, also those of the reader."""
        self._reader.close()
        self._cluster.close()

    def _check(
        self, topic: Topic, start: Offset, lows: Mapping[int, int], ends: Mapping[int, int]
    ) -> None:
        """Raise InputError unless the topic has all messages after `start`."""
        address = self._cluster.address
        if start["topic"] and topic.id and start["topic"] != topic.id:
            raise InputError(
                f"The topic '{address.topic}' was deleted and created anew since the checkpoint "
                "was written: its messages are others. Start with a new checkpoint."
            )
        for number, begin in _next_offsets(start).items():
            if number not in ends:
                raise InputError(
                    f"The topic '{address.topic}' has no partition {number}, which the checkpoint "
                    "has read. Start with a new checkpoint."
                )
            low, high = lows[number], ends[number]
            if begin > high or (begin < low and self._missing == "fail"):
                raise out_of_range(address, number, begin, (low, high))


def _shares(unread: Mapping[int, int], most: int | None) -> dict[int, int]:
    """Divide a limit of messages among partitions in proportion to their unread messages.

    >>> _shares({0: 1000, 1: 10, 2: 0}, 100)
    {0: 99, 1: 1, 2: 0}
    """
    total = sum(unread.values())
    if most is None or total <= most:
        return dict(unread)
    return {
        number: min(count, max(1, count * most // total)) if count else 0
        for number, count in unread.items()
    }


def _offset(topic: Topic, offsets: Mapping[int, int]) -> Offset:
    return {"topic": topic.id, "next": {str(n): offset for n, offset in sorted(offsets.items())}}


def _next_offsets(offset: Offset) -> dict[int, int]:
    try:
        return {int(number): int(place) for number, place in offset["next"].items()}
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise StateError(
            f"{offset!r} is not an offset of a Kafka topic: the checkpoint is that of another "
            "source, or damaged. Start with a new checkpoint."
        ) from error
