"""Validating JSON before Arrow reads it, and converting arrays of objects to JSON Lines.

Arrow's reader recurses for each level of nesting and crashes the process at many thousands. This
pass therefore counts brackets outside of strings and limits their depth; it also checks UTF-8. An
array of objects becomes one object per line in the same pass; every byte keeps its offset.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.runtime.contents import Content, not_utf8

# Levels of lists and objects, as deep as the drivers' recursive functions on types are tested.
# Spark fails to send a schema of 400 levels to its tasks.
MOST_LEVELS = 100
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NOT_WHOLE = "Correct it there; a file that ends within a value was not written to its end."

_QUOTE, _NEWLINE, _COMMA, _BACKSLASH = b'"\n,\\'
_MARKS = np.zeros(256, dtype=np.bool_)
_MARKS[list(b'"\n{}[],')] = True
_UNMARKED = bytes(set(range(256)) - set(b'"\n{}[]'))
_DELTA = np.zeros(256, dtype=np.int8)
_DELTA[list(b"{[")] = 1
_DELTA[list(b"}]")] = -1
_IS_BLANK = np.zeros(256, dtype=np.bool_)
_IS_BLANK[list(b" \t\r\n")] = True
_OPENS, _CLOSES, _SEPARATES = range(3)  # between the brackets of an array, in turn


def json_lines(content: Content) -> Iterator[bytes]:
    """Yield the text of a JSON file as one object per line, in pieces; bytes keep their offsets.

    Raise InputError, with line and column, for more than 100 levels of nesting, for text that is
    not UTF-8, and for an array with other items than objects.
    """
    is_array = content.first.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"[")
    yield from lines_of_pieces(content.path, content.pieces(), is_array=is_array)


def lines_of_pieces(path: Path, pieces: Iterable[bytes], *, is_array: bool) -> Iterator[bytes]:
    r"""Convert the pieces of a JSON text to one object per line; errors name `path`.

    >>> b"".join(lines_of_pieces(Path("e.json"), [b'[{"a":', b'1},{}]'], is_array=True))
    b' {"a":1}\n{} '
    """
    scan = _Scan(path, is_array=is_array)
    for number, piece in enumerate(pieces):
        has_byte_order_mark = number == 0 and piece.startswith(BYTE_ORDER_MARK)
        text = b"   " + piece.removeprefix(BYTE_ORDER_MARK) if has_byte_order_mark else piece
        yield scan.line_by_line(text)
    scan.end()


class _Scan:
    """The state of scanning a JSON text up to an offset."""

    def __init__(self, path: Path, *, is_array: bool) -> None:
        self._path = path
        self._is_array = is_array
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._offset = 0  # of the piece's first byte
        self._lines = 1
        self._line_begin = 0  # offset of the line's first byte
        self._depth = 0
        self._in_text = False
        self._escapes = False  # whether a backslash before the piece escapes its first byte
        self._items = 0  # objects of the array that are open or closed
        self._next = _OPENS
        self._array_is_open = False  # whether the array is
        self._array_is_closed = False

    def line_by_line(self, piece: bytes) -> bytes:
        """Return the next piece of the text, with each object of an array on a separate line."""
        if not piece.isascii() or self._decoder.getstate()[0]:
            try:
                self._decoder.decode(piece)
            except UnicodeDecodeError as error:
                raise InputError(not_utf8(self._path)) from error
        if self._is_array:
            places = self._places(piece)
            marks = np.frombuffer(piece, dtype=np.uint8)[places]
            inside, depth = self._nesting(marks)
            self._check_depth(piece, places, depth)
            lines = self._separated(piece, places, inside, depth)
        else:
            lines = piece
            before = self._escapes, self._in_text, self._depth
            _, depth = self._nesting(self._brackets(piece))
            if depth.size and depth.max() > MOST_LEVELS:
                self._escapes, self._in_text, self._depth = before
                places = self._places(piece)
                marks = np.frombuffer(piece, dtype=np.uint8)[places]
                self._check_depth(piece, places, self._nesting(marks)[1])
        self._lines += piece.count(b"\n")
        if (last := piece.rfind(b"\n")) >= 0:
            self._line_begin = self._offset + last + 1
        self._offset += len(piece)
        return lines

    def end(self) -> None:
        """Raise InputError if an array is not closed, or the text ends within a character."""
        if self._decoder.getstate()[0]:
            raise InputError(not_utf8(self._path))
        if self._is_array and not self._array_is_closed:
            self._refuse(b"", 0, f"the array is not closed. {NOT_WHOLE}")

    def _brackets(self, piece: bytes) -> NDArray[np.uint8]:
        """Return a piece's brackets, ends of lines and quotes in their order.

        Adjacent quotes (an empty string) are left out, as they do not affect other marks.
        """
        if self._escapes and piece[:1] in {b'"', b"\\"}:
            piece = piece[1:]
        self._escapes = False
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"")
            self._escapes = piece.endswith(b"\\")
            piece = piece.replace(b'\\"', b"")
        return np.frombuffer(piece.translate(None, _UNMARKED).replace(b'""', b""), dtype=np.uint8)

    def _places(self, piece: bytes) -> NDArray[np.intp]:
        """Return the places of brackets, commas, ends of lines and quotes without a backslash."""
        data = np.frombuffer(piece, dtype=np.uint8)
        places = np.flatnonzero(_MARKS[data])
        slashes = np.flatnonzero(data == _BACKSLASH)
        escaped = np.array([0] if self._escapes else [], dtype=np.intp)
        if len(slashes):
            breaks = np.diff(slashes) > 1
            begins = slashes[np.concatenate(([True], breaks))]
            ends = slashes[np.concatenate((breaks, [True]))] + 1
            odd = (ends - begins) % 2 == 1
            if self._escapes and begins[0] == 0:
                odd[0] = not odd[0]
                escaped = escaped[:0]
            escaped = np.concatenate((escaped, ends[odd]))
        self._escapes = bool(len(escaped)) and int(escaped[-1]) == len(data)
        escaped = escaped[escaped < len(data)]
        escaped_quotes = escaped[data[escaped] == _QUOTE]
        if not len(escaped_quotes):
            return places
        return np.delete(places, np.searchsorted(places, escaped_quotes))

    def _nesting(self, marks: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which marks are inside a string, and the depth after each; update the state.

        A string ends at the end of a line at the latest.
        """
        is_quote = marks == _QUOTE
        quotes = np.cumsum(is_quote) + int(self._in_text)
        at_newlines = np.where(marks == _NEWLINE, quotes, 0)
        before_line = np.maximum.accumulate(np.concatenate(([0], at_newlines)))
        inside: NDArray[np.bool_] = (quotes - is_quote - before_line[:-1]) % 2 == 1
        running = self._depth + np.cumsum(np.where(inside, 0, _DELTA[marks]), dtype=np.int64)
        depth: NDArray[np.int64] = running - np.minimum.accumulate(np.minimum(running, 0))
        if len(marks):
            self._in_text = bool((quotes[-1] - before_line[-1]) % 2)
            self._depth = int(depth[-1])
        return inside, depth

    def _check_depth(
        self, piece: bytes, places: NDArray[np.intp], depth: NDArray[np.int64]
    ) -> None:
        """Raise InputError at the first mark that is nested too deeply."""
        too_deep = np.flatnonzero(depth > MOST_LEVELS)
        if len(too_deep):
            self._refuse(
                piece,
                int(places[too_deep[0]]),
                f"values are nested more than {MOST_LEVELS} levels deep. Write the inner ones as "
                "text, or flatten them.",
            )

    def _separated(
        self,
        piece: bytes,
        places: NDArray[np.intp],
        inside: NDArray[np.bool_],
        depth: NDArray[np.int64],
    ) -> bytes:
        """Return a piece of an array with its brackets blanked and its commas as ends of lines."""
        data = np.frombuffer(bytearray(piece), dtype=np.uint8)
        marks = data[places]
        delta = np.where(inside, 0, _DELTA[marks])
        data[places[~inside & (marks == _NEWLINE)]] = ord(" ")
        end = 0
        if not self._array_is_closed:
            outer_opens = np.flatnonzero((delta == 1) & (depth == 1))
            if not self._array_is_open and len(outer_opens):
                self._array_is_open = True
                data[places[outer_opens[0]]] = ord(" ")
            outer_closes = np.flatnonzero((delta == -1) & (depth == 0))
            end = int(places[outer_closes[0]]) if len(outer_closes) else len(data)
            kinds = np.full(len(marks), -1)
            kinds[(delta == 1) & (depth == 2)] = _OPENS
            kinds[(delta == -1) & (depth == 1)] = _CLOSES
            kinds[~inside & (marks == _COMMA) & (depth == 1)] = _SEPARATES
            kinds[places >= end] = -1
            self._check_items(piece, places[kinds >= 0], kinds[kinds >= 0])
            data[places[kinds == _SEPARATES]] = _NEWLINE
            if end < len(data):
                if data[end] != ord("]"):
                    self._refuse(piece, end, f"the array is closed by a brace. {NOT_WHOLE}")
                self._array_is_closed = True
                data[end] = ord(" ")
                if self._next == _OPENS and self._items:
                    self._refuse_item(piece, end)
        trailing = np.flatnonzero(~_IS_BLANK[data[end:]])
        if len(trailing):
            self._refuse(piece, end + int(trailing[0]), f"text follows the array. {NOT_WHOLE}")
        return data.tobytes()

    def _check_items(
        self, piece: bytes, places: NDArray[np.intp], kinds: NDArray[np.int64]
    ) -> None:
        """Raise InputError unless an array's objects and commas alternate."""
        marks = np.frombuffer(piece, dtype=np.uint8)[places]
        is_wrong = (kinds != (self._next + np.arange(len(kinds))) % 3) | (marks == ord("["))
        first = int(np.argmax(is_wrong)) if is_wrong.any() else len(kinds)
        self._items += int((kinds[:first] == _OPENS).sum())
        self._next = (self._next + first) % 3
        if first < len(kinds):
            self._refuse_item(piece, int(places[first]))

    def _refuse_item(self, piece: bytes, place: int) -> NoReturn:
        if self._next == _SEPARATES:
            self._refuse(piece, place, f"a comma is expected between two objects. {NOT_WHOLE}")
        number = self._items + int(self._next == _OPENS)
        raise InputError(f"'{self._path}', item {number:,}: an object such as {{...}} is expected.")

    def _refuse(self, piece: bytes, place: int, message: str) -> NoReturn:
        line = self._lines + piece.count(b"\n", 0, place)
        begin = self._line_begin
        if (last := piece.rfind(b"\n", 0, place)) >= 0:
            begin = self._offset + last + 1
        column = self._offset + place - begin + 1
        raise InputError(f"'{self._path}', line {line:,}, column {column:,}: {message}")
