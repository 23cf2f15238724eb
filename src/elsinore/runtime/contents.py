"""Reading the text of a file, decompressed if necessary, in bounded memory."""

from __future__ import annotations

import codecs
import io
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from elsinore.errors import InputError, is_on_the_command_line
from elsinore.runtime.sources import STDIN_FOLDER, empty

PIECE_BYTES = 1 << 24  # bytes that are in memory at once
GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # the first bytes of UTF-16 with a byte order mark
FIRST_BYTES = 64
# Errors of Arrow, Python's decoders and the system for a file that cannot be read.
READING_ERRORS = (
    OSError, zlib.error, UnicodeError, MemoryError, RecursionError, pa.ArrowException, ValueError,
    OverflowError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a file, from `open_content`; every method reads the file from its beginning.

    `first` are the first 64 bytes of the text, `is_compressed` says that the file is compressed.
    """

    path: Path
    is_compressed: bool
    first: bytes

    def open(self) -> pa.NativeFile:
        """Return the text as a stream of Arrow's."""
        return _open(self.path, is_compressed=self.is_compressed)

    def pieces(self) -> Iterator[bytes]:
        """Yield the text in pieces of at most 16 MiB."""
        with self.open() as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece

    def size(self) -> int:
        """Return the number of bytes of the text; takes a pass over a compressed file."""
        return sum(map(len, self.pieces())) if self.is_compressed else self.path.stat().st_size

    def tail(self, count: int) -> bytes:
        """Return the last `count` bytes of the text, or all of them if there are fewer."""
        last = b""
        for piece in self.pieces():
            last = piece if len(piece) >= count else (last + piece)[-count:]
        return last[-count:] if count else b""

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of a byte, both counted from 1."""
        line, begin, before = 1, 0, 0
        for piece in self.pieces():
            part = piece[: offset - before]
            line += part.count(b"\n")
            if (last := part.rfind(b"\n")) >= 0:
                begin = before + last + 1
            before += len(piece)
            if before > offset:
                break
        return line, offset - begin + 1

    def line_not_utf8(self) -> int | None:
        """Return the number of the first line that is not UTF-8; None if all are."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        line = 1
        for piece in self.pieces():
            waiting = len(decoder.getstate()[0])
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                return line + piece[: max(0, error.start - waiting)].count(b"\n")
            line += piece.count(b"\n")
        return line if decoder.getstate()[0] else None


class PieceReader(io.RawIOBase):
    """A file for Arrow whose content is an iterator of pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all of them if it is negative."""
        parts: list[memoryview] = []
        missing = size
        while size < 0 or missing > 0:
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._rest = memoryview(piece)
            part = self._rest if size < 0 else self._rest[:missing]
            self._rest = self._rest[len(part) :]
            missing -= len(part)
            parts.append(part)
        return b"".join(parts)


def open_content(path: Path) -> Content:
    """Return the text of the file at `path`, decompressed if its name ends in .gz.

    Raise InputError if it is empty, compressed without the suffix, or UTF-16.
    """
    is_compressed = path.suffix.lower() == ".gz"
    with reading(path), _open(path, is_compressed=is_compressed) as stream:
        first = stream.read(FIRST_BYTES)
    if not first:
        raise InputError(empty(path))
    if first.startswith(GZIP):
        raise InputError(f"'{path}' is compressed with gzip. Name it '{path.name}.gz'.")
    if first.startswith(UTF_16):
        raise InputError(
            f"'{path}' is text in UTF-16. Save it as UTF-8, for example with: "
            "iconv -f utf-16 -t utf-8"
        )
    return Content(path, is_compressed, first)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert every error of the system, of Arrow and of Python's decoders to InputError.

    This is the only place that converts errors of reading files: it names the file, and the line of
    text that is not UTF-8. An InputError passes unchanged. The temporary copy of the standard input
    is named "the standard input".
    """
    try:
        with _naming_file(path):
            yield
    except InputError as error:
        if not path.parent.name.startswith(STDIN_FOLDER):
            raise
        text = str(error).replace(f"'{path}'", "the standard input")
        text = text.replace(str(path), "the standard input")
        raise InputError(text[:1].upper() + text[1:]) from error


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Raise errors about a file as InputError that names it."""
    try:
        yield
    except UnicodeError as error:
        raise InputError(not_utf8(path)) from error
    except MemoryError as error:
        raise InputError(
            f"'{path}' needs more memory than there is, or has a value of more than 2 GiB. Split "
            "it, or give the run more memory."
        ) from error
    except RecursionError as error:
        raise InputError(
            f"'{path}' has columns that are nested too deeply. Flatten them before the run."
        ) from error
    except (OSError, zlib.error) as error:
        raise InputError(_unreadable(path, error)) from error
    except (pa.ArrowException, ValueError, OverflowError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise InputError(f"'{path}' cannot be read: {why}.") from error


def not_utf8(path: Path, where: str = "") -> str:
    """Return the error message for text that is not UTF-8, with its place and line, if known.

    Only files of text have lines; the names of a Parquet file's columns have none.
    """
    is_compressed = path.suffix.lower() == ".gz"
    line = None
    if path.suffix.lower() not in {".parquet", ".pq"}:
        line = Content(path, is_compressed, b"").line_not_utf8()
    at = "" if line is None else f", line {line:,}"
    remedy = "" if line is None else " Convert the file, for example with: iconv -f latin1 -t utf-8"
    return f"'{path}'{at}: text{where} that is not UTF-8.{remedy}"


def shell_text(value: str) -> str:
    """Return a value as shell syntax, for messages about the command's options."""
    return shlex.quote(value) if is_on_the_command_line() else value


def _open(path: Path, *, is_compressed: bool) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if is_compressed else None)


def _unreadable(path: Path, error: Exception) -> str:
    """Return the error message for a file whose content cannot be read, with the remedy."""
    reason = str(error).partition("\n")[0].rstrip(".")
    if path.suffix.lower() != ".gz" or not path.is_file():
        return f"'{path}' cannot be read: {reason}."
    with path.open("rb") as file:
        begin = file.read(len(GZIP))
    if begin == GZIP:
        return f"'{path}' is a gzip file that is cut off or damaged ({reason}). Copy it again."
    return (
        f"'{path}' is named .gz and is not compressed with gzip. Name it '{path.stem}', or "
        f"compress it: gzip {shell_text(path.stem)}"
    )
