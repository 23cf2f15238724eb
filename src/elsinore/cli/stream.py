"""`elsinore stream`: answer the queries of a workload over arriving events."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.arguments import (
    Engine,
    OrderByOption,
    ParamOption,
    PythonOption,
    QueryOption,
    SharingMode,
    SharingOption,
    TimeOption,
    TimeUnitOption,
    TypeOption,
    Unit,
    WorkloadFile,
    choice_option,
    read_workload,
)
from elsinore.cli.console import ArgumentError, say, warn, with_error_reports
from elsinore.cli.streaming import StreamJob


class StreamFormat(StrEnum):
    """The format of results."""

    parquet = "parquet"
    csv = "csv"
    ndjson = "ndjson"


class MessageFormat(StrEnum):
    """The format of a topic's messages."""

    json = "json"
    avro = "avro"
    confluent_avro = "confluent-avro"


class Beginning(StrEnum):
    """Where a new stream begins to read a topic."""

    earliest = "earliest"
    latest = "latest"


class LogFormat(StrEnum):
    """How progress is shown on the standard error."""

    text = "text"
    json = "json"
    none = "none"


@with_error_reports
def stream(
    checkpoint: Annotated[
        Path,
        typer.Option(
            "--checkpoint", metavar="DIR", help="The folder of the state; a stream continues there."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR|kafka:TOPIC@HOST",
            help="Write results there: files DIR/QUERY/batch=N, or messages.",
        ),
    ],
    workload: WorkloadFile = None,
    query: QueryOption = None,
    python: PythonOption = None,
    param: ParamOption = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="kafka:TOPIC@HOST:PORT", help="The topic with the events."
        ),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="DIR", help="The folder to which files are added."),
    ] = None,
    time: TimeOption = "time",
    type: TypeOption = "type",  # noqa: A002 - the option's name
    time_unit: TimeUnitOption = Unit.s,
    order_by: OrderByOption = None,
    lateness: Annotated[
        str,
        typer.Option(
            "--lateness",
            metavar="LENGTH",
            help="By how much events may be out of order; later ones are left out.",
        ),
    ] = "0 seconds",
    idle_timeout: Annotated[
        str | None,
        typer.Option(
            "--idle-timeout",
            metavar="LENGTH",
            help="A partition without events for longer does not hold results back.",
        ),
    ] = None,
    ahead: Annotated[
        str | None,
        typer.Option("--ahead", metavar="LENGTH", help="Reject events further ahead of the clock."),
    ] = None,
    early: Annotated[
        str | None,
        typer.Option(
            "--early",
            metavar="LENGTH",
            help="Write values of windows that are still open so often, under QUERY.early.",
        ),
    ] = None,
    trigger: Annotated[
        str,
        typer.Option(
            "--trigger",
            metavar="LENGTH|once",
            help="How often a micro-batch begins; once: stop when all available events are read.",
        ),
    ] = "1 second",
    end_on_idle: Annotated[
        str | None,
        typer.Option(
            "--end-on-idle",
            metavar="LENGTH",
            help="End the stream, and all windows, when no event has come for so long; with "
            "--trigger once: at once.",
        ),
    ] = None,
    form: Annotated[
        StreamFormat,
        typer.Option(
            "--format", help="The format of files of results.", **choice_option(StreamFormat)
        ),
    ] = StreamFormat.parquet,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="TEXT|FILE",
            help="The columns: 'time TIMESTAMP, type STRING', or a file; by default inferred.",
        ),
    ] = None,
    messages: Annotated[
        MessageFormat,
        typer.Option(
            "--messages", help="What a topic's messages are.", **choice_option(MessageFormat)
        ),
    ] = MessageFormat.json,
    start: Annotated[
        Beginning,
        typer.Option("--start", help="Where to begin to read a topic.", **choice_option(Beginning)),
    ] = Beginning.earliest,
    kafka_option: Annotated[
        list[str] | None,
        typer.Option(
            "--kafka-option",
            metavar="NAME=VALUE|@FILE",
            help="An option of the Kafka client, or a file of such lines; repeatable.",
        ),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(
            "--rejects", metavar="DIR", help="Write rejected and late events there, and continue."
        ),
    ] = None,
    engine: Annotated[
        Engine, typer.Option("--engine", help="Where to run.", **choice_option(Engine))
    ] = Engine.spark,
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="Spark's master.")
    ] = "local[*]",
    buckets: Annotated[
        int | None,
        typer.Option("--buckets", metavar="N", min=1, help="Into how many parts keys are split."),
    ] = None,
    batch_rows: Annotated[
        int,
        typer.Option("--batch-rows", metavar="N", min=1, help="Events of a micro-batch at most."),
    ] = 1_000_000,
    sharing: SharingOption = SharingMode.dynamic,
    log: Annotated[
        LogFormat,
        typer.Option("--log", help="How to show progress.", **choice_option(LogFormat)),
    ] = LogFormat.text,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="[HOST:]PORT",
            help="Serve metrics for Prometheus there; without HOST to this machine alone.",
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            "--page",
            metavar="[HOST:]PORT",
            help="Serve a web page that shows the stream; without HOST to this machine alone.",
        ),
    ] = None,
) -> None:
    """Run the queries of a workload over arriving events, until it is stopped.

    Results are written as soon as no event can change them, each once; the same command continues
    after a stop or a crash. Exit status: 0 if the stream ended or everything was read, 1 if it
    failed, 2 if a query or an argument is wrong.
    """
    queries = read_workload(workload, query, python=python, params=param)
    for warning in queries.warnings:
        warn(warning)
    if (source is None) == (events is None):
        raise ArgumentError(
            "Name where events come from: a topic with --source kafka:TOPIC@HOST:PORT, or a folder "
            "with --events DIR."
        )
    _refuse_inputs(source or str(events), out, rejects, checkpoint)
    job = StreamJob(
        workload=queries,
        source=source or str(events),
        out=out,
        checkpoint=checkpoint,
        reading={
            "time": time,
            "type": type,
            "time_unit": time_unit.value,
            "order_by": tuple(order_by or ()),
            "rejects": rejects is not None,
            "sharing": sharing.value,
            "lateness": lateness,
            "idle_timeout": idle_timeout,
            "ahead": ahead,
        },
        schema=schema,
        messages=messages.value,
        start=start.value,
        kafka_options=tuple(kafka_option or ()),
        early=early,
        trigger=trigger,
        end_on_idle=end_on_idle,
        form=form.value,
        rejects=rejects,
        buckets=buckets,
        batch_rows=batch_rows,
        log=log.value,
        metrics=metrics,
        page=page,
    )
    if engine is Engine.local:
        from elsinore.cli.stream_local import stream_local  # noqa: PLC0415 - loads engines

        stream_local(job)
    else:
        from elsinore.cli.stream_spark import stream_spark  # noqa: PLC0415 - an extra

        stream_spark(job, master)
    if job.once and end_on_idle is None:
        say("All events have been read. The same command continues, with windows that are open.")
    else:
        say("The stream has ended.")


def _refuse_inputs(source: str, out: str, rejects: str | None, checkpoint: Path) -> None:
    """Refuse a topic or folder that is both an input and an output, or two outputs."""
    from elsinore.connectors.kafka import KafkaAddress, is_kafka  # noqa: PLC0415 - loads Arrow

    if is_kafka(source) and is_kafka(out):
        source_address, out_address = KafkaAddress.parse(source), KafkaAddress.parse(out)
        if source_address.topic == out_address.topic and set(source_address.servers) & set(
            out_address.servers
        ):
            raise ArgumentError(
                f"--out '{out}' is the topic that --source reads: results would be read again as "
                "events. Name another topic."
            )
    if rejects is not None and is_kafka(rejects):
        raise ArgumentError(f"--rejects '{rejects}' is a topic. Name a folder.")
    places = {"--events": source, "--out": out, "--rejects": rejects, "--checkpoint": checkpoint}
    folders = {
        name: Path(place).resolve()
        for name, place in places.items()
        if place is not None and not is_kafka(str(place))
    }
    names = list(folders)
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            first_folder, second_folder = folders[first], folders[second]
            if (
                first_folder == second_folder
                or first_folder in second_folder.parents
                or second_folder in first_folder.parents
            ):
                raise ArgumentError(
                    f"{first} '{first_folder}' and {second} '{second_folder}' are the same or "
                    "nested. Name separate folders: files would be read again, or overwritten."
                )
