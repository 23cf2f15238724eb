"""The tree of errors. Each error carries its data and renders itself.

ElsinoreError
├── QueryError              a query that cannot be run; knows its place in the text
│   ├── QuerySyntaxError
│   ├── QuerySemanticError
│   └── UnsupportedError    legal, but no engine here runs it
├── InvalidWorkloadError             several of them, all reported at once
├── InputError              events that cannot be read or used
├── StateError              a saved state that does not fit
└── SetupError              the machine lacks something (Java, a package)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
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

        >>> print(Source("WHERE T.sped < 10").underline(Span(6, 12)))
        WHERE T.sped < 10
              ^^^^^^
        """
        start = min(span.start, len(self.text))
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        line = self.text[begin:end].replace("\t", " ").rstrip("\r")
        width = max(1, min(span.stop, end) - start)
        return f"{line}\n{' ' * (start - begin)}{'^' * width}"


class ElsinoreError(Exception):
    """The root of every error that Elsinore raises on purpose."""


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
        """Fill in where the error stands, where that is not known yet; return the error."""
        self.source = self.source or source
        self.query = self.query or query
        return self

    def __str__(self) -> str:
        name = type(self).__name__
        if self.span is not None and self.source is not None:
            line, column = self.source.position(self.span.start)
            shown = "\n".join(f"  {text}" for text in self.source.underline(self.span).split("\n"))
            return f"{self.source.name}:{line}:{column}: {name}\n{shown}\n{self.message}"
        place = f"query {self.query}: " if self.query else ""
        return f"{place}{name}: {self.message}"


class QuerySyntaxError(QueryError):
    """Text that is not in the language."""


class QuerySemanticError(QueryError):
    """A query in the language that means nothing, or nothing that can be computed."""


class UnsupportedError(QueryError):
    """A legal query whose engine does not exist yet; the message names the clause."""


class InvalidWorkloadError(ElsinoreError):
    """Several errors of one text, all found in one go; `errors` holds them in text order."""

    def __init__(self, errors: Iterable[QueryError]) -> None:
        self.errors = tuple(errors)
        super().__init__(f"{len(self.errors)} errors")

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)


class InputError(ElsinoreError):
    """Events that cannot be found, read or used."""


class StateError(ElsinoreError):
    """A saved state that is damaged, of another version or of another plan."""


class SetupError(ElsinoreError):
    """The machine lacks something Elsinore needs, or what it has cannot be used."""


def raise_errors(errors: Sequence[QueryError]) -> None:
    """Raise the one error there is, or all of them together; do nothing where there is none."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise InvalidWorkloadError(errors)


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the choice nearest to `name`, "" where none is near.

    >>> did_you_mean("sped", ["speed", "district"])
    " Did you mean 'speed'?"
    """
    by_fold = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1)
    return f" Did you mean '{by_fold[near[0]]}'?" if near else ""
