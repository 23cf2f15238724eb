"""Sampling the last messages of a topic, to infer or check a schema."""

from __future__ import annotations

from elsinore.connectors.kafka.address import KafkaAddress
from elsinore.connectors.kafka.client import TIMEOUT, Cluster
from elsinore.connectors.kafka.reading import PartitionClient

SAMPLE = 1_000  # messages


def sample_messages(
    address: KafkaAddress, most: int = SAMPLE, *, timeout: float = TIMEOUT
) -> list[bytes]:
    """Return the values of up to `most` of the last messages of a topic, without tombstones.

    Each partition contributes the same number. Raise the InputErrors of the source.
    """
    cluster = Cluster(address, timeout=timeout)
    partitions = cluster.topic().partitions
    begins = cluster.offsets(partitions, earliest=True)
    ends = cluster.offsets(partitions, earliest=False)
    per_partition = -(-most // max(1, len(partitions)))
    values: list[bytes] = []
    for number in partitions:
        client = PartitionClient(address, number, timeout)
        try:
            first = max(begins[number], ends[number] - per_partition)
            for messages in client.messages(first, ends[number], per_partition):
                values += [m.value() for m in messages if m.value() is not None]
        finally:
            client.close()
    return values[:most]
