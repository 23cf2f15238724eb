"""Checking before a run that its destinations may be written.

Two rules. Existing files are only replaced with `overwrite`. And a run never writes what it reads:
a destination that is an input, lies inside one or contains one is refused, even with `overwrite`.
Files and folders are compared by device and inode, so that links and different spellings of a path
make no difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from elsinore.errors import OutputError

Identity: TypeAlias = tuple[int, int]

# The files of a data set, Elsinore's and Spark's: a folder with others is never deleted.
PART_PREFIXES = ("part-", "_", ".")

LONGEST_NAME = 255  # bytes that the name of a file may have


@dataclass(frozen=True, slots=True)
class Destination:
    """A path that a run writes, and the option that named it.

    >>> str(Destination(Path("out/q1.csv"), "--out"))
    "--out 'out/q1.csv'"
    """

    path: Path
    option: str

    def __str__(self) -> str:
        return f"{self.option} '{self.path}'"


def check_destinations(
    destinations: Sequence[Destination], inputs: Sequence[Path], *, overwrite: bool = False
) -> None:
    """Raise OutputError unless every destination may be written by a run that reads `inputs`.

    Refused are destinations that equal, lie inside or contain an input or one another; existing
    ones without `overwrite`; with it, folders with files other than the parts of a data set; paths
    below a file, or through a missing folder (`no/../q`); and names longer than `LONGEST_NAME`.

    >>> check_destinations([Destination(Path("no-such/q.csv"), "--out")], [Path("trips.csv")])
    """
    input_paths = _Inputs.from_paths(inputs)
    for destination in destinations:
        _refuse_input(destination, input_paths)
    _refuse_one_another(destinations)
    for destination in destinations:
        _refuse_no_folder(destination)
        _refuse_long_name(destination)
    existing = [place for place in destinations if os.path.lexists(place.path)]
    if existing and not overwrite:
        raise OutputError(_exists(existing))
    for destination in existing:
        refuse_foreign_folder(destination.path)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The files and folders that a run reads, by identity, and the folders that contain them."""

    within: Mapping[Identity, Path]
    above: Mapping[Identity, Path]

    @classmethod
    def from_paths(cls, inputs: Sequence[Path]) -> _Inputs:
        """Collect the identities of inputs, following links in them."""
        within: dict[Identity, Path] = {}
        above: dict[Identity, Path] = {}
        visited: set[Path] = set()
        for path in inputs:
            for inner in _walk(path, within):
                parent = Path(os.path.realpath(inner)).parent
                if parent not in visited:
                    visited.add(parent)
                    for folder in (parent, *parent.parents):
                        above.setdefault(_identity(folder) or (-1, -1), inner)
        return cls(within, above)


def _walk(path: Path, within: dict[Identity, Path]) -> Iterator[Path]:
    """Yield `path` and all paths below it, each once, and record their identities in `within`."""
    identity = _identity(path)
    if identity is None or identity in within:
        return
    within[identity] = path
    yield path
    if path.is_dir():
        try:
            children = sorted(path.iterdir())
        except OSError:  # a folder that cannot be listed is reported when it is read
            return
        for child in children:
            yield from _walk(child, within)


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _refuse_input(destination: Destination, inputs: _Inputs) -> None:
    """Raise OutputError if a destination is, contains or lies inside an input."""
    remedy = "Name another path: a run never writes what it reads, not even with --overwrite."
    real = Path(os.path.realpath(destination.path))
    # If the destination is a link, both its own path and its target's are checked.
    place = Path(os.path.realpath(destination.path.parent)) / destination.path.name
    real_identity = _identity(real)
    if real_identity is not None and real_identity in inputs.within:
        raise OutputError(
            f"{destination} is '{inputs.within[real_identity]}', which this run reads. {remedy}"
        )
    if real_identity is not None and real_identity in inputs.above:
        raise OutputError(
            f"{destination} contains '{inputs.above[real_identity]}', which this run reads. "
            f"{remedy}"
        )
    for folder in (*real.parents, *place.parents):
        identity = _identity(folder)
        if identity is not None and identity in inputs.within:
            raise OutputError(
                f"{destination} lies inside '{inputs.within[identity]}', which this run reads. "
                f"{remedy}"
            )


def _refuse_one_another(destinations: Sequence[Destination]) -> None:
    by_path: dict[Path, Destination] = {}
    for destination in destinations:
        real = Path(os.path.realpath(destination.path))
        if real in by_path:
            raise OutputError(f"{destination} and {by_path[real]} are the same path. Name two.")
        by_path[real] = destination
    for real, destination in by_path.items():
        for folder in real.parents:
            if folder in by_path:
                raise OutputError(f"{destination} lies inside {by_path[folder]}. Name two places.")


def _refuse_no_folder(destination: Destination) -> None:
    parts = destination.path.parts
    for folder in (Path(*parts[:place]) for place, part in enumerate(parts) if part == ".."):
        if not folder.is_dir():
            raise OutputError(f"{destination} cannot be written: there is no folder '{folder}'.")
    for folder in destination.path.absolute().parents:
        if folder.is_dir():
            return
        if os.path.lexists(folder):
            raise OutputError(f"{destination} cannot be written: '{folder}' is not a folder.")


def _refuse_long_name(destination: Destination) -> None:
    size = len(os.fsencode(destination.path.name))
    if size > LONGEST_NAME:
        raise OutputError(
            f"{destination} cannot be written: that name has {size} bytes, and at most "
            f"{LONGEST_NAME} are possible. Choose a shorter one."
        )


def _exists(existing: Sequence[Destination]) -> str:
    further = len(existing) - 1
    verb = f"and {further} more exist" if further else "exists"
    them = "them" if further else "it"
    return (
        f"{existing[0]} {verb} already. Add --overwrite to replace {them}, or name another place."
    )


def refuse_foreign_folder(path: Path) -> None:
    """Raise OutputError if `path` is a folder with files that are not parts of a data set."""
    if path.is_symlink() or not path.is_dir():
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith(PART_PREFIXES) or (child.is_dir() and not child.is_symlink()):
            raise OutputError(
                f"'{path}' is a folder that holds '{child.name}', which is not part of a result. "
                "Move it away yourself, or name another place."
            )
