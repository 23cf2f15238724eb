"""The rules that every query obeys, whether it was parsed or built.

Each rule is a function from a query to its errors; `RULES` lists them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeGuard

from elsinore.errors import QueryError, QuerySemanticError, Span, choices_text, did_you_mean
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.clauses import Clauses, ReturnItem
from elsinore.model.expression import (
    AGGREGATES,
    BETWEEN_EVENTS,
    CONTAINS,
    LANGUAGE_FUNCTIONS,
    MATCH_FUNCTIONS,
    SCALARS,
    Attribute,
    Call,
    Column,
    Reference,
)
from elsinore.model.kinds import Kind, Strategy
from elsinore.model.schema import AttributeKind
from elsinore.model.sql_functions import SQL_FUNCTIONS
from elsinore.model.types import mistakes

MOST_PERMUTED = 8  # patterns in any order: n * 2^(n-1) places for events
PREFIX_REFERENCES = frozenset(
    {
        *(Reference.ALL, Reference.EARLIER, Reference.LAST),
        *(Reference.NTH, Reference.FROM_LAST, Reference.BACK, Reference.RECENT),
    }
)
KLEENE_REFERENCES = frozenset(Reference) - {Reference.PLAIN}


def check_query(query: Clauses) -> list[QueryError]:
    """Return all errors in a query, in the order of `RULES`."""
    return [error for rule in RULES for error in rule(query)]


def query_kind(query: Clauses) -> Kind:
    """Return the engine for a query: trends unless it returns matches."""
    wants = {kind for item in query.returns for kind in _item_kinds(item)}
    return Kind.MATCHES if Kind.MATCHES in wants else Kind.TRENDS


_SYNONYMS = {  # function names of other SQL dialects
    "VAR": "VARIANCE",
    "VAR_SAMP": "VARIANCE",
    "VARIANCE_SAMP": "VARIANCE",
    "VARIANCE_POP": "VAR_POP",
    "VARP": "VAR_POP",
    "STD": "STDDEV",
    "STDEV": "STDDEV",
    "STDDEV_SAMP": "STDDEV",
    "STDEVP": "STDDEV_POP",
    "MEAN": "AVG",
    "AVERAGE": "AVG",
}


def variables_named(pattern: pt.Pattern, name: str) -> tuple[str, ...]:
    """Return the variables that a name refers to: itself, or all variables of a type of that name.

    >>> pattern = pt.Sequence((pt.Event("A", "first"), pt.Event("A", "second")))
    >>> variables_named(pattern, "A")
    ('first', 'second')
    """
    pattern_events = pt.events(pattern)
    if any(event.variable == name for event in pattern_events):
        return (name,)
    return tuple(dict.fromkeys(event.variable for event in pattern_events if event.type == name))


def _error(query: Clauses, message: str, span: Span | None, *choices: str) -> QuerySemanticError:
    return QuerySemanticError(message, span=span or query.span, query=query.name, choices=choices)


def _item_kinds(item: ReturnItem) -> set[Kind]:
    """Return the engines that can compute a RETURN item; empty for group attributes, constants."""
    kinds: set[Kind] = set()
    pending: list[ex.Expression] = [item.expression]
    while pending:
        node = pending.pop()
        if _is_unknown(node):
            continue
        if isinstance(node, Call) and node.name in MATCH_FUNCTIONS:
            kinds.add(Kind.MATCHES)
        elif isinstance(node, Call) and node.name in AGGREGATES:
            inside = [
                attribute for argument in node.arguments for attribute in ex.attributes(argument)
            ]
            over_match = any(attribute.reference is not Reference.PLAIN for attribute in inside)
            kinds.add(Kind.MATCHES if over_match else Kind.TRENDS)
        elif isinstance(node, Attribute):
            kinds.add(Kind.MATCHES)
        else:
            pending.extend(ex.children(node))
    return kinds


_INDICES = {"PREV": "i-1", "LAG": "i-1", "FIRST": "1", "FIRST_VALUE": "1"}  # of SQL's functions
_INDICES |= dict.fromkeys(("LAST", "LAST_VALUE"), "LEN")


def _is_unknown(node: ex.Expression) -> bool:
    """Return whether a node calls an unknown function.

    A call over several events of a match, `f(b[].x)`, may be a user-defined aggregate.
    """
    return (
        isinstance(node, Call)
        and node.name not in LANGUAGE_FUNCTIONS
        and not any(
            attribute.reference in PREFIX_REFERENCES
            for argument in node.arguments
            for attribute in ex.attributes(argument)
        )
    )


def _is_refused(item: ReturnItem, variables: set[str]) -> bool:
    """Return whether another rule reports an item: an unknown function or a whole event."""
    return any(
        _is_unknown(node) or (isinstance(node, Column) and node.name in variables)
        for node in ex.walk(item.expression)
    )


def pattern_is_not_empty(query: Clauses) -> Iterator[QueryError]:
    """A pattern matches at least one event, and so does one under NOT."""
    parts = query.pattern.parts if isinstance(query.pattern, pt.Conjunction) else (query.pattern,)
    for part in parts:
        if not any(_misplaced_nots(part)) and pt.nullable(part):
            message = f"The pattern can match nothing at all. {_obligatory(part)}"
            yield _error(query, message, part.span)
    for node in pt.walk(query.pattern):
        if not isinstance(node, pt.Negation) or any(_misplaced_nots(node.pattern)):
            continue
        if pt.nullable(node.pattern):
            message = f"The pattern under NOT can match nothing at all. {_obligatory(node.pattern)}"
            yield _error(query, message, node.pattern.span)


def _obligatory(pattern: pt.Pattern) -> str:
    """Return the remedy for a pattern that can match nothing."""
    if pt.positive_events(pattern):
        return "Make at least one of its parts obligatory, for instance + instead of *."
    return (
        "NOT excludes events between or beside other events: name one of those too, as in "
        "SEQ(A, NOT B)."
    )


def patterns_and_lists_are_not_empty(query: Clauses) -> Iterator[QueryError]:
    """Names, SEQ and IN are not empty; OR and AND have at least two patterns.

    Only queries built in Python can break this rule; the grammar excludes it.
    """
    names = [query.name, *query.group_by, *query.equivalence]
    for node in pt.walk(query.pattern):
        if isinstance(node, pt.Event):
            names += [node.type, node.variable]
        elif isinstance(node, pt.Sequence) and not node.parts:
            yield _error(query, "SEQ needs at least one pattern.", node.span)
        elif isinstance(node, pt.Disjunction | pt.Conjunction) and len(node.parts) < 2:
            yield _error(query, "OR and AND join at least two patterns.", node.span)
        elif isinstance(node, pt.Permutation) and not 2 <= len(node.parts) <= MOST_PERMUTED:
            message = f"PERMUTE takes 2 to {MOST_PERMUTED} patterns, not {len(node.parts)}."
            yield _error(query, message, node.span)
        elif isinstance(node, pt.Kleene) and node.least < 0:
            yield _error(query, "A pattern is repeated 0 times or more.", node.span)
    for expression in query.expressions:
        for part in ex.walk(expression):
            if isinstance(part, ex.InList) and not part.choices:
                yield _error(query, "IN needs at least one value to choose from.", part.span)
            elif isinstance(part, Attribute | Column) and part.name is not None:
                names.append(part.name)
    names += [item.alias for item in query.returns if item.alias is not None]
    if "" in names:
        yield _error(query, "A name cannot be empty.", query.span)


def operators_stand_where_they_may(query: Clauses) -> Iterator[QueryError]:
    """AND is at the top, NOT in a SEQ and not next to NOT, repetition counts make sense."""
    for node in pt.walk(query.pattern):
        if isinstance(node, pt.Conjunction) and node is not query.pattern:
            yield _error(query, "AND joins whole patterns: it can only be at the top.", node.span)
        if isinstance(node, pt.Kleene) and node.most is not None:
            if node.most < 1:
                yield _error(query, "A pattern repeated 0 times matches nothing.", node.span)
            elif node.least > node.most:
                yield _error(
                    query,
                    f"{{{node.least},{node.most}}} has a minimum above its maximum.",
                    node.span,
                )
    for several in _nots_side_by_side(query.pattern):
        patterns = " OR ".join(_sketch(negation.pattern) for negation in several)
        message = f"NOTs side by side: write NOT ({patterns}) where none of these may occur."
        yield _error(query, message, several[1].span)
    for negation in _misplaced_nots(query.pattern):
        yield _error(query, "NOT can only be a member of a SEQ.", negation.span)


def _misplaced_nots(pattern: pt.Pattern) -> Iterator[pt.Negation]:
    """Yield the NOTs that are not members of a SEQ."""
    if isinstance(pattern, pt.Negation):
        yield pattern
    for node in pt.walk(pattern):
        if not isinstance(node, pt.Sequence):
            yield from (child for child in pt.children(node) if isinstance(child, pt.Negation))


def _nots_side_by_side(pattern: pt.Pattern) -> Iterator[list[pt.Negation]]:
    """Yield the adjacent NOTs of each SEQ, after flattening nested SEQs."""
    if isinstance(pattern, pt.Sequence):
        parts = pt.members(pattern)
        for negative, group in itertools.groupby(parts, lambda part: isinstance(part, pt.Negation)):
            several = [part for part in group if isinstance(part, pt.Negation)]
            if negative and len(several) > 1:
                yield several
    else:
        parts = pt.children(pattern)
    for part in parts:
        yield from _nots_side_by_side(part)


def _sketch(pattern: pt.Pattern) -> str:
    """Return the text of a pattern for a remedy: only its events, SEQ and OR."""
    match pattern:
        case pt.Event(type_name, variable):
            return type_name if type_name == variable else f"{type_name} {variable}"
        case pt.Sequence(parts):
            return f"SEQ({', '.join(_sketch(part) for part in parts)})"
        case pt.Disjunction(parts):
            return " OR ".join(_sketch(part) for part in parts)
        case _:
            return "..."


def _bindings(pattern: pt.Pattern, bound: list[pt.Event]) -> Iterator[tuple[pt.Event, pt.Event]]:
    """Yield the pairs of events of one sequence that bind the same variable."""
    if isinstance(pattern, pt.Event):
        yield from ((event, pattern) for event in bound if event.variable == pattern.variable)
        bound.append(pattern)
    elif isinstance(pattern, pt.Disjunction | pt.Conjunction):
        branches = [list(bound) for _ in pattern.parts]
        for part, branch in zip(pattern.parts, branches, strict=True):
            yield from _bindings(part, branch)
        for branch in branches:
            bound.extend(event for event in branch if event not in bound)
    else:
        for part in pt.children(pattern):
            yield from _bindings(part, bound)


def variables_are_bound_once(query: Clauses) -> Iterator[QueryError]:
    """A variable has one type, and one place in a sequence; branches of OR and AND may share it."""
    types: dict[str, str] = {}
    for event in pt.events(query.pattern):
        if types.setdefault(event.variable, event.type) != event.type:
            yield _error(
                query,
                f"Variable '{event.variable}' is of type {types[event.variable]} and of type "
                f"{event.type}. Name one of them differently.",
                event.span,
            )
    for _, second in _bindings(query.pattern, []):
        if types[second.variable] != second.type:
            continue
        hint = (
            f"Type {second.type} occurs twice here: give each occurrence a variable of its own, "
            f"as in '{second.type} {second.type.lower()}1'."
            if second.variable == second.type
            else f"Variable '{second.variable}' is bound twice: name one of them differently."
        )
        yield _error(query, hint, second.span)


def _known(query: Clauses, node: Attribute) -> Iterator[QueryError]:
    if not variables_named(query.pattern, node.variable):
        names = list(dict.fromkeys(event.variable for event in pt.events(query.pattern)))
        yield _error(
            query,
            f"The pattern has no variable '{node.variable}'."
            f"{did_you_mean(node.variable, names)} Variables: {choices_text(names)}.",
            node.span,
            *names,
        )


def _functions_known(
    query: Clauses, expression: ex.Expression, *, in_return: bool
) -> Iterator[QueryError]:
    for node in ex.walk(expression):
        if not isinstance(node, Call):
            continue
        if node.name in MATCH_FUNCTIONS:
            least, most = MATCH_FUNCTIONS[node.name]
            if not least <= len(node.arguments) <= most:
                parameters = "no argument" if most == 0 else "the name of an attribute, or nothing"
                yield _error(query, f"{node.name} takes {parameters}.", node.span)
            elif any(not isinstance(argument, Column) for argument in node.arguments):
                message = f"{node.name} takes the name of an attribute: {node.name}(id)."
                yield _error(query, message, node.span)
            continue
        if node.name in AGGREGATES | SCALARS:
            least = 0 if node.name == "COUNT" else 1
            if not least <= len(node.arguments) <= 1:
                message = f"{node.name} takes one argument."
                yield _error(query, message, node.span)
            continue
        if node.name == CONTAINS:
            if len(node.arguments) != 2:
                message = f"{node.name} takes a list and a value."
                yield _error(query, message, node.span)
            continue
        if _is_unknown(node):
            names = sorted(AGGREGATES | SCALARS)
            read = next(iter(ex.attributes(node)), None)
            if node.name in _INDICES and read is not None:
                index = _INDICES[node.name].replace("LEN", f"{read.variable}.LEN")
                message = (
                    f"There is no function '{node.name}': write {read.variable}[{index}]."
                    f"{read.name or 'x'}, of a variable that is repeated."
                )
                yield _error(query, message, node.span)
                continue
            function_names = [*names, *(name.upper() for name in sorted(SQL_FUNCTIONS))]
            near = did_you_mean(_SYNONYMS.get(node.name, node.name), function_names)
            hint = _user_aggregate_hint(node.name, read) if in_return and not near else ""
            yield _error(
                query,
                f"There is no function '{node.name}'.{near} Functions: {', '.join(names)}.{hint}",
                node.span,
                *names,
            )


def _user_aggregate_hint(name: str, read: Attribute | None) -> str:
    """Return the places where a user-defined aggregate may be used; "" if none is possible."""
    if read is None:
        return ""
    over = f"{name}({read.variable}[].{read.name or 'x'})"
    return (
        " If it is a user-defined aggregate (aggregates=, --python): these are computed for each "
        f"match, not over trends. Write {over}, which returns matches."
    )


def returns_are_of_one_kind(query: Clauses) -> Iterator[QueryError]:
    """RETURN has values of trends or of matches, never of both."""
    if not query.returns:
        yield _error(query, "RETURN needs at least one column.", query.span)
    kinds: dict[Kind, ReturnItem] = {}
    variables = {event.variable for event in pt.positive_events(query.pattern)}
    for item in query.returns:
        for kind in _item_kinds(item):
            kinds.setdefault(kind, item)
    if len(kinds) > 1:
        matches = kinds[Kind.MATCHES].expression
        yield _error(
            query,
            "RETURN mixes aggregates over all trends, such as COUNT(*) or SUM(T.x), with values of "
            f"single matches, such as a.x or SUM(b[].x). {_readings(query, matches)}",
            matches.span,
        )
    elif not kinds and not any(_is_refused(item, variables) for item in query.returns):
        yield _error(
            query,
            "RETURN needs an aggregate, such as COUNT(*), or a value of a match, such as a.x.",
            query.returns[0].expression.span if query.returns else query.span,
        )


def _readings(query: Clauses, matches: ex.Expression) -> str:
    """Return the two possible meanings of an aggregate over `b[]`; without one only the remedy."""
    match matches:
        case Call(name, (Attribute(variable, attribute, Reference.ALL),)) if name in AGGREGATES:
            attribute_text = "" if attribute is None else f".{attribute}"
            beside = "COUNT(*)"
            for item in query.returns:
                if _item_kinds(item) == {Kind.TRENDS}:
                    match item.expression:
                        case Call(trend, (Attribute(named, read, _),)):
                            beside = f"{trend}({named}{'' if read is None else '.' + read})"
                    break
            return (
                f"Over all trends it is {name}({variable}{attribute_text}), one number for each "
                f"group and window, beside {beside}; of each match it is "
                f"{name}({variable}[]{attribute_text}), in a row of its own, and there is no "
                f"{beside} beside it. Write two queries for both."
            )
        case _:
            return f"Compute them in two queries{_of_each_match(query)}."


def _of_each_match(query: Clauses) -> str:
    """Return the text of an aggregate over trends as one of each match; "" if there is none."""
    for item in query.returns:
        match item.expression:
            case Call(name, (Attribute(variable, attribute, Reference.PLAIN),)) if _item_kinds(
                item
            ) == {Kind.TRENDS}:
                attribute_text = "" if attribute is None else f".{attribute}"
                aggregate_text = f"{name}({variable}[]{attribute_text})"
                return f", or write {aggregate_text} for the {name} of each match"
    return ""


def result_columns_have_distinct_names(query: Clauses) -> Iterator[QueryError]:
    """Aliases are distinct, and differ from the columns that every result has."""
    used_names = {"window_start", "window_end"} if query.window else set()
    for item in query.returns:
        if item.alias is None:
            continue
        if item.alias in used_names or (item.alias in query.group_by):
            yield _error(
                query,
                f"Two columns of the result are named '{item.alias}': choose another alias.",
                item.expression.span,
            )
        used_names.add(item.alias)


def returned_values_exist(query: Clauses) -> Iterator[QueryError]:
    """RETURN names variables of the positive pattern, shared attributes and known functions."""
    positive = {event.variable for event in pt.positive_events(query.pattern)}
    kleene = pt.kleene_variables(query.pattern)
    shared = query.group_by + (query.equivalence if query_kind(query) is Kind.MATCHES else ())
    for item in query.returns:
        yield from _functions_known(query, item.expression, in_return=True)
        ids = {
            id(argument)
            for node in ex.walk(item.expression)
            if isinstance(node, Call) and node.name in MATCH_FUNCTIONS
            for argument in node.arguments
        }
        without_variable = _aggregates_without_variable(query, item.expression)
        for node in ex.walk(item.expression):
            if id(node) in without_variable:
                yield _error(query, without_variable[id(node)], node.span)
            elif isinstance(node, Attribute):
                yield from _known(query, node)
                variables = variables_named(query.pattern, node.variable)
                if variables and not positive.intersection(variables):
                    yield _error(
                        query,
                        f"'{node.variable}' is under NOT: no trend or match contains such an "
                        "event.",
                        node.span,
                    )
            elif not isinstance(node, Column) or node.name in shared:
                continue
            elif node.name in positive:
                whole = f"{node.name}[].x, or {node.name}[] for all of them"
                how = whole if node.name in kleene else f"{node.name}.x"
                message = f"'{node.name}' is a variable: name an attribute of its events, as {how}."
                yield _error(query, message, node.span)
            elif id(node) not in ids:
                yield _error(query, _not_shared(query, node.name, shared), node.span, *shared)


def _not_shared(query: Clauses, name: str, shared: tuple[str, ...]) -> str:
    """Return the message for a returned attribute that differs between the events of a result."""
    hint, names = did_you_mean(name, shared), ", ".join(shared) or "none"
    if query_kind(query) is Kind.MATCHES:
        event = next(iter(pt.positive_events(query.pattern))).variable
        return (
            f"'{name}' may differ between the events of a match.{hint} Name an event, as in "
            f"{event}.{name}, or put [{name}] in WHERE. Attributes in common: {names}."
        )
    return (
        f"'{name}' is not an attribute that the query groups by.{hint} Add it to GROUP BY. "
        f"Grouping attributes: {names}."
    )


def _aggregates_without_variable(query: Clauses, expression: ex.Expression) -> dict[int, str]:
    """Return messages for aggregates of an attribute without a variable, by the argument's `id`.

    In `SUM(amount)`, `amount` is a misspelt variable if some variable has a similar name.
    """
    events = [event.variable for event in pt.positive_events(query.pattern)]
    kleene = pt.kleene_variables(query.pattern)
    owner = next((event for event in events if event in kleene), events[0] if events else "a")
    messages = {}
    for node in ex.walk(expression):
        if isinstance(node, Call) and node.name in AGGREGATES - {"COUNT"}:
            for argument in node.arguments:
                match argument:
                    case Column(name) | Attribute(name, None, Reference.PLAIN) if not (
                        variables_named(query.pattern, name) or did_you_mean(name, events)
                    ):
                        call = f"{node.name}({owner}.{name})"
                        if node.name == "COUNT_DISTINCT":
                            call = f"COUNT(DISTINCT {owner}[].{name})"
                        messages[id(argument)] = f"Whose '{name}'? Write {call}."
    return messages


def whole_events_are_counted_or_listed(query: Clauses) -> Iterator[QueryError]:
    """Events without an attribute are arguments of COUNT, or the list `b[]` of a variable."""
    for item in query.returns:
        allowed = {
            id(argument)
            for node in ex.walk(item.expression)
            if isinstance(node, Call) and node.name in AGGREGATES
            for argument in node.arguments
        }
        for node in ex.attributes(item.expression):
            plain = node.name is None and node.reference is Reference.PLAIN
            if plain and id(node) not in allowed:
                message = (
                    f"'{node.variable}' is an event: name one of its attributes, or write "
                    f"{node.variable}[] for the list of them."
                )
                yield _error(query, message, node.span)


def trend_returns_are_aggregates(query: Clauses) -> Iterator[QueryError]:
    """A trend query returns group attributes and the aggregates over trends."""
    if query_kind(query) is not Kind.TRENDS:
        return
    for item in query.returns:
        if isinstance(item.expression, Column) or _is_trend_aggregate(item.expression):
            continue
        of_match = [node for node in ex.walk(item.expression) if _is_of_one_match(node)]
        if of_match:
            is_count = of_match[0].name == "COUNT_DISTINCT"
            name = "COUNT(DISTINCT b[].x)" if is_count else "MEDIAN(b[].x)"
            message = f"This is a value of one match, as in {name}. Trends have sums alone."
            if is_count:
                message += (
                    " For the number of different values in all of them, return matches with the "
                    "value and count in SQL over the results (--then, results.sql): SELECT "
                    "COUNT(DISTINCT x) FROM q."
                )
            yield _error(query, message, of_match[0].span)
            continue
        if any(map(_is_unknown, ex.walk(item.expression))) or _aggregates_without_variable(
            query, item.expression
        ):
            continue  # `returned_values_exist` reports it
        yield _error(
            query,
            "A trend query returns grouping attributes, COUNT(*), COUNT(E), SUM(E.a), AVG(E.a), "
            "MIN(E.a), MAX(E.a), VARIANCE(E.a), STDDEV(E.a), VAR_POP(E.a), STDDEV_POP(E.a) and "
            "LOG2(COUNT(*)).",
            item.expression.span,
        )


def _is_of_one_match(node: ex.Expression) -> TypeGuard[Call]:
    return isinstance(node, Call) and node.name in ex.OF_ONE_MATCH


def pairs_of_trends_are_counted(query: Clauses) -> Iterator[QueryError]:
    """AND returns the number of pairs of trends and no other aggregate."""
    if query_kind(query) is not Kind.TRENDS or not isinstance(query.pattern, pt.Conjunction):
        return
    for item in query.returns:
        match item.expression:
            case Column() | Call("COUNT", ()) | Call("LOG2", (Call("COUNT", ()),)):
                continue
            case aggregate if _is_trend_aggregate(aggregate):
                yield _error(
                    query,
                    "AND counts pairs of trends: it returns COUNT(*) and LOG2(COUNT(*)). Aggregate "
                    "over the events of one of its patterns in a separate query.",
                    aggregate.span,
                )


def _is_trend_aggregate(item: ex.Expression) -> bool:
    match item:
        case Call("LOG2", (Call("COUNT", ()),)) | Call("COUNT", ()):
            return True
        case Call("COUNT", (Attribute(_, None, Reference.PLAIN),)):
            return True
        case Call(name, (Attribute(_, str(), Reference.PLAIN),)):
            return name in AGGREGATES - {"COUNT"} - ex.OF_ONE_MATCH
        case _:
            return False


def predicates_make_sense(query: Clauses) -> Iterator[QueryError]:
    """WHERE reads variables of the pattern, by references that fit them, with known functions."""
    kleene = pt.kleene_variables(query.pattern)
    for predicate in query.where:
        yield from _functions_known(query, predicate, in_return=False)
        aggregated: set[int] = set()
        for node in ex.walk(predicate):
            if isinstance(node, Call) and node.name in MATCH_FUNCTIONS:
                message = f"{node.name} is a function of complete matches: use it in RETURN."
                yield _error(query, message, node.span)
                break
            if isinstance(node, Call) and node.name not in BETWEEN_EVENTS | _INDICES.keys():
                aggregated.update(id(inner) for inner in ex.walk(node))
                ranges = any(
                    attribute.reference in PREFIX_REFERENCES for attribute in ex.attributes(node)
                )
                if not ranges and not _is_unknown(node):
                    yield _error(
                        query,
                        f"In WHERE, {node.name} ranges over the events a Kleene variable has "
                        f"selected: write {node.name}(b[].x) or {node.name}(b[1..i-1].x).",
                        node.span,
                    )
            elif isinstance(node, Column):
                variables = [event.variable for event in pt.events(query.pattern)]
                if node.quoted:
                    yield _error(
                        query,
                        f"Text goes in single quotes: '{node.name}'. Double quotes are for names, "
                        f'and an attribute has an event before it: {variables[0]}."{node.name}".',
                        node.span,
                    )
                    continue
                yield _error(
                    query,
                    f"Whose '{node.name}'? Write {variables[0]}.{node.name}, or [{node.name}] "
                    "for one value throughout.",
                    node.span,
                )
            elif isinstance(node, Attribute):
                yield from _known(query, node)
                named = variables_named(query.pattern, node.variable)
                if node.reference in KLEENE_REFERENCES and named and not kleene.intersection(named):
                    yield _error(
                        query,
                        f"'{node.variable}' is bound to one event: write {node.variable}"
                        f"{'.' + node.name if node.name else ''} without "
                        f"{node.index}.",
                        node.span,
                    )
                elif node.name is None and id(node) not in aggregated:
                    yield _error(
                        query,
                        f"'{node.variable}' is an event: name one of its attributes.",
                        node.span,
                    )


def expressions_have_types(query: Clauses) -> Iterator[QueryError]:
    """Conditions are true or false, and every operator and function fits its operands.

    The kinds of attributes are not known yet: all possible kinds are considered.
    """
    required_kinds = [(predicate, AttributeKind.BOOLEAN) for predicate in query.where]
    for expression, kind in [*required_kinds, *((item.expression, None) for item in query.returns)]:
        for mistake in mistakes(expression, lambda _: None, kind):
            yield _error(query, mistake.message, mistake.span or expression.span)


def trend_predicates_can_be_aggregated(query: Clauses) -> Iterator[QueryError]:
    """A trend query's predicates look at one event or at two neighbours."""
    if query_kind(query) is not Kind.TRENDS:
        return
    for predicate in query.where:
        for part in ex.walk(predicate):
            if isinstance(part, Call) and part.name == CONTAINS:
                yield _error(
                    query,
                    "A trend query cannot look a value up in the list of another event. Return "
                    "matches, that is values of single events such as a.x.",
                    part.span,
                )
        for node in ex.attributes(predicate):
            if node.reference in PREFIX_REFERENCES:
                yield _error(
                    query,
                    "A predicate over all events selected so far cannot be aggregated over all "
                    "trends in polynomial time. It takes a match query, one that RETURNs values "
                    "of single matches, such as a.x or COUNT(b[]).",
                    node.span,
                )


def clauses_fit_the_kind(query: Clauses) -> Iterator[QueryError]:
    """Clauses only for matches are not in trend queries; their numbers are in range."""
    if query_kind(query) is Kind.TRENDS:
        by_clause = {
            "CONFIDENCE": query.confidence is not None,
            "COLLAPSED": query.collapsed,
            "AFTER MATCH": query.after_match is not None,
            "SUPPRESS": query.suppress is not None,
            "LIMIT": query.limit is not None,
            "DISTINCT": query.distinct,
        }
        for clause, present in by_clause.items():
            if present:
                message = f"{clause} is for match queries; this one aggregates trends."
                yield _error(query, message, query.places.get(clause, query.places.get("RETURN")))
    if query.confidence is not None and not 0 < query.confidence <= 1:
        message = "CONFIDENCE is a probability above 0 and at most 1."
        yield _error(query, message, query.places.get("CONFIDENCE"))
    if query.limit is not None and query.limit < 1:
        yield _error(query, "LIMIT must be at least 1.", query.places.get("LIMIT"))


def matches_are_selected_from_runs(query: Clauses) -> Iterator[QueryError]:
    """AFTER MATCH and SUPPRESS select from runs of NEXT or CONTIGUOUS, and from single matches."""
    selections = {"AFTER MATCH": query.after_match, "SUPPRESS": query.suppress}
    clause = next((name for name, value in selections.items() if value is not None), None)
    if clause is None or query_kind(query) is Kind.TRENDS:
        return
    place = query.places.get(clause)
    if query.strategy is Strategy.ANY:
        message = (
            f"{clause} selects among the runs of a pattern, and SKIP TILL ANY MATCH has a run for "
            "each choice of events. Add STRATEGY SKIP TILL NEXT MATCH, or CONTIGUOUS."
        )
        yield _error(query, message, place)
    elif query.collapsed:
        message = f"COLLAPSED returns sets of events, and {clause} selects single matches."
        yield _error(query, f"{message} Leave one of them out.", place)
    if query.suppress is not None and query.window is not None and query.window.events:
        message = (
            "SUPPRESS is a length of time, and WITHIN a number of events. Give WITHIN a length of "
            "time, or use AFTER MATCH SKIP PAST LAST EVENT."
        )
        yield _error(query, message, query.places.get("SUPPRESS"))
    if query.window is not None and query.window.slide is not None:
        message = (
            f"{clause} selects each match once, and SLIDE returns it for each window that has it. "
            "Leave SLIDE out: then the window begins with the match."
        )
        yield _error(query, message, query.places.get("SLIDE", place))


def attributes_are_named_once(query: Clauses) -> Iterator[QueryError]:
    """GROUP BY and [ ] name each attribute once."""
    for clause, names in (("GROUP BY", query.group_by), ("[ ]", query.equivalence)):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield _error(query, f"{clause} names '{name}' twice.", query.places.get(clause))


RULES: tuple[Callable[[Clauses], Iterator[QueryError]], ...] = (
    patterns_and_lists_are_not_empty,
    operators_stand_where_they_may,
    pattern_is_not_empty,
    variables_are_bound_once,
    returns_are_of_one_kind,
    result_columns_have_distinct_names,
    returned_values_exist,
    whole_events_are_counted_or_listed,
    trend_returns_are_aggregates,
    pairs_of_trends_are_counted,
    predicates_make_sense,
    expressions_have_types,
    trend_predicates_can_be_aggregated,
    clauses_fit_the_kind,
    matches_are_selected_from_runs,
    attributes_are_named_once,
)
