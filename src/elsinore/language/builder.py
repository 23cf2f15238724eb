"""Queries in Python: the same nodes as from text, without the text.

    R, T, P = event("Request"), event("Travel"), event("Pickup")
    q1 = (query("q1").match(seq(R, T.plus(), no(P)))
          .where(same("driver", "rider"), T.speed < 10)
          .group_by("district").within("30 minutes", slide="5 minutes")
          .select(count().alias("trips"), T.duration.sum(), T.speed.avg()))

`select` comes last: it returns the `Query`, which is checked as it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import isfinite

from elsinore.errors import QuerySemanticError, did_you_mean, kind_of_value
from elsinore.language.durations import moment_and_zone, parse_duration, parse_origin
from elsinore.language.keywords import AFTER_MATCH, STRATEGIES, after_match_of, strategy_of
from elsinore.language.parts import Length
from elsinore.language.patterns import EventTerm, PatternTerm, as_pattern
from elsinore.language.terms import EventReference, Term, as_expression
from elsinore.language.windows import counted_events, window_of
from elsinore.model import (
    AfterMatch,
    Call,
    Column,
    Event,
    Expression,
    Literal,
    Negation,
    Pattern,
    Permutation,
    PythonQuery,
    Query,
    ReturnItem,
    Sequence,
    Strategy,
    Window,
)
from elsinore.model.window import SECOND

Duration = str | timedelta | int | float  # a number counts seconds


@dataclass(frozen=True, slots=True)
class Same:
    """Attributes with one value throughout a trend or match: `[driver, rider]`."""

    attributes: tuple[str, ...]


def event(type: str, variable: str | None = None) -> EventTerm:  # noqa: A002 - the word for it
    """Return an event of a type; its variable has the type's name unless another is given.

    >>> event("Travel", "T").node
    Event(type='Travel', variable='T')
    """
    name_given(type, "event", "the name of a type")
    if variable is not None:
        name_given(variable, "event", "the name of a variable")
    return EventTerm(Event(type, type if variable is None else variable))


def seq(*parts: PatternTerm | Pattern) -> PatternTerm:
    """Return the patterns one after another: `SEQ(...)`.

    Raises QuerySemanticError where there are none.
    """
    if not parts:
        raise QuerySemanticError('seq needs at least one pattern, such as seq(event("A")).')
    return PatternTerm(Sequence(tuple(as_pattern(part) for part in parts)))


def permute(*parts: PatternTerm | Pattern) -> PatternTerm:
    """Return the patterns one after another in any order: `PERMUTE(...)`, of 2 to 8.

    >>> from elsinore.language import render
    >>> render(permute(event("A"), event("B").plus()).node)
    'PERMUTE(A, B+)'
    """
    return PatternTerm(Permutation(tuple(as_pattern(part) for part in parts)))


def no(pattern: PatternTerm | Pattern) -> PatternTerm:
    """Return the pattern that nothing matches `pattern` at this place of a `seq`: `NOT p`."""
    return PatternTerm(Negation(as_pattern(pattern)))


def same(*attributes: str) -> Same:
    """Return the condition that all events have one value of each attribute."""
    for attribute in attributes:
        name_given(attribute, "same", "names of attributes")
    return Same(attributes)


def column(name: str) -> Term:
    """Return an attribute that the query groups by, for `select`; a string does as well."""
    name_given(name, "column", "the name of an attribute")
    return Term(Column(name))


def parameter(name: str) -> Term:
    """Return a constant whose value is given when the queries are run, `:name` in their text.

    >>> T = event("Travel", "T")
    >>> (T.speed > parameter("limit")).node.right
    Literal(value=None)
    """
    name_given(name, "parameter", "the name of a parameter")
    return Term(Literal(None, parameter=name))


def count(of: EventTerm | EventReference | Term | None = None) -> Term:
    """Return the number of trends, `COUNT(*)`, or of a variable's events, `COUNT(T)`.

    >>> T = event("Travel", "T")
    >>> count().node, count(T).node == T.count().node
    (Call(name='COUNT', arguments=()), True)
    """
    if of is None:
        return Term(Call("COUNT", ()))
    if not isinstance(of, EventTerm | EventReference | Term):
        raise TypeError(f"count takes an event, such as T, or nothing; not {kind_of_value(of)}.")
    return of.count()


def log2_count() -> Term:
    """Return the binary logarithm of the number of trends: `LOG2(COUNT(*))`."""
    return count().log2()


def function(
    name: str | Callable[..., object], *arguments: Term | bool | float | str | None
) -> Term:
    """Return the call of a function of Spark's SQL over attributes of one event.

    Over `b.all.x` or `b.earlier.x` it may be an aggregate that the user defines. A function of
    Python, in place of a name, is called for each event (docs/language.md).

    >>> from elsinore.language import render
    >>> render(function("substring", event("View", "V").page, 1, 3).node)
    'SUBSTRING(V.page, 1, 3)'
    """
    called = name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__)
    python = None if isinstance(name, str) else name
    given = tuple(as_expression(argument) for argument in arguments)
    return Term(Call(called.upper(), given, function=python))


def case(*branches: tuple[Term, object], otherwise: object = None) -> Term:
    """Return the value of the first branch whose condition is true: `CASE WHEN ... END`.

    >>> from elsinore.language import render
    >>> trade = event("Trade", "T")
    >>> render(case((trade.price > 100, "high"), otherwise="low").node)
    "CASE WHEN T.price > 100 THEN 'high' ELSE 'low' END"
    """
    parts = [as_expression(part) for branch in branches for part in branch]
    return Term(Call("CASE", (*parts, as_expression(otherwise))))


def match_number() -> Term:
    """Return a match's number among those of its key, from 1: `MATCH_NUMBER()`."""
    return Term(Call("MATCH_NUMBER", ()))


def event_ids(attribute: str = "id") -> Term:
    """Return an attribute of all events of a match, in their order: `EVENT_IDS(id)`."""
    name_given(attribute, "event_ids", "the name of an attribute")
    return Term(Call("EVENT_IDS", (Column(attribute),)))


def confidence() -> Term:
    """Return how probable a match is, where times are uncertain: `CONFIDENCE()`."""
    return Term(Call("CONFIDENCE", ()))


def query(name: str) -> QueryBuilder:
    """Return an empty query; `match`, optional clauses and `select` make it a `Query`.

    >>> A, B = event("A"), event("B")
    >>> found = query("q").match(seq(A, B.plus())).within("10 minutes").select(count())
    >>> found.name, found.window.within
    ('q', 600000000)
    """
    name_given(name, "query", "a name")
    return QueryBuilder(name)


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """A query in the making. Each method returns a new one; `select` returns the `Query`."""

    name: str
    pattern: Pattern | None = None
    equivalence: tuple[str, ...] = ()
    conditions: tuple[Expression, ...] = ()
    grouping: tuple[str, ...] = ()
    window: Window | None = None
    selection: Strategy = Strategy.ANY
    skip: AfterMatch | None = None
    suppressed: Window | None = None
    options: dict[str, float | int | bool] = field(default_factory=dict)

    def from_python(self, target: object, source: str | None = None) -> PythonQuery:
        """Return the query that is written in Python: one of `elsinore.quantitative`.

        `target` may be a function without arguments that returns it. `source` is how a text calls
        it, `module:attribute`; of a function it is known.

        >>> import json
        >>> query("q").from_python(json.dumps).source
        'json:dumps'
        """
        if source is None:
            module = getattr(target, "__module__", None) or "__main__"
            source = f"{module}:{getattr(target, '__qualname__', self.name)}"
        return PythonQuery(name=self.name, source=source, target=target)

    def match(self, pattern: PatternTerm | Pattern) -> QueryBuilder:
        """Set the pattern."""
        return replace(self, pattern=as_pattern(pattern))

    def where(self, *conditions: Same | Term) -> QueryBuilder:
        """Add conditions that all must hold; `same(...)` is one of its own."""
        equal = tuple(
            name for part in conditions if isinstance(part, Same) for name in part.attributes
        )
        further = tuple(_condition(part) for part in conditions if not isinstance(part, Same))
        return replace(
            self, equivalence=self.equivalence + equal, conditions=self.conditions + further
        )

    def group_by(self, *attributes: str) -> QueryBuilder:
        """Add attributes to group by."""
        for attribute in attributes:
            name_given(attribute, "group_by", "names of attributes")
        return replace(self, grouping=self.grouping + attributes)

    def within(
        self,
        length: Duration,
        slide: Duration | None = None,
        origin: str | datetime | float | None = None,
    ) -> QueryBuilder:
        """Set the windows: text such as "30 minutes" or "100 events", a timedelta or a number.

        A number counts in the unit of the events' times, where these are numbers (seconds unless
        `time_unit` says otherwise); with timestamps a unit must be said. If `origin` names a time
        zone (in text, or as a datetime with a `ZoneInfo`), lengths are calendar days of it.

        Raises QuerySyntaxError for a text that is no length of time, QuerySemanticError for one
        that is not positive.
        """
        window = window_of(
            _length(length),
            None if slide is None else _length(slide),
            None if origin is None else _origin(origin),
        )
        return replace(self, window=window)

    def strategy(self, strategy: Strategy | str) -> QueryBuilder:
        """Set how many events may be skipped; QuerySemanticError where there is no such strategy.

        >>> query("q").strategy("skip till next match").selection.name
        'NEXT'
        """
        if isinstance(strategy, Strategy):
            return replace(self, selection=strategy)
        selection = strategy_of(strategy)
        if selection is None:
            names = tuple(STRATEGIES)
            raise QuerySemanticError(
                f"There is no strategy '{strategy}'.{did_you_mean(strategy, names)} "
                f"Strategies: {', '.join(known.value for known in Strategy)}.",
                query=self.name,
                choices=names,
            )
        return replace(self, selection=selection)

    def after_match(self, skip: AfterMatch | str) -> QueryBuilder:
        """Return one match of those that begin with an event, the longest (NEXT, CONTIGUOUS).

        skip: "skip to next event" for each first event, "skip past last event" for those after the
        match returned before. Raises QuerySemanticError for anything else.

        >>> query("q").after_match("skip past last event").skip.name
        'LAST_EVENT'
        """
        skipped = skip if isinstance(skip, AfterMatch) else after_match_of(skip)
        if skipped is None:
            names = tuple(AFTER_MATCH)
            raise QuerySemanticError(
                f"after_match takes {' or '.join(known.value for known in AfterMatch)}, not "
                f"'{skip}'.{did_you_mean(str(skip), names)}",
                query=self.name,
                choices=names,
            )
        return replace(self, skip=skipped)

    def suppress(self, length: Duration) -> QueryBuilder:
        """Return no match that ends within this time after a returned match of the same key.

        Lengths are those of `within`.

        >>> query("q").suppress("1 hour").suppressed.within
        3600000000
        """
        value, bare = _microseconds(length)
        marked = frozenset({"SUPPRESS"} if bare else ())
        return replace(
            self, suppressed=Window.from_microseconds(value, bare=marked, clause="SUPPRESS")
        )

    def confidence(self, at_least: float) -> QueryBuilder:
        """Keep the matches that are at least this probable."""
        return replace(self, options=self.options | {"confidence": float(at_least)})

    def collapsed(self) -> QueryBuilder:
        """Return matches in collapsed form."""
        return replace(self, options=self.options | {"collapsed": True})

    def distinct(self) -> QueryBuilder:
        """Return equal rows once: `RETURN DISTINCT`."""
        return replace(self, options=self.options | {"distinct": True})

    def limit(self, matches: int) -> QueryBuilder:
        """Return no more than this many matches."""
        return replace(self, options=self.options | {"limit": matches})

    def select(self, *items: Term | ReturnItem | str) -> Query:
        """Return the query that returns these columns; a string is an attribute grouped by.

        Raises QuerySemanticError, or InvalidWorkloadError where it breaks several rules.
        """
        if self.pattern is None:
            raise QuerySemanticError(
                "The query has no pattern: call match(...) before select(...).", query=self.name
            )
        return Query(
            name=self.name,
            returns=tuple(_item(item) for item in items),
            pattern=self.pattern,
            equivalence=self.equivalence,
            where=self.conditions,
            strategy=self.selection,
            group_by=self.grouping,
            window=self.window,
            after_match=self.skip,
            suppress=self.suppressed,
            confidence=self.options.get("confidence"),
            collapsed=bool(self.options.get("collapsed", False)),
            limit=_int_or_none(self.options.get("limit")),
            distinct=bool(self.options.get("distinct", False)),
        )


def name_given(name: object, function: str, what: str) -> None:
    """Raise TypeError for what is no text, QuerySemanticError for an empty one."""
    if not isinstance(name, str):
        raise TypeError(f"{function} takes {what}, not {kind_of_value(name)}.")
    if not name:
        raise QuerySemanticError(f"{function} takes {what}, and this one is empty.")


def _int_or_none(value: float | None) -> int | None:
    return None if value is None else int(value)


def _condition(item: object) -> Expression:
    if isinstance(item, str):
        raise TypeError(
            "where takes conditions, such as T.speed < 10 or same('driver'); for text such as "
            f"{kind_of_value(item)} there is Workload.parse."
        )
    return as_expression(item)


def _item(item: Term | ReturnItem | str) -> ReturnItem:
    if isinstance(item, ReturnItem):
        return item
    return ReturnItem(Column(item) if isinstance(item, str) else as_expression(item))


def _microseconds(length: Duration) -> tuple[Fraction, bool]:
    """Return a length of time, and whether it is a number without a unit."""
    if isinstance(length, str):
        return parse_duration(length)
    if isinstance(length, timedelta):
        return Fraction(length // timedelta(microseconds=1)), False
    if isinstance(length, bool) or not isinstance(length, int | float) or not isfinite(length):
        raise TypeError(
            'A length of time is text such as "30 minutes", a timedelta or a number of seconds; '
            f"not {kind_of_value(length)}."
        )
    return Fraction(repr(length)) * SECOND, True  # as it is written: 0.1 is a tenth


def _length(length: Duration) -> Length:
    """Return what stands after WITHIN or SLIDE."""
    if isinstance(length, str) and (number := counted_events(length)) is not None:
        return Length(Fraction(number), events=True)
    value, bare = _microseconds(length)
    return Length(value, bare=bare)


def _origin(origin: str | datetime | float) -> Length:
    if isinstance(origin, str):
        microseconds, zone = parse_origin(origin)
        return Length(Fraction(microseconds), zone=zone)
    if isinstance(origin, datetime):
        microseconds, zone = moment_and_zone(
            origin if origin.tzinfo else origin.replace(tzinfo=UTC)
        )
        return Length(Fraction(microseconds), zone=zone)
    value, bare = _microseconds(origin)
    return Length(value, bare=bare)
