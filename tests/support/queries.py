"""Hypothesis strategies for any valid query, pattern and expression, including unusual names.

`queries()` draws queries of either kind, `trend_queries()` and `match_queries()` of one,
`workloads()` several with names of their own, `patterns()` and `expressions()` parts of them.
"""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

from elsinore.model import (
    AfterMatch,
    Attribute,
    AttributeKind,
    Binary,
    Call,
    Column,
    Conjunction,
    Disjunction,
    Duration,
    Event,
    Expression,
    InList,
    IsNull,
    Kleene,
    Like,
    Literal,
    Negation,
    Negative,
    Not,
    Operator,
    Pattern,
    Query,
    Reference,
    ReturnItem,
    Sequence,
    Strategy,
    Window,
    Workload,
)
from elsinore.model import pattern as pt
from elsinore.model.computed import with_computed
from elsinore.model.expression import SPREADS
from elsinore.model.types import mistakes
from elsinore.model.window import MOST_WINDOWS

DAY = 86_400_000_000
NASTY = (
    "SEQ", "not", "Query", "limit", "group", "by", "group_by", "GROUP-BY", "exact", "NULL", "true",
    "i", "LEN", "len", "minutes", "s", "1", "1e5", "a b", 'a"b', "a`b", "it's", ";", "--", "/*",
    "x.y", "[]", "\n", "\\", "é", "速度", "²", " ", "COUNT", "abs", "e",
)  # fmt: skip
REPETITIONS = ((1, None), (0, None), (0, 1), (2, 2), (2, 5), (3, None), (0, 4), (1, 1))
VALUE_OPERATORS = tuple(Operator)
ARITHMETIC_OPERATORS = [operator for operator in Operator if operator.is_arithmetic]
COMPARISON_OPERATORS = [operator for operator in Operator if operator.is_comparison]
LIKE_PATTERNS = ("", "%", "_", "a%", "it's", "50\\%", "\\\\", "\n_", "速%")
PREFIX = (Reference.ALL, Reference.EARLIER, Reference.LAST)
POSITIONED = (Reference.NTH, Reference.FROM_LAST, Reference.BACK, Reference.RECENT)

names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(NASTY),
    st.text(min_size=1, max_size=6),
)
TRUTH = AttributeKind.BOOLEAN
numbers = st.builds(Literal, st.integers(-3, 3) | st.floats(allow_nan=False))
lengths = st.builds(Duration, st.integers(-(10**15), 10**15) | st.integers(-100, 100))
parameters = st.builds(
    lambda name: Literal(None, parameter=name), st.from_regex(r"[^\W\d]\w{0,5}", fullmatch=True)
)
literals = parameters | st.builds(
    Literal,
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**40), 10**40),
        st.integers(-3, 3),
        st.floats(allow_nan=False),
        st.text(max_size=8),
        st.sampled_from(["it's", "'", "''", ";", "-- x", "\n", '"']),
    ),
)


@st.composite
def patterns(draw: Any, *, conjunction: bool = True) -> Pattern:
    """Draw a pattern that a query may have: not nullable, every variable bound once."""
    bound = iter(draw(st.lists(names, min_size=16, max_size=16, unique=True)))
    types = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    variables: set[str] = set()

    def event() -> Event:
        kind = draw(st.sampled_from(types))
        if kind not in variables and draw(st.booleans()):
            variable = kind
        else:
            variable = next(name for name in bound if name not in types)
        variables.add(variable)
        return Event(kind, variable)

    def grow(depth: int) -> Pattern:
        shape = draw(st.sampled_from("eeeksd" if depth else "e"))
        if shape == "e":
            return event()
        if shape == "k":
            return Kleene(grow(depth - 1), *draw(st.sampled_from(REPETITIONS)))
        parts = [grow(depth - 1) for _ in range(draw(st.integers(1 if shape == "s" else 2, 2)))]
        if shape == "d":
            return Disjunction(tuple(parts))
        if draw(st.booleans()):
            parts.insert(draw(st.integers(0, len(parts))), Negation(obligatory(depth - 1)))
        found = Sequence(tuple(parts))
        negative = [isinstance(part, Negation) for part in pt.members(found)]
        return event() if (True, True) in itertools.pairwise(negative) else found

    def obligatory(depth: int = 2) -> Pattern:
        part = grow(depth)
        return Sequence((event(), part)) if pt.nullable(part) else part

    if conjunction and draw(st.integers(0, 9)) == 0:
        return Conjunction((obligatory(), obligatory()))
    return obligatory()


def _grown(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Combine leaves by any operators, without regard to types."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Binary, st.sampled_from(VALUE_OPERATORS), inner, inner),
            st.builds(Not, inner),
            st.builds(Negative, inner),
            st.builds(IsNull, inner),
            st.builds(InList, inner, st.lists(literals, min_size=1, max_size=3).map(tuple)),
            st.builds(Like, inner, st.sampled_from(LIKE_PATTERNS)),
            st.builds(lambda name, of: Call(name, (of,)), st.sampled_from(["ABS", "LOG2"]), inner),
        ),
        max_leaves=6,
    )


def _is_number(literal: Literal) -> bool:
    return isinstance(literal.value, int | float) and not isinstance(literal.value, bool)


def _has_type(expression: Expression, wanted: AttributeKind | None = None) -> bool:
    return not any(mistakes(expression, lambda _: None, wanted))


def _numbers(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Join attributes and constants to numbers."""
    return st.recursive(
        leaves | literals.filter(_is_number),
        lambda inner: st.one_of(
            st.builds(Binary, st.sampled_from(ARITHMETIC_OPERATORS), inner, inner),
            st.builds(Negative, inner),
            st.builds(lambda name, of: Call(name, (of,)), st.sampled_from(["ABS", "LOG2"]), inner),
        ),
        max_leaves=3,
    )


def _true_or_false(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Combine attributes and constants to conditions of correct types."""
    value = _numbers(leaves) | literals | lengths
    plain = st.one_of(
        leaves.filter(lambda leaf: isinstance(leaf, Attribute)),
        st.sampled_from([Literal(None), Literal(value=True), Literal(value=False)]),
        st.builds(Binary, st.sampled_from(COMPARISON_OPERATORS), value, value),
        st.builds(IsNull, value),
        st.builds(InList, value, st.lists(literals, min_size=1, max_size=3).map(tuple)),
        st.builds(
            Like,
            leaves.filter(lambda leaf: isinstance(leaf, Attribute)) | st.just(Literal("it's")),
            st.sampled_from(LIKE_PATTERNS),
        ),
    )
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            st.builds(Binary, st.sampled_from([Operator.AND, Operator.OR]), inner, inner),
            st.builds(Binary, st.sampled_from(COMPARISON_OPERATORS), inner, inner),
            st.builds(Not, inner),
            st.builds(IsNull, inner),
        ),
        max_leaves=4,
    )


def _at(variable: str, name: str | None, reference: Reference, position: int) -> Attribute:
    is_positioned = reference in POSITIONED
    return Attribute(
        variable,
        name,
        reference,
        position=position if is_positioned else 0,
        nearest=position // 2 if reference is Reference.RECENT else 0,
    )


def _attributes(
    variables: st.SearchStrategy[str], references: tuple[Reference, ...]
) -> st.SearchStrategy[Attribute]:
    return st.builds(_at, variables, names, st.sampled_from(references), st.integers(2, 100))


def _by_sql(attribute: Attribute, form: int, constant: Literal) -> Attribute:
    """Return an attribute computed from another by SQL, in one of many forms."""
    text = Literal("it's \\d")
    forms = (
        Call("UPPER", (attribute,)),
        Call("COALESCE", (attribute, constant, Call("ABS", (attribute,)))),
        Call("CAST", (attribute, Literal("DECIMAL(10, 2)"))),
        Call("TRY_CAST", (Binary(Operator.ADD, attribute, constant), Literal("INT"))),
        Call("ELEMENT", (Call("SPLIT", (attribute, text)), Literal(1))),
        Call("RLIKE", (attribute, text)),
        Call("ILIKE", (Call("LOWER", (attribute,)), Literal("a%"))),
        Call("CASE", (IsNull(attribute), constant, Not(Like(attribute, "a%")), attribute)),
        Call("CASE", (InList(attribute, (constant,)), Negative(attribute), constant)),
    )
    attributes = with_computed(forms[form % len(forms)], "q", [])
    assert isinstance(attributes, Attribute)
    return attributes


def _values(
    variables: st.SearchStrategy[str], references: tuple[Reference, ...]
) -> st.SearchStrategy[Attribute]:
    """Draw attributes of events, some of which SQL computes."""
    plain = _attributes(variables, references)
    return st.one_of(plain, plain, st.builds(_by_sql, plain, st.integers(0, 100), literals))


def _aggregates(variables: st.SearchStrategy[str]) -> st.SearchStrategy[Call]:
    """Draw aggregates over a match's events: built-in ones, and one that a user defines."""
    over = _attributes(variables, (*PREFIX, Reference.RECENT))
    counted = st.builds(Attribute, variables, st.none(), st.sampled_from(PREFIX))
    return st.one_of(
        st.builds(
            lambda name, of: Call(name, (of,)), st.sampled_from(["SUM", "AVG", "MIN", "MAX"]), over
        ),
        st.builds(lambda of: Call("COUNT", (of,)), counted),
        st.builds(lambda of, more: Call("SLOPE", (of, more)), over, numbers),
        st.builds(lambda of: Call("odd name", (of,)), over),
    )


def expressions() -> st.SearchStrategy[Expression]:
    """Draw any expression, whether or not a query may contain it."""
    return EXPRESSIONS


EXPRESSIONS = _grown(
    st.one_of(
        literals,
        lengths,
        st.builds(Column, names),
        _attributes(names, tuple(Reference)),
        _aggregates(names),
        st.just(Call("COUNT", ())),
    )
)


def _conditions(draw: Any, pattern: Pattern, *, matches: bool) -> tuple[Expression, ...]:
    variables = st.sampled_from([event.variable for event in pt.events(pattern)])
    leaves: list[st.SearchStrategy[Any]] = [_values(variables, (Reference.PLAIN,))]
    if repeated := pt.kleene_variables(pattern):
        kleene = st.sampled_from(sorted(repeated))
        leaves.append(_values(kleene, (Reference.CURRENT, Reference.PREVIOUS, Reference.FIRST)))
        if matches:
            leaves += [_values(kleene, (*PREFIX, *POSITIONED)), _aggregates(kleene)]
    drawn = _true_or_false(st.one_of(leaves)).filter(lambda item: _has_type(item, TRUTH))
    found: list[Expression] = draw(st.lists(drawn, max_size=3))
    return tuple(found)


def _window(within: int, slide: int | None, origin: int) -> Window:
    """Return a window with at most the permitted number of open windows."""
    least = -(-within // MOST_WINDOWS)
    return Window(within, None if slide is None else max(slide, least), origin)


def _shared(draw: Any) -> dict[str, Any]:
    length = st.one_of(
        st.integers(1, 10**12),
        st.sampled_from([1_000, 1_000_000, 60_000_000, 3_600_000_000, DAY, 7 * DAY]),
    )
    origins = st.one_of(st.just(0), st.integers(-(10**18), 10**18))
    windows = st.none() | st.builds(_window, length, st.none() | length, origins)
    return {
        "name": draw(names),
        "equivalence": tuple(draw(st.lists(names, max_size=2, unique=True))),
        "strategy": draw(st.sampled_from(list(Strategy))),
        "group_by": tuple(draw(st.lists(names, max_size=2, unique=True))),
        "window": draw(windows),
    }


def _aliased(draw: Any, items: list[Expression], taken: tuple[str, ...]) -> tuple[ReturnItem, ...]:
    forbidden = {*taken, "window_start", "window_end"}
    aliases = draw(
        st.lists(
            names.filter(lambda name: name not in forbidden),
            min_size=len(items),
            max_size=len(items),
            unique=True,
        )
    )
    return tuple(
        ReturnItem(item, alias if draw(st.booleans()) else None)
        for item, alias in zip(items, aliases, strict=True)
    )


@st.composite
def trend_queries(draw: Any) -> Query:
    """Draw a valid query that aggregates trends."""
    pattern = draw(patterns())
    shared = _shared(draw)
    variables = st.sampled_from([event.variable for event in pt.positive_events(pattern)])
    counts = [st.just(Call("COUNT", ())), st.just(Call("LOG2", (Call("COUNT", ()),)))]
    over_events = [
        st.builds(
            lambda variable: Call("COUNT", (Attribute(variable, None),)),
            variables,
        ),
        st.builds(
            lambda name, of: Call(name, (of,)),
            st.sampled_from(["SUM", "AVG", "MIN", "MAX", *sorted(SPREADS)]),
            _values(variables, (Reference.PLAIN,)),
        ),
    ]
    pairs = isinstance(pattern, pt.Conjunction)  # of trends, which are counted and no more
    aggregates = st.one_of(counts if pairs else counts + over_events)
    columns = [Column(name) for name in shared["group_by"] if draw(st.booleans())]
    items = columns + draw(st.lists(aggregates, min_size=1, max_size=3, unique=True))
    return Query(
        returns=_aliased(draw, items, shared["group_by"]),
        pattern=pattern,
        where=_conditions(draw, pattern, matches=False),
        **shared,
    )


@st.composite
def match_queries(draw: Any) -> Query:
    """Draw a valid query that returns matches."""
    pattern = draw(patterns(conjunction=False))
    shared = _shared(draw)
    variables = st.sampled_from([event.variable for event in pt.positive_events(pattern)])
    events = st.builds(
        _at,
        variables,
        st.none(),
        st.sampled_from([known for known in Reference if known is not Reference.PLAIN]),
        st.integers(2, 100),
    )
    values = st.one_of(_values(variables, tuple(Reference)), events, _aggregates(variables))
    of_match = st.sampled_from(
        [
            Call("MATCH_NUMBER", ()),
            Call("CONFIDENCE", ()),
            Call("EVENT_IDS", ()),
            Call("EVENT_IDS", (Column("limit"),)),
        ]
    )
    leaves: list[st.SearchStrategy[Any]] = [values, literals, of_match]
    known = [*shared["group_by"], *shared["equivalence"]]
    if known:
        leaves.append(st.builds(Column, st.sampled_from(known)))
    first = draw(values)
    more = draw(
        st.lists(
            st.one_of(*leaves, _numbers(values), _true_or_false(values)).filter(
                lambda item: item != first and _has_type(item)
            ),
            max_size=2,
            unique=True,
        )
    )
    collapsed = draw(st.booleans())
    window = shared["window"]
    selects = shared["strategy"] is not Strategy.ANY and not collapsed
    selects = selects and (window is None or window.slide is None) and draw(st.booleans())
    lengths = st.integers(1, 10**12).map(lambda length: Window(length, clause="SUPPRESS"))
    return Query(
        returns=_aliased(draw, [first, *more], shared["group_by"]),
        pattern=pattern,
        where=_conditions(draw, pattern, matches=True),
        after_match=draw(st.sampled_from([None, *AfterMatch])) if selects else None,
        suppress=draw(st.none() | lengths) if selects else None,
        confidence=draw(
            st.one_of(st.none(), st.floats(0, 1, exclude_min=True, allow_subnormal=False))
        ),
        collapsed=collapsed,
        limit=draw(st.one_of(st.none(), st.integers(1, 10**9))),
        distinct=draw(st.booleans()),
        **shared,
    )


def queries() -> st.SearchStrategy[Query]:
    """Draw a valid query of either kind."""
    return st.one_of(trend_queries(), match_queries())


def workloads() -> st.SearchStrategy[Workload]:
    """Draw queries with different names."""
    several = st.lists(queries(), min_size=1, max_size=3, unique_by=lambda query: query.name)
    return st.builds(Workload, several.map(tuple), st.booleans())
