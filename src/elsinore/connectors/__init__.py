r"""Sources and sinks of live streams, for every driver: folders and Kafka.

`contract` defines the protocol of sources for drivers: `first`, `available`, `advance`, `splits`,
`reader.read`. Sources are `FolderSource`, and `KafkaSource` in `connectors.kafka`. Sinks are
`FilesSink`, `RejectsSink`, and `KafkaSink` in `connectors.kafka`. `records` parses messages into
rows, and parses, infers and prints schemas. This package does not depend on drivers or engines.

>>> import tempfile
>>> from pathlib import Path
>>> tmp = Path(tempfile.mkdtemp())
>>> (tmp / "in").mkdir()
>>> _ = (tmp / "in" / "a.csv").write_text("time,type\n1,A\n2,B\n")
>>> source = FolderSource(tmp / "in", tmp / "checkpoint" / "files", settle=0)
>>> end = source.advance(source.first(), Limit(rows=1000))
>>> [source.reader.read(split).events.num_rows for split in source.splits(source.first(), end)]
[2]
"""

from elsinore.connectors.contract import (
    NO_LIMIT,
    Limit,
    Offset,
    Part,
    Reader,
    Split,
    StreamSource,
    balance,
)
from elsinore.connectors.files_sink import FilesSink, RejectsSink
from elsinore.connectors.folder import FolderSource
from elsinore.connectors.rejects import REJECTS, refuse, rejected_rows

__all__ = [
    "NO_LIMIT",
    "REJECTS",
    "FilesSink",
    "FolderSource",
    "Limit",
    "Offset",
    "Part",
    "Reader",
    "RejectsSink",
    "Split",
    "StreamSource",
    "balance",
    "refuse",
    "rejected_rows",
]
