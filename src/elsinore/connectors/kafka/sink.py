"""A sink that sends results to a Kafka topic, at least once, with keys for deduplication."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import confluent_kafka as ck
import pyarrow as pa

from elsinore.connectors.kafka.address import KafkaAddress
from elsinore.connectors.kafka.client import TIMEOUT, Cluster
from elsinore.errors import OutputError, choices_text
from elsinore.runtime.outputs import json_cells
from elsinore.words import count

PRODUCER = {"enable.idempotence": True, "linger.ms": 20}
BUFFER_SECONDS = 0.05  # seconds per wait while the client's queue is full


class KafkaSink:
    """Writes each row of a result as one JSON message.

    The key is a JSON array: the query's name, then the row's values in the query's key columns (the
    group and the window). A row of a query without key columns, such as a match, is identified by
    all its values and the number of the batch, as another batch may have a row of equal values.
    Repeated keys within one batch get a number, from 1. A replayed batch has the same rows, so it
    sends its messages again with equal keys: a reader keeps one message for each key, as a
    compacted topic does.

    `keys` has the key columns of queries. The headers `query` and `batch` identify the origin of a
    message.

    Raises OutputError if the topic cannot be written; `flush` raises it for messages that were not
    delivered, and returns when all required brokers have acknowledged the messages.
    """

    def __init__(
        self,
        address: KafkaAddress,
        *,
        keys: Mapping[str, Sequence[str]] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._cluster = Cluster(address, timeout=timeout, error=OutputError)
        self._keys = {} if keys is None else dict(keys)
        self._failed_count = 0
        self._failure: ck.KafkaError | None = None
        self._cluster.topic()  # raises an error for a missing topic before anything is computed
        options = PRODUCER | {"message.timeout.ms": int(self._cluster.timeout * 1000)}
        self._producer = self._cluster.client(ck.Producer, options)

    def write(self, query: str, batch: int, rows: pa.Table) -> None:
        """Send a query's rows of a micro-batch; `flush` waits for them."""
        columns = self._keys.get(query)
        for name in columns or ():
            if name not in rows.column_names:
                raise OutputError(
                    f"The result of {query} has no column '{name}' for the key of its messages. "
                    f"Columns: {choices_text(rows.column_names)}."
                )
        headers = [("query", query.encode()), ("batch", str(batch).encode())]
        keys = message_keys(query, batch, rows, columns)
        messages = zip(keys, message_values(rows), strict=True)
        for key, value in messages:
            self._send(key, value, headers)

    def discard(self, query: str, batch: int) -> None:
        """Do nothing: sent messages cannot be removed; they are sent again with equal keys."""

    def flush(self) -> None:
        """Wait until all messages are delivered. Raise OutputError if one is not."""
        with self._explaining():
            self._producer.flush()  # terminates, as each message has a timeout
        if self._failure is None:
            return
        failure, failed_count = self._failure, self._failed_count
        self._failure, self._failed_count = None, 0
        cause = self._cluster.error_for(failure)
        raise OutputError(
            f"{count(failed_count, 'message')} of results could not be delivered. {cause} The "
            "batch is sent again when the stream is restarted."
        )

    def close(self) -> None:
        """Deliver all messages and close the connections; see `flush`."""
        self.flush()
        self._cluster.close()

    def _send(self, key: bytes, value: bytes, headers: list[tuple[str, bytes]]) -> None:
        topic = self._cluster.address.topic
        with self._explaining():
            while True:
                try:
                    self._producer.produce(
                        topic, value, key, headers=headers, on_delivery=self._on_delivery
                    )
                except BufferError:  # the queue is full: wait for deliveries
                    self._producer.poll(BUFFER_SECONDS)
                else:
                    self._producer.poll(0)
                    return

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Convert errors of the client, also those raised in callbacks, to OutputError."""
        try:
            yield
        except ck.KafkaException as error:
            raise self._cluster.error_for(error.args[0]) from error
        except SystemError as error:
            if not isinstance(error.__cause__, ck.KafkaException):
                raise
            raise self._cluster.error_for(error.__cause__.args[0]) from error

    def _on_delivery(self, error: ck.KafkaError | None, _: Any) -> None:
        if error is not None:
            self._failed_count += 1
            self._failure = self._failure or error


def message_keys(
    query: str, batch: int, rows: pa.Table, columns: Sequence[str] | None
) -> list[bytes]:
    """Return the key of each row: the query, the key columns, and a number for repetitions.

    Without key columns, these are all columns and the number of the batch.

    >>> rows = pa.table({"district": ["Harbor", "Harbor"], "v": [1, 2]})
    >>> message_keys("q1", 7, rows, ["district"])
    [b'["q1", "Harbor"]', b'["q1", "Harbor", 1]']
    >>> message_keys("q1", 7, rows, None)
    [b'["q1", "Harbor", 1, 7]', b'["q1", "Harbor", 2, 7]']
    """
    name = json.dumps(query, ensure_ascii=False)
    chosen = rows.column_names if columns is None else columns
    cells = [json_cells(rows.column(column)) for column in chosen]
    keys = [", ".join(row) for row in zip(*cells, strict=True)] if cells else [""] * rows.num_rows
    end = [] if columns is not None else [str(batch)]
    key_counts: Counter[str] = Counter()
    texts = []
    for key in keys:
        parts = [name, *([key] if key else []), *end]
        if key_counts[key]:
            parts.append(str(key_counts[key]))
        key_counts[key] += 1
        texts.append(f"[{', '.join(parts)}]".encode())
    return texts


def message_values(rows: pa.Table) -> list[bytes]:
    """Return each row as a JSON object, in the format of JSON Lines files.

    >>> message_values(pa.table({"district": ["Harbor"], "trips": [3]}))
    [b'{"district": "Harbor", "trips": 3}']
    """
    names = [json.dumps(name, ensure_ascii=False) for name in rows.column_names]
    cells = [json_cells(column) for column in rows.columns]
    return [
        f"{{{', '.join(f'{n}: {c}' for n, c in zip(names, row, strict=True))}}}".encode()
        for row in zip(*cells, strict=True)
    ]
