"""A run requested on the command line, and the paths that it may write."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from elsinore.cli.console import SHOWN_ROWS, ArgumentError
from elsinore.cli.times import Times
from elsinore.errors import OutputError
from elsinore.plan.modes import (
    CombineName,
    EndName,
    GranularityName,
    ScanName,
    SharingName,
)
from elsinore.workload import Workload

if TYPE_CHECKING:
    from elsinore.runtime.options import RunOptions
    from elsinore.runtime.outputs import OutputFormat
    from elsinore.runtime.result_sql import SqlCondition, SqlQuery
    from elsinore.runtime.results import Results
    from elsinore.runtime.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A workload, its events, and the output: a folder, a file, or the terminal.

    `ragged_rows` are filled when the events are read: the reason for rejecting each row of CSV with
    a wrong number of cells. Results are filtered by `having`; then `final_query` computes a single
    result from them. With `names_in_rows`, each printed row names its query.
    """

    workload: Workload
    source: Source
    times: Times
    ragged_rows: Sequence[str] = ()
    type: str = "type"
    order_by: tuple[str, ...] = ()
    out: Path | None = None
    out_is_file: bool = False
    form: OutputFormat | None = None
    parts: bool = False
    limit: int = SHOWN_ROWS
    rejects: Path | None = None
    overwrite: bool = False
    sharing: SharingName = "dynamic"
    granularity: GranularityName = "auto"
    stats: bool = False
    record: bool = False
    scan: ScanName = "auto"
    threads: int | None = None
    combine: CombineName = "auto"
    end: EndName = "closed"
    having: SqlCondition | None = None
    final_query: SqlQuery | None = None
    names_in_rows: bool = False

    @property
    def result_names(self) -> list[str]:
        """The names of results: of each query, or of the final query."""
        if self.final_query is not None:
            from elsinore.runtime.results import FINAL_RESULT  # noqa: PLC0415 - loads Arrow

            return [FINAL_RESULT]
        return [query.name for query in self.workload]

    def run(self, data: Any) -> Results[Any]:
        """Run the workload over events in this process, or over a Spark data frame of them."""
        return self.workload.run(data, **self._options)

    def batches(self, data: Any) -> Generator[tuple[str, Any], None, Results[Any]]:
        """Run the workload over events in this process; yield each query's rows in pieces."""
        return self.workload.batches(data, **self._options)

    def options(self) -> RunOptions:
        """Return the options of the run."""
        from elsinore.runtime.request import RunRequest  # noqa: PLC0415 - loads Arrow

        return RunRequest(**self._options).options()

    @property
    def _options(self) -> dict[str, Any]:
        return {
            **self.times.arguments,
            "type": self.type,
            "order_by": self.order_by,
            "rejects": self.rejects is not None,
            "sharing": self.sharing,
            "granularity": self.granularity,
            "record": self.record,
            "scan": self.scan,
            "threads": self.threads,
            "combine": self.combine,
            "end": self.end,
        }

    @property
    def time(self) -> str:
        """The column, or the SQL expression, that events are ordered by."""
        return self.times.time

    @property
    def reject_format(self) -> OutputFormat | None:
        """The format of --rejects, by its suffix; None without --rejects.

        Raises ArgumentError for an unknown suffix.
        """
        from elsinore.runtime.outputs import output_format  # noqa: PLC0415

        if self.rejects is None:
            return None
        rejects_form = output_format(self.rejects)
        if rejects_form is None:
            raise ArgumentError(
                f"The format of --rejects '{self.rejects}' is unknown. Name it "
                ".parquet, .csv or .jsonl."
            )
        return rejects_form

    def check_places(self, workload: Path | None) -> None:
        """Raise ArgumentError if a result or --rejects may not be written.

        `workload` is the file of the queries, if any, which is an input, too.
        """
        places = []
        if self.out is not None:
            places += [(self.place(name), "--out") for name in self.result_names]
        if self.rejects is not None:
            places.append((self.rejects, "--rejects"))
        check_places(places, inputs_of(self.source, workload), overwrite=self.overwrite)

    @property
    def out_format(self) -> OutputFormat:
        """The format of results under --out."""
        return self.form or "parquet"

    def place(self, query: str) -> Path:
        """Return the path of a query's result: below --out, or --out itself."""
        assert self.out is not None
        if self.out_is_file:
            return self.out
        return self.out / f"{file_name(query)}.{self.out_format}"


def file_name(query: str) -> str:
    """Return the file name of a query's result, which may have letters of any language.

    >>> file_name("größe 1/2")
    'größe 1%2F2'
    """
    return "".join(letter if letter.isalnum() else quote(letter, safe=" ") for letter in query)


def inputs_of(source: Source, workload: Path | None) -> list[Path]:
    """Return the files and folders that a run reads."""
    workloads = [] if workload is None or str(workload) == "-" else [workload]
    return [*source.user_paths, *(file.path for file in source.files), *workloads]


def check_places(
    places: Sequence[tuple[Path, str]], inputs: Sequence[Path], *, overwrite: bool
) -> None:
    """Raise ArgumentError if one of the paths, each with its option, may not be written."""
    from elsinore.runtime.destinations import (  # noqa: PLC0415 - loads Arrow
        Destination,
        check_destinations,
    )

    try:
        check_destinations(
            [Destination(path, option) for path, option in places], inputs, overwrite=overwrite
        )
    except OutputError as error:
        raise ArgumentError(str(error)) from error
