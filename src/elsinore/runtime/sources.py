"""Sources of events: names, as users write them, resolved to files of one format.

All drivers read the same files and raise the same errors.
"""

from __future__ import annotations

import atexit
import glob
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from elsinore.errors import InputError, did_you_mean, option

FileFormat = Literal["parquet", "csv", "json", "zeek"]

SUFFIXES: dict[str, FileFormat] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".json": "json",
    ".json.gz": "json",
    ".jsonl": "json",
    ".jsonl.gz": "json",
    ".ndjson": "json",
    ".ndjson.gz": "json",
    ".log": "zeek",
    ".log.gz": "zeek",
}
STDIN = "-"
STDIN_FOLDER = "elsinore-stdin-"  # prefix of the folder with a copy of the standard input
STREAM_LOG = "_spark_metadata"
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " "}


class ReadingWarning(UserWarning):
    """A warning that cells of a file may have been read with the wrong type."""


def warn_about_reading(sentence: str) -> None:
    """Issue a `ReadingWarning`."""
    warnings.warn(sentence, ReadingWarning, stacklevel=2)


class TypeFrom(StrEnum):
    """The source of events' types."""

    FILE = "file"  # the file's name without its suffix: conn.csv has events of type conn
    FOLDER = "folder"  # the name of the folder that it is in
    ZEEK = "zeek"  # the #path of a log of Zeek
    AUTO = "auto"  # #path, or if there are several files their names; unless there is a column


@dataclass(frozen=True, slots=True)
class Reading:
    """How text is read: the delimiter of CSV, and which cells are null.

    `texts` are columns of CSV that are read as text; `report` is called with warnings about guessed
    types. `reject` is called with the reason for each row of CSV with a wrong number of cells;
    without it, such a row is an error.
    """

    delimiter: str | None = None
    nulls: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    report: Callable[[str], None] = warn_about_reading
    reject: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file, and the columns from its folders named `column=value`."""

    path: Path
    partition: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Files of one format with a run's events.

    `user_paths` are the files and folders that the user named; `streamed`: a Spark stream wrote one
    of them, and only Spark reads its log. `type_from` is the source of a derived column `type`;
    None: no such column is derived.
    """

    files: tuple[DataFile, ...]
    format: FileFormat
    user_paths: tuple[Path, ...]  # by the user
    reading: Reading = field(default=Reading())
    streamed: bool = False
    type_from: TypeFrom | None = None

    @property
    def name(self) -> str:
        """The source's name in errors."""
        further = len(self.user_paths) - 1
        return f"'{self.user_paths[0]}'" + (f" and {further} more" if further else "")


def find_source(
    names: Sequence[str | Path],
    *,
    delimiter: str | None = None,
    nulls: Sequence[str] = (),
    texts: Sequence[str] = (),
    report: Callable[[str], None] = warn_about_reading,
    reject: Callable[[str], None] | None = None,
    type_from: TypeFrom | None = None,
) -> Source:
    """Return the source of names: files, folders, patterns with `*`, or `-` for standard input.

    Raise InputError for missing files (with similar names) and unreadable folders, for a file named
    twice, for unknown or several formats, for an empty name, for URLs (with a way to read them) and
    for an invalid delimiter.

    >>> find_source(["s3://bucket/trips.csv"])
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: 's3://bucket/trips.csv' is a URL, and events are read ...
    """
    reading = Reading(_delimiter(delimiter), tuple(nulls), tuple(texts), report, reject)
    paths = [path for name in names for path in _expand(str(name))]
    data_files: list[DataFile] = []
    names_by_path: dict[Path, Path] = {}
    streamed = False
    for path in paths:
        if not path.exists():
            raise InputError(missing(path))
        streamed = streamed or (path / STREAM_LOG).exists()
        files = _folder_files(path) if path.is_dir() else [DataFile(path)]
        _refuse_twice(path, files, names_by_path)
        data_files += files
    return Source(
        files=tuple(data_files),
        format=_common_format(data_files, paths),
        user_paths=tuple(paths),
        reading=reading,
        streamed=streamed,
        type_from=type_from,
    )


def format_of(path: Path) -> FileFormat | None:
    """Return the format for the suffix of `path`; None if it is unknown.

    >>> format_of(Path("trips.2024.CSV.gz"))
    'csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        return SUFFIXES.get("".join(suffixes[-2:]))
    return SUFFIXES.get("".join(suffixes[-1:]))


def unknown_format(path: Path) -> str:
    """Return the error message for a file with an unknown suffix."""
    return (
        f"The format of '{path}' is unknown. Known suffixes: {', '.join(SUFFIXES)}. "
        "Rename the file or convert it to one of these."
    )


def empty(path: Path) -> str:
    """Return the error message for an empty file."""
    return (
        f"'{path}' is empty (0 bytes), as an interrupted writer leaves it. Delete it, or write the "
        "data set again."
    )


def missing(path: Path) -> str:
    """Return the error message for a missing file, with similar names."""
    folder = path.parent
    if not folder.is_dir():
        return f"Cannot read '{path}': there is no folder '{folder}'."
    names = sorted(child.name for child in folder.iterdir())
    where = "this folder" if folder == Path() else f"'{folder}'"
    return f"Cannot read '{path}': {where} holds no '{path.name}'.{did_you_mean(path.name, names)}"


def _delimiter(text: str | None) -> str | None:
    if text is None:
        return None
    delimiter = DELIMITERS.get(text.lower(), text)
    if len(delimiter.encode()) != 1 or delimiter in {'"', "\n", "\r"}:
        raise InputError(
            f"{text!r} is not a delimiter. Use one character such as ',', ';' or '|', or tab."
        )
    return delimiter


def _refuse_twice(path: Path, files: Sequence[DataFile], names_by_path: dict[Path, Path]) -> None:
    """Raise InputError if a file below `path` is in `names_by_path`; add all files to it."""
    places = {file.path.resolve(): file.path for file in files}
    for place, file in places.items():
        if place in names_by_path:
            raise InputError(
                f"'{file}' is named twice, by '{names_by_path[place]}' and by '{path}', and its "
                "events would count twice. Name it once."
            )
    names_by_path |= dict.fromkeys(places, path)


def _expand(name: str) -> list[Path]:
    """Return the paths that a name or pattern refers to."""
    if not name.strip():
        raise InputError(
            "The name of the events is empty, perhaps from an unset variable. Name a file "
            "or a folder; this folder is '.'."
        )
    if name == STDIN:
        return [_spool_stdin()]
    if URL.match(name):
        parts = urlsplit(name)
        if parts.scheme != "file":
            raise InputError(_url(name, parts.scheme))
        return [Path(url2pathname(unquote(parts.path)))]
    path = Path(name)
    if path.exists() or not any(sign in name for sign in "*?["):
        return [path]
    paths = [Path(place) for place in sorted(glob.glob(name, recursive=True))]
    if not paths:
        raise InputError(f"No file matches '{name}'.")
    return paths


def _url(name: str, scheme: str) -> str:
    on_spark = re.sub(r"^s3n?:", "s3a:", name)
    connectors = {"s3": "hadoop-aws", "s3a": "hadoop-aws", "gs": "gcs-connector"}
    needs = f" (with the package {connectors[scheme]})" if scheme in connectors else ""
    return (
        f"'{name}' is a URL, and events are read from files that this machine sees. Copy them "
        "here, or read them in Python and hand them to workload.run: on Spark with "
        f"spark.read.parquet('{on_spark}'){needs}, in this process with "
        f"pyarrow.dataset.dataset('{name}').to_table()."
    )


def _spool_stdin() -> Path:
    """Write the standard input to a temporary file with the suffix of its format; return its path.

    Raise InputError if it is empty.
    """
    stream = sys.stdin.buffer
    head = stream.read(1 << 16)
    if not head.strip():
        raise InputError("The standard input is empty: there are no events to read.")
    folder = Path(tempfile.mkdtemp(prefix=STDIN_FOLDER))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"standard input{_sniff_suffix(head)}"
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(stream, file)
    return path


def _sniff_suffix(head: bytes) -> str:
    """Return the suffix of a file's format, guessed from its first bytes.

    >>> _sniff_suffix(b'{"time": 1}'), _sniff_suffix(b"time,type")
    ('.jsonl', '.csv')
    """
    gzip_suffix = ""
    if head.startswith(b"\x1f\x8b"):
        import zlib  # noqa: PLC0415 - seldom needed

        gzip_suffix = ".gz"
        with suppress(zlib.error):  # damaged: reading the file raises the error
            head = zlib.decompressobj(wbits=31).decompress(head, len(head))
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"#separator"):
        return f".log{gzip_suffix}"
    json = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}
    return f".jsonl{gzip_suffix}" if json else f".csv{gzip_suffix}"


def _folder_files(folder: Path) -> list[DataFile]:
    """Return the files below `folder` that are not hidden, sorted by their paths."""
    data_files = [
        DataFile(path, folder_columns(path.relative_to(folder)))
        for path in _files_below(folder, frozenset())
    ]
    readable = [data_file for data_file in data_files if format_of(data_file.path) is not None]
    unknown = [data_file.path for data_file in data_files if format_of(data_file.path) is None]
    if not readable:
        with_file = f" (it has '{unknown[0].name}')" if unknown else ""
        raise InputError(
            f"The folder '{folder}' has no events{with_file}: none of its files has a suffix among "
            f"{', '.join(SUFFIXES)}."
        )
    if unknown:
        raise InputError(
            f"The folder '{folder}' holds '{unknown[0].relative_to(folder)}', whose suffix is none "
            f"of {', '.join(SUFFIXES)}. Move it away, or give it a name that begins with '_'."
        )
    return data_files


def _files_below(folder: Path, above: frozenset[Path]) -> list[Path]:
    real = folder.resolve()
    if real in above:  # a link that leads back up
        return []
    paths = []
    try:
        for child in sorted(folder.iterdir()):
            if not child.name.startswith(("_", ".")):
                paths += _files_below(child, above | {real}) if child.is_dir() else [child]
    except OSError as error:
        raise InputError(f"Cannot read '{error.filename}': {error.strerror}.") from error
    return paths


def folder_columns(relative: Path) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of a file from its parent folders named `column=value`.

    >>> folder_columns(Path("day=2024-01-31/part-0.csv"))
    (('day', '2024-01-31'),)
    """
    pairs = (folder.partition("=") for folder in relative.parent.parts)
    return tuple(
        (name, None if text == HIVE_NULL else unquote(text))
        for name, equals, text in pairs
        if equals
    )


def _common_format(files: Sequence[DataFile], named: Sequence[Path]) -> FileFormat:
    """Return the format of all files; raise InputError if it is unknown or not unique."""
    by_format: dict[FileFormat, Path] = {}
    for file in files:
        file_format = format_of(file.path)
        if file_format is None:
            raise InputError(unknown_format(file.path))
        by_format.setdefault(file_format, file.path)
    if not by_format:
        raise InputError(f"There are no events: name a file or a folder with {option('events')}.")
    if len(by_format) > 1:
        formats = " and ".join(f"{name} ('{path.name}')" for name, path in by_format.items())
        where = f"The folder '{named[0]}' holds" if len(named) == 1 else "The events are"
        raise InputError(
            f"{where} files of several formats: {formats}. Keep one format a "
            "folder, or name one file."
        )
    return next(iter(by_format))
