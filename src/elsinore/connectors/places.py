"""Resolving users' names of sources and sinks: kafka:TOPIC@HOST:PORT, or a folder.

A `Place` opens a source; it can be pickled and sent to other processes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from elsinore.connectors.contract import Sink, StreamSource
from elsinore.connectors.files_sink import FileFormat, FilesSink
from elsinore.connectors.folder import FileOrder, FolderSource
from elsinore.connectors.kafka import KafkaAddress, is_kafka
from elsinore.connectors.records.inference import check_fits, infer_json_schema
from elsinore.connectors.records.json_records import JsonRecords
from elsinore.connectors.records.schema_text import print_schema, read_schema, schema_text
from elsinore.errors import InputError, option

if TYPE_CHECKING:
    from elsinore.connectors.kafka import KafkaSource
    from elsinore.connectors.records.avro_records import AvroRecords

Messages = Literal["json", "avro", "confluent-avro"]
Start = Literal["earliest", "latest"]


class Place(Protocol):
    """Opens a source, possibly in another process; it can be pickled."""

    @property
    def name(self) -> str:
        """The source's name in messages."""

    def open(self, log: Path) -> StreamSource:
        """Return the source. log: a file in the checkpoint that the source may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPlace:
    """A folder to which files are added; see `FolderSource`."""

    folder: str
    schema: pa.Schema | None = None
    order: FileOrder = "modified"
    rejects: bool = False

    def __post_init__(self) -> None:
        # Other processes that open the folder may have other working directories.
        object.__setattr__(self, "folder", str(Path(self.folder).absolute()))

    @property
    def name(self) -> str:
        """The folder's name in messages."""
        return f"'{self.folder}'"

    def open(self, log: Path) -> FolderSource:
        """Return the source."""
        return FolderSource(
            self.folder, log, schema=self.schema, order=self.order, rejects=self.rejects
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPlace:
    """A topic of Kafka; see `KafkaSource`."""

    address: KafkaAddress
    records: JsonRecords | AvroRecords
    start: Start = "earliest"
    rejects: bool = False

    @property
    def name(self) -> str:
        """The topic's name in messages."""
        return f"'{self.address}'"

    def open(self, log: Path) -> KafkaSource:  # noqa: ARG002 - a topic needs no log
        """Return the source."""
        from elsinore.connectors.kafka import KafkaSource  # noqa: PLC0415 - an extra

        return KafkaSource(self.address, self.records, start=self.start, rejects=self.rejects)


def place_of(
    text: str,
    *,
    schema: str | pa.Schema | None = None,
    messages: Messages = "json",
    start: Start = "earliest",
    order: FileOrder = "modified",
    rejects: bool = False,
    kafka_options: Sequence[str] | Mapping[str, str] = (),
    report: Callable[[str], None],
) -> Place:
    """Return the source that a text names: kafka:TOPIC@HOST:PORT, or a folder.

    `schema` has the columns of the events, as an Arrow schema or text for `read_schema`; for Avro
    messages, an Avro schema or the name of its file. If it is absent, the schema of JSON messages
    is inferred from the last ones of the topic, and that of files is the first file's. `report`
    receives a message with the inferred schema. Other arguments are those of the sources.

    Raises InputError for an invalid address or schema, a topic that cannot be reached and a schema
    that fits no message.
    """
    if not is_kafka(text):
        declared_schema = read_schema(schema) if isinstance(schema, str) else schema
        return FolderPlace(folder=text, schema=declared_schema, order=order, rejects=rejects)
    from elsinore.connectors.kafka import sample_messages  # noqa: PLC0415 - an extra

    address = KafkaAddress.parse(text, kafka_options)
    records: JsonRecords | AvroRecords
    sample = sample_messages(address)
    if messages == "json":
        if schema is None:
            inferred_schema = infer_json_schema(sample, f"'{address}'", report)
            report(f"The columns of '{address}' were inferred: {print_schema(inferred_schema)}")
            records = JsonRecords(inferred_schema)
        else:
            records = JsonRecords(read_schema(schema) if isinstance(schema, str) else schema)
    else:
        if not isinstance(schema, str):
            raise InputError(
                f"Messages in Avro need Avro's schema: name its file with {option('schema')}."
            )
        from elsinore.connectors.records.avro_records import AvroRecords  # noqa: PLC0415 - extra

        records = AvroRecords(schema_text(schema), confluent=messages == "confluent-avro")
    check_fits(records, sample, f"'{address}'")
    return KafkaPlace(address=address, records=records, start=start, rejects=rejects)


def columns_of(place: Place) -> pa.Schema:
    """Return the columns of a source's events."""
    with tempfile.TemporaryDirectory(prefix="elsinore-") as folder:
        source = place.open(Path(folder) / "log")
        try:
            return source.schema
        finally:
            source.close()


def sink_of(
    text: str,
    *,
    file_format: FileFormat = "parquet",
    keys: Mapping[str, Sequence[str]] | None = None,
    kafka_options: Sequence[str] | Mapping[str, str] = (),
) -> Sink:
    """Return the sink that a text names: kafka:TOPIC@HOST:PORT, or a folder.

    `keys` has the columns that identify a row of each query, for the keys of messages.
    """
    if not is_kafka(text):
        return FilesSink(text, file_format)
    from elsinore.connectors.kafka import KafkaSink  # noqa: PLC0415 - an extra

    sink: Any = KafkaSink(KafkaAddress.parse(text, kafka_options), keys=keys)
    return sink  # type: ignore[no-any-return]
