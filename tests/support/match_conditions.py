"""Conditions and columns drawn for any pattern of a match query."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.model import pattern as pt
from support.drawn import Drawn

NUMBERS = ("v", "n")
COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")
AGGREGATES = ("MIN", "MAX", "SUM", "AVG", "COUNT")
OWN = ("SPREAD", "MIDDLE")  # `support.matches.USERS`


@dataclass(frozen=True)
class Scope:
    """The variables that conditions on one pattern may name: the whole one, or one under NOT."""

    names: tuple[str, ...]
    repeated: frozenset[str]
    is_negative: bool

    @classmethod
    def of(cls, pattern: pt.Pattern, *, is_negative: bool) -> Scope:
        names = tuple(dict.fromkeys(event.variable for event in pt.positive_events(pattern)))
        return cls(names, pt.kleene_variables(pattern), is_negative)

    def kleene(self, drawn: Drawn) -> str | None:
        return (
            drawn.one(names) if (names := sorted(self.repeated.intersection(self.names))) else None
        )


def scopes(whole: pt.Pattern) -> list[Scope]:
    """Return the scope of a pattern, and those of all patterns under NOT in it."""
    negated = [node.pattern for node in pt.walk(whole) if isinstance(node, pt.Negation)]
    return [
        Scope.of(whole, is_negative=False),
        *(Scope.of(pattern, is_negative=True) for pattern in negated),
    ]


def condition(drawn: Drawn, scope: Scope) -> str:
    """Draw a condition on one event, on several, or on the whole match."""
    forms = [_local, _pair, _pair, _neighbours]
    if not scope.is_negative:
        forms += [_whole, _whole, _prefix, _arithmetic, _null, _text, _count, _length, _length]
        forms += [_limit, _limit, _equal, _listed]
    form = drawn.one(forms)
    text = form(drawn, scope)
    if not scope.is_negative and drawn.number(0, 5) == 0:
        text = f"{text} OR {drawn.one(forms)(drawn, scope)}"
    return f"NOT ({text})" if drawn.number(0, 11) == 0 else text


def relation(drawn: Drawn, scope: Scope, pattern: pt.Pattern) -> str | None:
    """Draw a condition that relates the events of a NOT to those of the whole pattern."""
    negated = [node.pattern for node in pt.walk(pattern) if isinstance(node, pt.Negation)]
    if not negated:
        return None
    under = drawn.one(negated)
    event = drawn.one(pt.positive_events(under))
    repeated = pt.kleene_variables(under)
    reference = drawn.one(("", "", "", "[1]", f"[{event.variable}.LEN]"))
    is_named = event.variable in repeated and bool(reference)
    name = f"{event.variable}{reference}" if is_named else drawn.one((event.variable, event.type))
    more = drawn.one(pt.positive_events(under)).variable
    other = drawn.one(scope.names)
    reference = drawn.one(("", "", "", "[1]", f"[{other}.LEN]")) if other in scope.repeated else ""
    event = f"{other}{reference}"
    texts = (
        f"{name}.n + {more}.n > {event}.n",
        f"{name}.n = {event}.n",
        f"{name}.s = {event}.s",
        f"{name}.v {drawn.one(COMPARISONS)} {event}.v",
        f"{name}.t - {event}.t {drawn.one(COMPARISONS[:4])} {drawn.one(('1', '2', '3'))} seconds",
        f"{name}.n + {event}.n > {drawn.one(scope.names)}.n OR {name}.v > 2",
        _looked_up(drawn, name, event),
        _looked_up(drawn, event, name),
    )
    return drawn.one(texts)


def _compared(drawn: Drawn, left: str, right: str) -> str:
    return f"{left} {drawn.one(COMPARISONS[:4] if drawn.number(0, 2) else COMPARISONS)} {right}"


def _constant(drawn: Drawn) -> str:
    return drawn.one(("1", "2", "1.5", "3"))


def _read(drawn: Drawn, scope: Scope, name: str | None = None) -> str:
    """Draw an attribute of an event of a variable, in any way to name the event."""
    name = name or drawn.one(scope.names)
    attribute = drawn.one(NUMBERS)
    if name not in scope.repeated:
        return f"{name}.{attribute}"
    if scope.is_negative:
        return f"{name}{drawn.one(('', '', '[1]'))}.{attribute}"
    near = ("", "", "[i]", "[1]", f"[{name}.LEN]")
    far = (f"[{name}.LEN-1]", f"[{name}.LEN-2]", "[2]", "[3]", "[i-2]", "[i-3]")
    return f"{name}{drawn.one(far if drawn.number(0, 3) == 0 else near)}.{attribute}"


def _local(drawn: Drawn, scope: Scope) -> str:
    name = drawn.one(scope.names)
    texts = (
        f"{name}.v < {_constant(drawn)}",
        f"{name}.n >= {_constant(drawn)}",
        f"{name}.s = 'x' OR {name}.v > 1",
        f"{name}.n IN (1, 2)",
        f"{name}.v IS NOT NULL",
    )
    return drawn.one(texts)


def _pair(drawn: Drawn, scope: Scope) -> str:
    if len(scope.names) < 2:
        return _neighbours(drawn, scope)
    one, other = drawn.some(scope.names, most=2, least=2)
    right = _read(drawn, scope, other)
    if drawn.number(0, 3) == 0:
        right += drawn.one((" + 1", " - 1", " * 2"))
    return _compared(drawn, _read(drawn, scope, one), right)


def _neighbours(drawn: Drawn, scope: Scope) -> str:
    name = scope.kleene(drawn)
    if name is None:
        return _local(drawn, scope)
    attribute = drawn.one((*NUMBERS, "s"))
    back = "i-2" if not scope.is_negative and drawn.number(0, 3) == 0 else "i-1"
    return f"{name}[i].{attribute} {drawn.one(COMPARISONS[:4])} {name}[{back}].{attribute}"


def _aggregate(drawn: Drawn, scope: Scope, events: str = "") -> str:
    """Draw an aggregate over all events of a variable, or over those before the current one."""
    name = (scope.kleene(drawn) if events or drawn.number(0, 2) else None) or drawn.one(scope.names)
    function = drawn.one((*AGGREGATES, *AGGREGATES, drawn.one(OWN)))
    if function == "COUNT" and drawn.whether():
        return f"COUNT({name}[{events}])"
    return f"{function}({name}[{events}].{drawn.one(NUMBERS)})"


def _whole(drawn: Drawn, scope: Scope) -> str:
    right = _constant(drawn) if drawn.whether() else _read(drawn, scope)
    return _compared(drawn, _aggregate(drawn, scope), right)


def _prefix(drawn: Drawn, scope: Scope) -> str:
    name = scope.kleene(drawn)
    if name is None:
        return _whole(drawn, scope)
    if drawn.number(0, 5) == 0:
        if drawn.whether():
            return f"SPELLINGS({name}[{_earlier(drawn)}].s) < {_constant(drawn)}"
        return _compared(drawn, f"{name}[i].s", f"MEDIAN({name}[{_earlier(drawn)}].s)")
    function = drawn.one((*AGGREGATES, "SPREAD", "MEDIAN", "VARIANCE", "COUNT(DISTINCT "))
    call = function if "(" in function else f"{function}("
    before = f"{call}{name}[{_earlier(drawn)}].{drawn.one(NUMBERS)})"
    return _compared(drawn, f"{name}[i].{drawn.one(NUMBERS)}", before)


def _earlier(drawn: Drawn) -> str:
    """Draw which events before the current one an aggregate is over: all, or the latest few."""
    return drawn.one(("1..i-1", "i-2..i-1", "i-3..i-1", "i-3..i-2", "i-1..i-1", "i-2..i-2"))


def _arithmetic(drawn: Drawn, scope: Scope) -> str:
    sign = drawn.one(("+", "-", "*"))
    left = f"{_read(drawn, scope)} {sign} {drawn.one((_read, _aggregate))(drawn, scope)}"
    return _compared(drawn, left, drawn.one((_read, _aggregate))(drawn, scope))


def _event(drawn: Drawn, scope: Scope) -> str:
    """Draw a reference to one event of a variable."""
    name = drawn.one(scope.names)
    if name not in scope.repeated:
        return name
    return f"{name}{drawn.one(('', '[i]', '[1]', f'[{name}.LEN]'))}"


def length(drawn: Drawn, scope: Scope, depth: int = 2) -> str:
    """Draw an expression of times that is a length of time."""
    one, other = _event(drawn, scope), _event(drawn, scope)
    texts = [
        f"{one}.t - {other}.t",
        f"{one}.d",
        drawn.one(("1 second", "2 seconds", "-1 second", "1500 ms", "3 us", "0 seconds")),
        f"{drawn.one(('SUM', 'AVG', 'MIN', 'MAX'))}({drawn.one(scope.names)}[].d)",
    ]
    if depth:
        inner = length(drawn, scope, depth - 1)
        texts += [
            f"({inner}) {drawn.one(('+', '-'))} {one}.d",
            f"({inner}) {drawn.one(('*', '/'))} {drawn.one(('2', '3', '-7', '1.5', '0'))}",
            f"({inner}) {drawn.one(('*', '/'))} {one}.{drawn.one(NUMBERS)}",
            f"({one}.t + ({inner})) - {other}.t",
            f"ABS({inner})",
            f"-({inner})",
        ]
    return drawn.one(texts)


def _length(drawn: Drawn, scope: Scope) -> str:
    left = length(drawn, scope)
    if drawn.number(0, 3) == 0:
        return _compared(drawn, f"({left}) / ({length(drawn, scope)})", _constant(drawn))
    if drawn.number(0, 3) == 0:
        one, other = _event(drawn, scope), _event(drawn, scope)
        return _compared(drawn, f"{one}.t + ({left})", f"{other}.t")
    return _compared(drawn, left, length(drawn, scope))


def _limit(drawn: Drawn, scope: Scope) -> str:
    """Draw a limit of the time between two events."""
    name = scope.kleene(drawn)
    limit = f"{drawn.one(COMPARISONS)} {drawn.one(('1', '2', '3', '1.5'))} seconds"
    if name is not None and drawn.whether():
        return f"{name}[i].t - {name}[{drawn.one(('i-1', '1'))}].t {limit}"
    one, other = drawn.one(scope.names), drawn.one(scope.names)
    return f"{other}.t - {one}.t {limit}"


def _equal(drawn: Drawn, scope: Scope) -> str:
    """Draw an equality of two events, of one attribute or of two."""
    if len(scope.names) < 2:
        return _neighbours(drawn, scope)
    one, other = drawn.some(scope.names, most=2, least=2)
    attributes = drawn.one((("s", "s"), ("n", "n"), ("v", "n"), ("v", "v")))
    return f"{one}.{attributes[0]} = {other}.{attributes[1]}"


def _listed(drawn: Drawn, scope: Scope) -> str:
    """Draw whether the list of an event has a value of another one, or of the same."""
    one, other = _event(drawn, scope), _event(drawn, scope)
    name = scope.kleene(drawn)
    if name is not None and drawn.whether():
        one, other = f"{name}[i]", f"{name}[{drawn.one(('i-1', 'i-2', '1'))}]"
    return _looked_up(drawn, *drawn.some((one, other), least=2, most=2))


def _looked_up(drawn: Drawn, value: str, lists: str) -> str:
    attribute, listed = drawn.one((("n", "ns"), ("v", "ns"), ("s", "ss"), ("n + 1", "ns")))
    if drawn.number(0, 3) == 0:
        return f"array_contains({lists}.{listed}, {value}.{attribute})"
    operator = drawn.one(("IN", "IN", "NOT IN"))
    return f"{value}.{attribute} {operator} {lists}.{listed}"


def _null(drawn: Drawn, scope: Scope) -> str:
    of = drawn.one((_read, _aggregate))(drawn, scope)
    return f"{of} IS {drawn.one(('NULL', 'NOT NULL'))}"


def _text(drawn: Drawn, scope: Scope) -> str:
    one, other = drawn.one(scope.names), drawn.one(scope.names)
    first = drawn.one(("[1]", f"[{one}.LEN]")) if one in scope.repeated else ""
    last = f"[{other}.LEN]" if other in scope.repeated else ""
    left = drawn.one((f"{one}{first}.s", f"MEDIAN({one}[].s)"))
    right = drawn.one((repr("x"), f"{other}{last}.s", f"MEDIAN({other}[].s)"))
    return f"{left} {drawn.one(COMPARISONS)} {right}"


def _count(drawn: Drawn, scope: Scope) -> str:
    names = [drawn.one(scope.names) for _ in range(2)]
    texts = (
        f"COUNT({names[0]}[]) {drawn.one(COMPARISONS)} {drawn.number(0, 2)}",
        f"COUNT({names[0]}[]) > COUNT({names[1]}[])",
        f"COUNT({names[0]}[]) + {_read(drawn, scope)} > 2",
    )
    return drawn.one(texts)


def columns(drawn: Drawn, scope: Scope) -> list[str]:
    """Return the possible columns of RETURN for the variables."""
    items = ["EVENT_IDS(n) AS ids"]
    single = [name for name in scope.names if name not in scope.repeated]
    for name in scope.names:
        if name not in scope.repeated:
            items += [f"{name}.n AS {name}n", f"{name}.v AS {name}v"]
            items += [_looked_up(drawn, name, drawn.one(single)) + f" AS {name}known"]
            items += [f"{name}.t + {name}.d * 1.5 AS {name}until", f"{name}.s, 'x' AS {name}text"]
            continue
        items += [
            f"SUM({name}[].d) AS {name}lasted",
            f"AVG({name}[].d) / 7 AS {name}share",
            f"MAX({name}[].t + {name}[].d) - MIN({name}[].t) AS {name}span",
            f"{name}[].n AS {name}ns",
            f"{name}[] AS {name}events",
            f"COUNT({name}[]) AS {name}count",
            f"COUNT({name}[].v) AS {name}known",
            f"AVG({name}[].v) AS {name}mean",
            f"SUM({name}[].n) AS {name}total",
            f"MAX({name}[].v) AS {name}most",
            f"SUM({name}[].v * {name}[].n) - 1 AS {name}worth",
            f"MIN({name}[].v - {name}[].n) AS {name}gap",
            f"COUNT({name}[].v - {name}[].n) AS {name}gaps",
            f"SPREAD({name}[].v) AS {name}spread",
            f"MIDDLE({name}[].n) AS {name}middle",
            f"LONGEST({name}[].s) AS {name}longest",
            f"COUNT(DISTINCT {name}[].{drawn.one(('s', 'n', 'v', 't'))}) AS {name}different",
            f"MEDIAN({name}[].{drawn.one(('v', 's'))}) AS {name}median",
            f"STDDEV({name}[].n) + 1 AS {name}spread2",
            f"VAR_POP({name}[].v) AS {name}variance",
            f"WEIGHTED({name}[].v, {name}[].n) AS {name}weighted",
            f"{name}[1].s AS {name}first",
            f"{name}[{name}.LEN].v - 1 AS {name}last",
            f"{name}[2].v AS {name}second",
            f"{name}[{name}.LEN-1].n AS {name}before",
        ]
    return drawn.some(items, least=1, most=5)
