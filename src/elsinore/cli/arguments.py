"""Arguments of several commands, and reading the files that they name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from elsinore.cli.console import WRONG_ARGUMENTS, ArgumentError, say, warn
from elsinore.errors import InputError, QueryError, SetupError, did_you_mean
from elsinore.language import parse_expression
from elsinore.model import Duration, Literal
from elsinore.workload import Workload

if TYPE_CHECKING:
    from elsinore.runtime.outputs import OutputFormat
    from elsinore.runtime.result_sql import SqlCondition, SqlQuery
    from elsinore.runtime.sources import Source

Choice = TypeVar("Choice", bound=StrEnum)

_CLAUSES_OF_ALL = re.compile(r"\b(PATTERN|RETURN|FROM)\b", re.IGNORECASE)  # every query has one
SUFFIX = re.compile(r".\.[a-z]\w*$", re.IGNORECASE)  # of a file; v0.5 and .cache have none


class Engine(StrEnum):
    """Where a workload runs."""

    spark = "spark"
    local = "local"


class TableFormat(StrEnum):
    """The format of results; ndjson: JSON with the query's name in each row."""

    parquet = "parquet"
    csv = "csv"
    json = "json"
    ndjson = "ndjson"


class Unit(StrEnum):
    """The unit of numeric times."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


class SharingMode(StrEnum):
    """The mode of sharing bursts between queries."""

    dynamic = "dynamic"
    always = "always"
    never = "never"


class EndMode(StrEnum):
    """Whether more events may follow the last one."""

    closed = "closed"
    open = "open"


class CombineMode(StrEnum):
    """Whether a key's events are combined before Spark's shuffle."""

    auto = "auto"
    always = "always"
    never = "never"


class ScanMode(StrEnum):
    """The reader of files on Spark."""

    auto = "auto"
    spark = "spark"
    arrow = "arrow"


class TypeSource(StrEnum):
    """The source of events' types."""

    file = "file"
    folder = "folder"
    zeek = "zeek"


class GranularityMode(StrEnum):
    """The granularity of state: sums of events, or every event."""

    auto = "auto"
    fine = "fine"


def choice_option(choices: type[Choice]) -> dict[str, Any]:
    """Return the arguments of an option with fixed choices, whose errors name similar choices."""
    names = [choice.value for choice in choices]

    def parse(text: str) -> Choice:
        if text not in names:
            raise typer.BadParameter(
                f"'{text}' is not one of {', '.join(names)}.{did_you_mean(text, names)}"
            )
        return choices(text)

    return {
        "parser": parse,
        "metavar": f"<{'|'.join(names)}>",
        "autocompletion": lambda: names,
    }


WorkloadFile = Annotated[
    Path | None, typer.Argument(metavar="WORKLOAD.cep", help="The file with the queries.")
]
QueryOption = Annotated[
    str | None,
    typer.Option(
        "-q",
        "--query",
        metavar="TEXT",
        help="The queries as text, instead of a file: 'RETURN COUNT(*) PATTERN SEQ(A, B+)'.",
    ),
]
Events = Annotated[
    list[str],
    typer.Option(
        "--events",
        metavar="PATH",
        help="The events: a file or folder of Parquet, CSV, JSON or Zeek's logs, a pattern such as "
        "'logs/*.csv', or - for the standard input; repeatable.",
    ),
]
OptionalEvents = Annotated[
    list[str] | None,
    typer.Option("--events", metavar="PATH", help="Events that the queries must fit."),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="The character between the cells of CSV; a comma by default.",
    ),
]
NullOption = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="TEXT",
        help="A CSV cell that stands for null, as an empty one does; repeatable.",
    ),
]
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="COLUMN", help="A CSV column to read as text, unchanged; repeatable."
    ),
]
TimeOption = Annotated[
    str,
    typer.Option(
        "--time",
        metavar="EXPR",
        help="The time: a column or SQL expression. ROWS: the order of the rows of the files.",
    ),
]
TypeOption = Annotated[
    str, typer.Option("--type", metavar="EXPR", help="The type: a column or SQL expression.")
]
TypeFromOption = Annotated[
    TypeSource | None,
    typer.Option(
        "--type-from",
        help="Give events a column type: the name of their file or folder, or #path of Zeek's "
        "logs. (Default: #path, or the names of several files, if there is no such column.)",
        **choice_option(TypeSource),
    ),
]
TimeUnitOption = Annotated[
    Unit,
    typer.Option("--time-unit", help="The unit of numeric times.", **choice_option(Unit)),
]
TimeIntervalOption = Annotated[
    str | None,
    typer.Option(
        "--time-interval",
        metavar="LO,HI",
        help="For uncertain times: the columns with the first and the last possible time, "
        "instead of --time.",
    ),
]
TimeGranularityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--time-granularity",
        metavar="[TYPE=]LENGTH",
        help="For coarse times: events (of a type) happened at their time or up to this long "
        "before it, as in 'Load=15 seconds'; repeatable.",
    ),
]
TimeStepOption = Annotated[
    str | None,
    typer.Option(
        "--time-step",
        metavar="LENGTH",
        help="The distance between possible times; by default a second, or 1 for numeric times.",
    ),
]
TimeDistributionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--time-distribution",
        metavar="[TYPE=]P,P,...|COL",
        help="The probabilities of the possible times (of events of a type), from the first to "
        "the last; equal by default; repeatable. Or a column with a list for each event.",
    ),
]
TimeSetsOption = Annotated[
    bool,
    typer.Option(
        "--time-sets",
        help="For uncertain times: treat events of a repeated variable as a set, in any order, "
        "if no condition relates them to one another.",
    ),
]
OrderByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--order-by",
        metavar="COL",
        help="A column that orders events of the same time; repeatable.",
    ),
]
SharingOption = Annotated[
    SharingMode,
    typer.Option(
        "--sharing",
        help="Share bursts between queries where it pays, always or never. Results are the same.",
        **choice_option(SharingMode),
    ),
]
GranularityOption = Annotated[
    GranularityMode,
    typer.Option(
        "--granularity",
        help="Keep sums where they suffice (auto), or every event (fine). Results are the same.",
        **choice_option(GranularityMode),
    ),
]
PythonOption = Annotated[
    list[str] | None,
    typer.Option(
        "--python",
        metavar="MODULE",
        help="A Python module, by name or file, whose definitions the queries may use; "
        "importing it runs its code; repeatable.",
    ),
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="The value of a parameter of the queries, :NAME in their text: a number, a length "
        "of time, TRUE, FALSE, NULL, or a text; repeatable.",
    ),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing output; inputs are never overwritten.")
]


def destination(text: str | Path) -> Path:
    """Return the path that `--out` or `--rejects` names.

    Raises BadParameter for an empty name (such as an unset variable), `-`, a URL, an unexpanded
    `~`, and `t.csv/`, which is both a folder and a file.
    """
    if isinstance(text, Path):
        return text
    if not text.strip():
        raise typer.BadParameter("the name is empty, perhaps from an unset variable.")
    if text == "-":
        raise typer.BadParameter("'-' is not a path. Without --out, results are printed.")
    from elsinore.runtime.sources import URL, format_of  # noqa: PLC0415 - as below

    if URL.match(text):
        raise typer.BadParameter(
            f"'{text}' is a URL, and results are written to files that this machine sees. "
            "In Python, results of Spark are data frames, which write to wherever Spark does."
        )
    if text.startswith("~"):
        raise typer.BadParameter(
            f"'{text}' was not expanded by the shell. Write it without quotes and after a space, "
            f"or with $HOME; a folder here of that name is './{text}'."
        )
    path = Path(text)
    is_file = format_of(path) is not None or (SUFFIX.search(path.name) and not path.is_dir())
    if text.endswith("/") and is_file:
        raise typer.BadParameter(
            f"'{text}' names a folder by its slash, and a file by its suffix. Write '{path}' for a "
            f"file, or '{path.with_suffix('')}' for a folder."
        )
    return path


def read_workload(
    path: Path | None,
    query: str | None,
    *,
    exact: bool = False,
    python: Sequence[str] | None = None,
    params: Sequence[str] | None = None,
) -> Workload:
    """Return the workload in a file, or in the text of `-q`; `python` names modules for queries.

    `params` are values of its parameters, each as `NAME=VALUE`. Raises ArgumentError if not exactly
    one of file and text is present, if the file is missing or not text, if a module cannot be
    imported, and for unknown parameters; and the errors of the queries.
    """
    workload = _workload_of(path, query, exact=exact, python=python)
    if not params:
        return workload
    try:
        return workload.bind(dict(map(_parameter, params)))
    except InputError as error:
        raise ArgumentError(str(error)) from error


def _parameter(text: str) -> tuple[str, object]:
    """Parse a parameter `NAME=VALUE`; return its name and value.

    >>> _parameter("limit=3"), _parameter("name=it is = x"), _parameter("code='3'")[1].value
    (('limit', Literal(value=3)), ('name', 'it is = x'), '3')
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentError(f"--param {text}: write NAME=VALUE, such as limit=3.")
    try:
        constant = parse_expression(value)
    except QueryError:
        return name, value
    return name, constant if isinstance(constant, Literal | Duration) else value


def _workload_of(
    path: Path | None, query: str | None, *, exact: bool, python: Sequence[str] | None
) -> Workload:
    """Parse the workload of a file or of -q; raise ArgumentError that suggests the right option."""
    if query is not None and path is not None:
        raise ArgumentError(
            f"There are queries in '{path}' and in -q. Leave one of them out; if '{path}' "
            "has the events, name it with --events."
        )
    if query is not None:
        return _parse(query, "-q", exact=exact, python=python or ())
    if path is None:
        raise ArgumentError(
            "Name a file with queries, or give queries with "
            "-q 'RETURN COUNT(*) PATTERN SEQ(A, B+)'."
        )
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError:
        from elsinore.runtime.sources import missing  # noqa: PLC0415

        raise ArgumentError(_queries_in_place_of_file(path) or missing(path)) from None
    except OSError as error:
        advice = _queries_in_place_of_file(path)
        raise ArgumentError(advice or f"Cannot read '{path}': {error.strerror}.") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if content.startswith(b"PAR1") or is_named_as_events(path):
            raise ArgumentError(_no_queries(path)) from None
        line = content.count(b"\n", 0, error.start) + 1
        raise ArgumentError(
            f"'{path}', line {line}: text that is not UTF-8. Save the file as UTF-8."
        ) from None
    if is_named_as_events(path) and not _CLAUSES_OF_ALL.search(text):
        raise ArgumentError(_no_queries(path))
    return _parse(text, str(path), exact=exact, python=python or ())


def refuse_events(context: typer.Context, wrong: str) -> NoReturn:
    """Exit with an error if events were named without --events."""
    say(
        f"{wrong} Name the file with the queries (or -q), and each file of events with --events, a "
        f"pattern in quotes: {context.command_path} q.cep --events 'trips/*.csv'"
    )
    raise typer.Exit(WRONG_ARGUMENTS)


def is_named_as_events(path: Path) -> bool:
    """Return whether a file's suffix is one of events."""
    from elsinore.runtime.sources import format_of  # noqa: PLC0415 - as below

    return format_of(path) is not None


def _queries_in_place_of_file(path: Path) -> str | None:
    """Return the error message if `path` is the text of queries, without -q; else None."""
    if not _CLAUSES_OF_ALL.search(str(path)):
        return None
    return "Pass queries as text with -q: elsinore run -q 'RETURN ... PATTERN ...'."


def _no_queries(path: Path) -> str:
    return (
        f"'{path}' has no queries. If it has the events, name it with --events {path}, and the "
        "file with the queries before it, or pass queries with -q."
    )


def _parse(text: str, name: str, *, exact: bool, python: Sequence[str]) -> Workload:
    try:
        return Workload.parse(text, name, exact=exact, python=python)
    except SetupError as error:
        raise ArgumentError(str(error)) from error


def format_of_out(out: Path, form: TableFormat | None, results: int) -> OutputFormat | None:
    """Return the format of the file that --out names, by its suffix; None if it names a folder.

    Raises ArgumentError for an unsupported suffix or one that --format contradicts, for several
    results, and for a folder whose path is a file.
    """
    from elsinore.runtime.outputs import output_format  # noqa: PLC0415 - loads Arrow

    named_format = output_format(out)
    if named_format is None:
        if SUFFIX.search(out.name) and not out.is_dir():
            raise ArgumentError(
                f"Results cannot be written in the format of --out '{out}'. Name a file .parquet, "
                f".csv or .jsonl, or a folder; if '{out}' is to be a folder, create it first."
            )
        check_folder(out)
        return None
    if form is not None and form.value != named_format:
        raise ArgumentError(
            f"--out '{out}' names a file of {named_format}, but --format is {form.value}. Leave "
            "out --format, or give the file another suffix."
        )
    if results != 1:
        raise ArgumentError(
            f"Only one result can be written to a file, not {results}: --out '{out}'. Use a "
            f"folder, as in --out {out.stem} --format {named_format}, or run one query."
        )
    return named_format


def output_format_of(form: TableFormat) -> OutputFormat:
    """Return the output format for a --format."""
    formats: dict[TableFormat, OutputFormat] = {
        TableFormat.parquet: "parquet",
        TableFormat.csv: "csv",
        TableFormat.json: "json",
        TableFormat.ndjson: "json",
    }
    return formats[form]


def sql_over_results(
    having: str | None, then: str | None, names: list[str]
) -> tuple[SqlCondition | None, SqlQuery | None]:
    """Return the SQL of --having and --then over the results of queries.

    Raises ArgumentError for invalid SQL, and for tables that are not queries.
    """
    if having is None and then is None:
        return None, None
    from elsinore.runtime.result_sql import SqlCondition, SqlQuery  # noqa: PLC0415 - loads sqlglot

    try:
        condition = None if having is None else SqlCondition(having)
    except InputError as error:
        raise ArgumentError(f"--having: {error}") from error
    try:
        return condition, None if then is None else SqlQuery(then, names)
    except InputError as error:
        raise ArgumentError(f"--then: {error}") from error


def check_folder(out: Path) -> None:
    """Raise ArgumentError if --out has to name a folder, but names a file.

    Files are existing files, and missing paths with a suffix, as in x.csv.
    """
    if out.exists():
        if not out.is_dir():
            raise ArgumentError(f"--out names a folder, but '{out}' is a file.")
    elif SUFFIX.search(out.name):
        raise ArgumentError(
            f"--out names a folder, but '{out}' looks like a file. Name it without a suffix, as in "
            f"--out {out.with_suffix('')}, or create that folder first."
        )


def warn_without_effect(context: typer.Context, why: Mapping[str, str]) -> None:
    """Warn of options without effect, each with the reason."""
    for name, reason in why.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            warn(f"--{name.replace('_', '-')} has no effect {reason}.")


def source_of(
    events: Sequence[str],
    delimiter: str | None = None,
    nulls: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    workload: Path | None = None,
    reject: Callable[[str], None] | None = None,
    type_from: TypeSource | None = None,
    type: str = "type",  # noqa: A002 - the option's name
) -> Source:
    """Return the source of events; see `Reading` for `reject`.

    Types are taken from `type_from`; without it and `type`, their source is detected.

    Raises ArgumentError for missing files (with the nearest name), for unknown or several formats,
    and if the standard input is also the queries.
    """
    from elsinore.runtime.sources import TypeFrom, find_source  # noqa: PLC0415

    default_source = TypeFrom.AUTO if type == "type" else None
    if list(events).count("-") + (str(workload) == "-") > 1:
        raise ArgumentError("There is only one standard input: name - once.")
    try:
        return find_source(
            events,
            delimiter=delimiter,
            nulls=nulls or (),
            texts=texts or (),
            report=warn,
            reject=reject,
            type_from=default_source if type_from is None else TypeFrom(type_from.value),
        )
    except InputError as error:
        raise ArgumentError(str(error)) from error
