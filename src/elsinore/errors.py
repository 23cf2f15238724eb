"""The tree of errors. Each error carries its data and renders itself.

ElsinoreError
├── QueryError              a query that cannot be run; knows its place in the text
│   ├── QuerySyntaxError
│   ├── QuerySemanticError
│   └── UnsupportedError    legal, but no engine here runs it
├── InvalidWorkloadError    several of them, all reported at once
├── InputError              events that cannot be read or used
├── OutputError             a place that may not or cannot be written
├── StateError              a saved state that does not fit
└── SetupError              the machine lacks something (Java, a package)
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

SHOWN_LINE = 120  # characters of a line of query text that are shown around a place in it
SHOWN_WORD = 200  # characters without a space that a message shows
SHOWN_ERRORS = 20  # errors of one text that are shown in full
SHOWN_CHOICES = 30  # names that a message lists
_CUT = "..."
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]*")
_USER = re.compile(r"^((?!(?:abfss?|wasbs?)://[^:/?]*@)[^:]*://)[^/?#]*@")
_SECRET = re.compile(
    r"([?&;][^=&;]*(?:pass|pwd|secret|token|sig|key|credential|user|auth)[^=&;]*)=[^&;]*",
    re.IGNORECASE,
)
_on_the_command_line = ContextVar("on_the_command_line", default=False)


class Span(NamedTuple):
    """A stretch of query text: offsets into the text, `stop` exclusive.

    >>> Span(0, 5).until(Span(8, 9))
    Span(start=0, stop=9)
    """

    start: int
    stop: int

    def until(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.start, max(self.stop, other.stop))


@dataclass(frozen=True, slots=True)
class Source:
    """A query text and the name it is known by, for pointing at places in it."""

    text: str
    name: str = field(default="<query>")

    def position(self, offset: int) -> tuple[int, int]:
        r"""Return the line and column of `offset`, both counted from 1.

        >>> Source("QUERY q\nRETURN x").position(8)
        (2, 1)
        """
        offset = min(offset, len(self.text))
        line = self.text.count("\n", 0, offset) + 1
        column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
        return line, column

    def underline(self, span: Span) -> str:
        r"""Return the line `span` starts on with its part of the line underlined.

        A long line is cut before and after the place, and characters that would not be seen are
        written as Python writes them.

        >>> print(Source("WHERE T.sped < 10").underline(Span(6, 12)))
        WHERE T.sped < 10
              ^^^^^^
        >>> print(Source("WHERE T.x <\x07 10").underline(Span(11, 12)))
        WHERE T.x <\x07 10
                   ^^^^
        """
        start = min(span.start, len(self.text))
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        stop = max(start, min(span.stop, end))
        before = printable(self.text[begin:start].replace("\t", " "))
        marked = printable(self.text[start:stop].replace("\t", " "))
        after = printable(self.text[stop:end].replace("\t", " ").rstrip("\r"))
        if len(before) + len(marked) + len(after) > SHOWN_LINE:
            marked = _cut_end(marked, SHOWN_LINE // 2)
            room = (SHOWN_LINE - len(marked)) // 2
            if len(before) > room:
                before = _CUT + before[len(_CUT) - room :]
            after = _cut_end(after, SHOWN_LINE - len(before) - len(marked))
        return f"{before}{marked}{after}\n{' ' * len(before)}{'^' * max(1, len(marked))}"


UNNAMED = "query"  # the name of a text's only query without a name


class ElsinoreError(Exception):
    r"""The root of every error that Elsinore raises on purpose.

    Its message has no control characters and no credentials of URLs, whatever it quotes.

    >>> print(InputError("Cannot read 's3://key:secret@bucket/\x1b[2J.csv'."))
    Cannot read 's3://...@bucket/\x1b[2J.csv'.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(escaped(without_credentials(message)))


class QueryError(ElsinoreError):
    """A query that cannot be run.

    Carries `message`, the `span` of the offending text and the `source` it stands in (either may be
    unknown for queries built in Python), the `query` it belongs to, and the valid `choices`.
    """

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        source: Source | None = None,
        query: str | None = None,
        choices: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.source = source
        self.query = query
        self.choices = tuple(choices)

    @property
    def line(self) -> int | None:
        """The line of the offending text, counted from 1."""
        return self._position[0] if self._position else None

    @property
    def column(self) -> int | None:
        """The column of the offending text, counted from 1."""
        return self._position[1] if self._position else None

    @property
    def _position(self) -> tuple[int, int] | None:
        if self.span is None or self.source is None:
            return None
        return self.source.position(self.span.start)

    def located(self, source: Source, query: str | None = None) -> QueryError:
        """Set the place of the error if it is unknown; return the error."""
        self.source = self.source or source
        self.query = self.query or query
        return self

    def __str__(self) -> str:
        name = type(self).__name__
        if self.span is not None and self.source is not None:
            line, column = self.source.position(self.span.start)
            shown = "\n".join(f"  {text}" for text in self.source.underline(self.span).split("\n"))
            where = printable(f"{self.source.name}:{line}:{column}")
            return f"{where}: {name}\n{shown}\n{printable(self.message)}"
        place = f"{called(self.query)}: " if self.query else ""
        return printable(f"{place}{name}: {self.message}")


class QuerySyntaxError(QueryError):
    """Text that is not in the language."""


class QuerySemanticError(QueryError):
    """A query in the language that means nothing, or nothing that can be computed."""


class UnsupportedError(QueryError):
    """A legal query whose engine does not exist yet; the message names the clause."""


class InvalidWorkloadError(ElsinoreError):
    """Several errors of one text; `errors` has them in text order.

    As text they are the first 20 of them, and how many more there are.
    """

    def __init__(self, errors: Iterable[QueryError]) -> None:
        self.errors = tuple(errors)
        super().__init__(f"{len(self.errors)} errors")

    def __str__(self) -> str:
        paragraphs = [str(error) for error in self.errors[:SHOWN_ERRORS]]
        left_out = len(self.errors) - len(paragraphs)
        if left_out:
            paragraphs.append(f"... and {left_out:,} more errors: {len(self.errors):,} in all.")
        return "\n\n".join(paragraphs)


class InputError(ElsinoreError):
    """Events that cannot be found, read or used."""


class OutputError(ElsinoreError):
    """A place that results may not or cannot be written to."""


class StateError(ElsinoreError):
    """A saved state that is damaged, of another version or of another plan."""


class SetupError(ElsinoreError):
    """Something that Elsinore needs is missing on the machine, or unusable."""


def called(query: str) -> str:
    """Return the name of a query in messages.

    >>> called("q1"), called(UNNAMED)
    ('query q1', 'the query')
    """
    return "the query" if query == UNNAMED else f"query {query}"


def raise_errors(errors: Sequence[QueryError]) -> None:
    """Raise a single error as it is, several as one; do nothing without errors."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise InvalidWorkloadError(errors)


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """Let messages speak of the command's options, not of arguments in Python."""
    before = _on_the_command_line.set(True)
    try:
        yield
    finally:
        _on_the_command_line.reset(before)


def option(name: str, value: str = "") -> str:
    """Return an option as it is written in Python or on the command line, `--time-unit ms`.

    >>> option("time_unit", "ms")
    'time_unit="ms"'
    >>> with on_the_command_line():
    ...     option("time_unit", "ms"), option("time")
    ('--time-unit ms', '--time')
    """
    if _on_the_command_line.get():
        return f"--{name.replace('_', '-')} {value}".rstrip()
    return f'{name}="{value}"' if value else f"{name}="


def reading_option(name: str, value: str = "") -> str:
    """Return an option of `read_events`, as it is written in Python or on the command line.

    >>> reading_option("delimiter", ";")
    'read_events(..., delimiter=";")'
    """
    written = option(name, value)
    return written if _on_the_command_line.get() else f"read_events(..., {written})"


def is_on_the_command_line() -> bool:
    """Return whether messages speak of the command's options."""
    return _on_the_command_line.get()


def kind_of_value(value: object) -> str:
    """Return a value of Python and its type as a message names them.

    >>> kind_of_value(3), kind_of_value(None)
    ('3 (int)', 'None')
    """
    if value is None:
        return "None"
    shown = _cut_end(printable(repr(value)), SHOWN_WORD // 4)
    return f"{shown} ({type(value).__name__})"


def printable(text: str) -> str:
    r"""Return a text as a message shows it: nothing unseen in it, no word without end.

    Characters that a terminal would not show, or obey, are written as Python writes them; spaces
    and ends of lines stay.

    >>> print(printable("a\x1b[31mb\u202ec"))
    a\x1b[31mb\u202ec
    >>> len(printable("x" * 10_000))
    200
    """
    return re.sub(
        rf"\S{{{SHOWN_WORD + 1},}}", lambda word: _cut_end(word[0], SHOWN_WORD), escaped(text)
    )


def escaped(text: str) -> str:
    r"""Return a text with the characters that a terminal hides or obeys as Python writes them.

    Spaces, tabs and ends of lines stay.

    >>> print(escaped("a\x1b[31mb\u202ec"))
    a\x1b[31mb\u202ec
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(character)[1:-1] if _is_unseen(character) else character for character in text
    )


def without_credentials(text: str) -> str:
    """Return a text with users, passwords and keys in its URLs replaced by dots.

    The container before the @ of a URL of Azure is no secret.

    >>> without_credentials("'https://me:pw@host/e.csv?sig=abc&day=1' and abfss://box@host/e")
    "'https://...@host/e.csv?sig=...&day=1' and abfss://box@host/e"
    """

    def shown(url: re.Match[str]) -> str:
        user = _USER.sub(r"\1...@", url[0])
        return _SECRET.sub(r"\1=...", user)

    return _URL.sub(shown, text) if "://" in text else text


def _is_unseen(character: str) -> bool:
    return character not in "\n\t" and (
        unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


def _cut_end(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - len(_CUT))] + _CUT


def shown_name(name: str) -> str:
    """Return a name for messages: in quotes if blanks at its ends would be invisible.

    >>> shown_name("Travel"), shown_name(" Travel"), shown_name("")
    ('Travel', "' Travel'", "''")
    """
    return name if name and name == name.strip() else repr(name)


def choices_text(choices: Sequence[str]) -> str:
    """Return a list of names for messages: the first ones, and the number of others.

    >>> choices_text(["a", "b"]), choices_text([])
    ('a, b', 'none')
    >>> choices_text([f"c{n}" for n in range(1000)])[-20:]
    ', c29 and 970 others'
    """
    if len(choices) <= SHOWN_CHOICES + 1:
        return ", ".join(map(shown_name, choices)) or "none"
    shown = ", ".join(map(shown_name, choices[:SHOWN_CHOICES]))
    return f"{shown} and {len(choices) - SHOWN_CHOICES:,} others"


def no_column(name: str, what: str, names: Sequence[str]) -> str:
    """Return the error for a missing column, from which `what` is read, with the existing ones.

    >>> no_column("tme", "time", ["time", "type"]).splitlines()[0][:80]
    "The events have no column 'tme', read for the time. Did you mean 'time'? Columns"
    """
    how = f" Name the column that has the {what} with {option(what)}." if name == what else ""
    if what == "type" and nearest_choice(name, names) is None:
        text = f"'{'Trade' if name == what else name}'"
        shown = option(what, f'"{text}"' if is_on_the_command_line() else text)
        how += f" Where all events are of one type, give it as a text: {shown}."
    if any(_NUMBER.fullmatch(column) for column in names):
        how += " If the file has no header: its first line is to name the columns."
    return (
        f"The events have no column '{name}', read for the {what}.{did_you_mean(name, names)} "
        f"Columns: {choices_text(names)}.{how}"
    )


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the choice nearest to `name`; "" if none is near.

    >>> did_you_mean("sped", ["speed", "district"])
    " Did you mean 'speed'?"
    """
    choice = nearest_choice(name, choices)
    return "" if choice is None else f" Did you mean '{choice}'?"


def nearest_choice(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice nearest to `name`, ignoring case and blanks at the ends, or None.

    >>> nearest_choice("A", [" a"]), nearest_choice("A", ["B"])
    (' a', None)
    """
    by_fold = {choice.casefold().strip(): choice for choice in choices}
    near = difflib.get_close_matches(name.casefold().strip(), by_fold, n=1)
    return by_fold[near[0]] if near else None
