"""Deriving the types of events from the file's name, its folder or a Zeek log's header.

Systems often write each kind of event to a separate file with its own columns, such as `conn.log`
and `dns.log`. Their events get a column `type` from the place they are read from.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError, choices_text, did_you_mean
from elsinore.runtime.contents import open_content, reading
from elsinore.runtime.sources import SUFFIXES, Source, TypeFrom

COLUMN = "type"
_PART = re.compile(r"part[-_]?\d")  # a part of a data set, as Spark and pyarrow name them
_HEAD = 2**16  # first bytes of a log, in which the header is searched


def type_from_named(name: str) -> TypeFrom:
    """Return the source of types with a name; raise InputError with the choices for others."""
    names = [choice.value for choice in TypeFrom]
    if name not in names:
        raise InputError(
            f"Types are taken from {choices_text(names)}, not from '{name}'."
            f"{did_you_mean(name, names)}"
        )
    return TypeFrom(name)


def type_column(source: Source, path: Path, table: pa.Table) -> pa.Table:
    """Add the column `type` to a file's events if the source defines types.

    Raises InputError for a Zeek log without `#path`.
    """
    how = source.type_from
    if how is None or (how is TypeFrom.AUTO and COLUMN in table.column_names):
        return table
    name = type_of(source, path)
    if name is None:
        return table
    return with_type(table, name)


def with_type(table: pa.Table, name: str) -> pa.Table:
    """Set the column `type` of events to one type."""
    column = to_arrow(np.full(table.num_rows, name, dtype=object), pa.string())
    if COLUMN in table.column_names:
        return table.set_column(table.column_names.index(COLUMN), COLUMN, column)
    return table.append_column(COLUMN, column)


def type_of(source: Source, path: Path) -> str | None:
    """Return the type of a file's events, or None if the source does not define it."""
    how = source.type_from
    if how is TypeFrom.AUTO:
        if source.format == "zeek" and (name := _zeek_path(path)) is not None:
            return name
        is_part = _PART.match(path.name) is not None
        return _stem(path) if len(source.files) > 1 and not is_part else None
    if how is TypeFrom.ZEEK:
        name = _zeek_path(path) if source.format == "zeek" else None
        if name is None:
            raise InputError(
                f"'{path}' has no line '#path', which a log of Zeek names its type with. Take the "
                "type from the file's name instead."
            )
        return name
    if how is TypeFrom.FOLDER:
        return path.absolute().parent.name
    return _stem(path)


def _stem(path: Path) -> str:
    """Return a file's name without the suffix of its format.

    >>> _stem(Path("logs/conn.2024.log.gz")), _stem(Path("dns.csv"))
    ('conn.2024', 'dns')
    """
    lower = path.name.lower()
    suffix = max((s for s in SUFFIXES if lower.endswith(s)), key=len, default="")
    return path.name[: len(path.name) - len(suffix)]


def _zeek_path(path: Path) -> str | None:
    """Return the `#path` in the header of a Zeek log, or None."""
    with reading(path):
        head = b"".join(_some(path)).decode(errors="replace")
    for line in head.splitlines():
        if not line.startswith("#"):
            return None
        if line.startswith("#path"):
            return line.removeprefix("#path").strip() or None
    return None


def _some(path: Path) -> list[bytes]:
    pieces: list[bytes] = []
    for piece in open_content(path).pieces():
        pieces.append(piece)
        if sum(map(len, pieces)) >= _HEAD:
            break
    return pieces
