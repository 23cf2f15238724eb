"""The builder of queries in Python: methods that create the same nodes as parsed text.

    R, T, P = event("Request"), event("Travel"), event("Pickup")
    q1 = (query("q1").match(seq(R, T.plus(), no(P)))
          .where(same("driver", "rider"), T.speed < 10)
          .group_by("district").within("30 minutes", slide="5 minutes")
          .select(count().alias("trips"), T.duration.sum(), T.speed.avg()))

`select` comes last: it checks and returns the `Query`.
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
from elsinore.language.windows import counted_events, suppression_of, window_of
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
    """Attributes that are equal in all events of a trend or match: `[driver, rider]`."""

    attributes: tuple[str, ...]


def event(type: str, variable: str | None = None) -> EventTerm:  # noqa: A002 - the word for it
    """Return an event of a type; its variable is the type's name by default.

    >>> event("Travel", "T").node
    Event(type='Travel', variable='T')
    """
    check_name(type, "event", "the name of a type")
    if variable is not None:
        check_name(variable, "event", "the name of a variable")
    return EventTerm(Event(type, type if variable is None else variable))


def seq(*parts: PatternTerm | Pattern) -> PatternTerm:
    """Return the sequence of patterns: `SEQ(...)`.

    Raises QuerySemanticError without patterns.
    """
    if not parts:
        raise QuerySemanticError('seq needs at least one pattern, such as seq(event("A")).')
    return PatternTerm(Sequence(tuple(as_pattern(part) for part in parts)))


def permute(*parts: PatternTerm | Pattern) -> PatternTerm:
    """Return the sequences of 2 to 8 patterns in any order: `PERMUTE(...)`.

    >>> from elsinore.language import render
    >>> render(permute(event("A"), event("B").plus()).node)
    'PERMUTE(A, B+)'
    """
    return PatternTerm(Permutation(tuple(as_pattern(part) for part in parts)))


def no(pattern: PatternTerm | Pattern) -> PatternTerm:
    """Return the negation of a pattern within `seq`: `NOT p`."""
    return PatternTerm(Negation(as_pattern(pattern)))


def same(*attributes: str) -> Same:
    """Return the condition that all events have equal values of each attribute."""
    for attribute in attributes:
        check_name(attribute, "same", "names of attributes")
    return Same(attributes)


def column(name: str) -> Term:
    """Return an attribute of `group_by` as a column for `select`, which also accepts its name."""
    check_name(name, "column", "the name of an attribute")
    return Term(Column(name))


def parameter(name: str) -> Term:
    """Return a parameter, whose value is set when the queries are run; `:name` in text.

    >>> T = event("Travel", "T")
    >>> (T.speed > parameter("limit")).node.right
    Literal(value=None)
    """
    check_name(name, "parameter", "the name of a parameter")
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

    Over `b.all.x` or `b.earlier.x` it may be a user-defined aggregate. A Python function in place
    of a name is called for each event (docs/language.md).

    >>> from elsinore.language import render
    >>> render(function("substring", event("View", "V").page, 1, 3).node)
    'SUBSTRING(V.page, 1, 3)'
    """
    function_name = (
        name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__)
    )
    python = None if isinstance(name, str) else name
    present = tuple(as_expression(argument) for argument in arguments)
    return Term(Call(function_name.upper(), present, function=python))


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
    check_name(attribute, "event_ids", "the name of an attribute")
    return Term(Call("EVENT_IDS", (Column(attribute),)))


def confidence() -> Term:
    """Return the probability of a match with uncertain times: `CONFIDENCE()`."""
    return Term(Call("CONFIDENCE", ()))


def query(name: str) -> QueryBuilder:
    """Return an empty query; `match`, optional clauses and `select` make it a `Query`.

    >>> A, B = event("A"), event("B")
    >>> found = query("q").match(seq(A, B.plus())).within("10 minutes").select(count())
    >>> found.name, found.window.within
    ('q', 600000000)
    """
    check_name(name, "query", "a name")
    return QueryBuilder(name)


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """An immutable builder: each method returns a new one, `select` returns the `Query`."""

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
        """Return a query written in Python, with `elsinore.quantitative`.

        `target` is the query or a function without arguments that returns it. `source` is its name
        in text, `module:attribute`; for a function the default is correct.

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
        """Add conditions, all of which must be true; `same(...)` is a condition too."""
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
            check_name(attribute, "group_by", "names of attributes")
        return replace(self, grouping=self.grouping + attributes)

    def within(
        self,
        length: Duration,
        slide: Duration | None = None,
        origin: str | datetime | float | None = None,
    ) -> QueryBuilder:
        """Set the windows: text such as "30 minutes" or "100 events", a timedelta or a number.

        A number is in the unit of numeric times (`time_unit`, by default seconds); with timestamps
        a unit is required. If `origin` names a time zone (in text, or as a datetime with a
        `ZoneInfo`), lengths are calendar days there.

        Raises QuerySyntaxError for text that is not a duration, QuerySemanticError for a duration
        that is not positive.
        """
        window = window_of(
            _length(length),
            None if slide is None else _length(slide),
            None if origin is None else _origin(origin),
        )
        return replace(self, window=window)

    def strategy(self, strategy: Strategy | str) -> QueryBuilder:
        """Set the selection strategy; raise QuerySemanticError for an unknown one.

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
        """Return only the longest match for each first event (NEXT, CONTIGUOUS).

        First events are all events ("skip to next event"), or those after the last event of the
        previously returned match ("skip past last event"). Raises QuerySemanticError for other
        values.

        >>> query("q").after_match("skip past last event").skip.name
        'LAST_EVENT'
        """
        option = skip if isinstance(skip, AfterMatch) else after_match_of(skip)
        if option is None:
            names = tuple(AFTER_MATCH)
            raise QuerySemanticError(
                f"after_match takes {' or '.join(known.value for known in AfterMatch)}, not "
                f"'{skip}'.{did_you_mean(str(skip), names)}",
                query=self.name,
                choices=names,
            )
        return replace(self, skip=option)

    def suppress(self, length: Duration) -> QueryBuilder:
        """Suppress matches that end within this duration after a returned match of the same key.

        Durations are those of `within`.

        >>> query("q").suppress("1 hour").suppressed.within
        3600000000
        """
        value, bare = _microseconds(length)
        return replace(self, suppressed=suppression_of(Length(value, bare=bare)))

    def confidence(self, at_least: float) -> QueryBuilder:
        """Keep only matches with at least this probability."""
        return replace(self, options=self.options | {"confidence": float(at_least)})

    def collapsed(self) -> QueryBuilder:
        """Return matches in collapsed form."""
        return replace(self, options=self.options | {"collapsed": True})

    def distinct(self) -> QueryBuilder:
        """Remove duplicate rows: `RETURN DISTINCT`."""
        return replace(self, options=self.options | {"distinct": True})

    def limit(self, matches: int) -> QueryBuilder:
        """Limit the number of returned matches."""
        return replace(self, options=self.options | {"limit": matches})

    def select(self, *items: Term | ReturnItem | str) -> Query:
        """Return the query with these result columns; a string names an attribute of `group_by`.

        Raises QuerySemanticError, or InvalidWorkloadError if it breaks several rules.
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


def check_name(name: object, function: str, what: str) -> None:
    """Raise TypeError if a name is not text, QuerySemanticError if it is empty."""
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
    """Return a duration in microseconds, and whether it is a number without a unit."""
    if isinstance(length, str):
        return parse_duration(length)
    if isinstance(length, timedelta):
        return Fraction(length // timedelta(microseconds=1)), False
    if isinstance(length, bool) or not isinstance(length, int | float) or not isfinite(length):
        raise TypeError(
            'A length of time is text such as "30 minutes", a timedelta or a number of seconds; '
            f"not {kind_of_value(length)}."
        )
    return Fraction(repr(length)) * SECOND, True  # exact decimal: 0.1 is a tenth


def _length(length: Duration) -> Length:
    """Return the value of WITHIN or SLIDE: a duration, or a number of events."""
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
