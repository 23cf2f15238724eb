"""The job of `elsinore stream`, for both engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elsinore.cli.console import ArgumentError, say

if TYPE_CHECKING:
    from elsinore.connectors.contract import Sink
    from elsinore.connectors.places import Place
    from elsinore.workload import Workload

ONCE = "once"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJob:
    """The arguments of `elsinore stream`; see there. reading: options of `Workload.live`."""

    workload: Workload
    source: str
    out: str
    checkpoint: Path
    reading: Mapping[str, Any]
    schema: str | None
    messages: Any
    start: Any
    kafka_options: Sequence[str]
    early: str | None
    trigger: str
    end_on_idle: str | None
    form: Any
    rejects: str | None
    buckets: int | None
    batch_rows: int
    log: str
    metrics: str | None
    page: str | None

    @property
    def once(self) -> bool:
        """Whether the stream stops when all available events are read."""
        return self.trigger == ONCE

    @property
    def every(self) -> float:
        """The interval of micro-batches in seconds."""
        return 0.0 if self.once else self.seconds("trigger", self.trigger) or 0.0

    def seconds(self, name: str, text: str | None) -> float | None:
        """Return a duration in seconds. Raises ArgumentError for other text."""
        from elsinore.errors import InputError  # noqa: PLC0415
        from elsinore.runtime.live import seconds_of  # noqa: PLC0415 - loads engines

        if text is None:
            return None
        try:
            return seconds_of(text, name)
        except InputError as error:
            raise ArgumentError(str(error)) from error

    def place(self) -> Place:
        """Return the source of events; print an inferred schema to the standard error.

        A continued stream has the columns that were inferred when it began.
        """
        from elsinore.connectors.checkpoint import Checkpoint  # noqa: PLC0415 - loads Arrow
        from elsinore.connectors.places import place_of  # noqa: PLC0415

        return place_of(
            self.source,
            schema=Checkpoint(self.checkpoint).schema() if self.schema is None else self.schema,
            messages=self.messages,
            start=self.start,
            rejects=self.rejects is not None,
            kafka_options=self.kafka_options,
            report=say,
        )

    def keep_schema(self, place: Place) -> None:
        """Save the inferred columns of a topic's events, if any, in the checkpoint."""
        from elsinore.connectors.checkpoint import Checkpoint  # noqa: PLC0415 - loads Arrow
        from elsinore.connectors.places import KafkaPlace  # noqa: PLC0415
        from elsinore.connectors.records.schema_text import print_schema  # noqa: PLC0415

        if self.schema is None and isinstance(place, KafkaPlace):
            checkpoint = Checkpoint(self.checkpoint)
            checkpoint.prepare()
            checkpoint.keep_schema(print_schema(place.records.schema))

    def sink(self) -> Sink:
        """Return the sink of results."""
        from elsinore.connectors.places import sink_of  # noqa: PLC0415 - loads Arrow
        from elsinore.connectors.targets import key_columns  # noqa: PLC0415 - loads Arrow

        return sink_of(
            self.out,
            file_format=self.form,
            keys=key_columns(self.workload),
            kafka_options=self.kafka_options,
        )
