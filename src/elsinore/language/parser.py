"""The parser: workloads, queries, patterns and expressions from text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, cast

from elsinore.errors import (
    UNNAMED,
    InvalidWorkloadError,
    QueryError,
    QuerySyntaxError,
    Source,
    Span,
    kind_of_value,
    raise_errors,
)
from elsinore.language.clauses import UnexpectedInput, parse_tokens
from elsinore.language.expected import unexpected
from elsinore.language.fields import refuse_variables, with_shared_fields
from elsinore.language.forms import form_of
from elsinore.language.grammar import EXPRESSION, PATTERN
from elsinore.language.keywords import CLAUSES
from elsinore.language.parts import (
    Condition,
    Length,
    Named,
    checked,
    checked_pattern,
    expression_of,
    span_of,
)
from elsinore.language.statements import Clauses, Statement, read_clauses, split_statements
from elsinore.language.tokens import end_token, name_of, tokenize
from elsinore.language.windows import suppression_of, window_of
from elsinore.model import Expression, Pattern, PythonQuery, Query, Strategy, Workload
from elsinore.model import pattern as pt
from elsinore.model.computed import with_functions
from elsinore.model.garbage import without_garbage_collection
from elsinore.model.query import Form, FormInstance


@without_garbage_collection()
def parse_workload(
    text: str, name: str = "<query>", functions: Mapping[str, Callable[..., object]] | None = None
) -> Workload:
    """Parse the queries of a text; `name` is the text's name in errors, such as its file's name.

    `functions` are Python functions that the queries may call, by their names in upper case.

    The errors of all queries are reported together: a single one is raised as QuerySyntaxError or
    QuerySemanticError, several as InvalidWorkloadError in text order.

    >>> workload = parse_workload("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 minutes")
    >>> workload["q"].window.within
    600000000
    """
    if not isinstance(text, str):
        raise TypeError(_not_text(text))
    source = Source(text, name)
    errors: list[QueryError] = []
    queries: list[Query] = []
    statements = list(split_statements(tokenize(text), end_token(text)))
    exact_statements = sum(statement.tokens[0].type == "EXACT" for statement in statements)
    several = len(statements) - exact_statements > 1
    valid_forms: dict[Hashable, Query] = {}
    for statement in statements:
        if statement.tokens[0].type == "EXACT":
            errors.extend(_exact_errors(statement))
            continue
        title = _title(statement)
        query_errors: list[QueryError] = []
        try:
            query = _query(statement, query_errors, valid_forms, functions or {}, several=several)
        except RecursionError:
            query = None
            query_errors.append(
                QuerySyntaxError(
                    "The query is nested too deeply.", span=span_of(statement.tokens[0])
                )
            )
        errors.extend(error.located(source, title) for error in query_errors)
        if query is not None:
            queries.append(query)
    if len(statements) == exact_statements and not errors:
        message = "Expected QUERY, RETURN or PATTERN, found the end of the text."
        errors.append(QuerySyntaxError(message, span=span_of(end_token(text))))
    workload = None
    if queries:
        try:
            workload = Workload(tuple(queries), exact=exact_statements > 0)
        except (QueryError, InvalidWorkloadError) as error:
            errors.extend(_errors_of(error))
    errors = [error.located(source) for error in errors]
    raise_errors(sorted(errors, key=_place))
    return cast("Workload", workload)  # set if there is no error


def _not_text(value: object) -> str:
    """Return the error message for queries that are not text."""
    remedy = ""
    if hasattr(value, "read_text"):
        remedy = " Read the file first: Workload.parse(path.read_text(), str(path))."
    elif isinstance(value, bytes):
        remedy = " Decode it first: text.decode('utf-8')."
    return f"Queries are parsed from text, and this is {kind_of_value(value)}.{remedy}"


def parse_query(text: str, name: str = "<query>") -> Query:
    """Parse the only query of a text; a query without a name is named 'query'.

    Raises the errors of `parse_workload`, and QuerySyntaxError for several queries.

    >>> parse_query("RETURN COUNT(*) PATTERN Travel+").name
    'query'
    """
    workload = parse_workload(text, name)
    if len(workload) > 1:
        second = workload.queries[1]
        raise QuerySyntaxError(
            "One query is expected here, and this is a second one.",
            span=second.span,
            source=Source(text, name),
            query=second.name,
        )
    return workload.queries[0]


def parse_pattern(text: str, name: str = "<pattern>") -> Pattern:
    """Parse a pattern, as after PATTERN.

    Raises QuerySyntaxError.

    >>> parse_pattern("Travel T")
    Event(type='Travel', variable='T')
    """
    return cast("Pattern", _parse(PATTERN, text, name))


def parse_expression(text: str, name: str = "<expression>") -> Expression:
    """Parse an expression, as in WHERE or RETURN.

    Raises QuerySyntaxError.

    >>> parse_expression("-5")
    Literal(value=-5)
    """
    return cast("Expression", _parse(EXPRESSION, text, name))


def _parse(start: str, text: str, name: str) -> Any:
    source = Source(text, name)
    tokens = tokenize(text)
    try:
        node = parse_tokens(start, tokens)
        return checked(expression_of(node)) if start == EXPRESSION else checked_pattern(node)
    except UnexpectedInput as problem:
        at = len(tokens) if problem.index is None else problem.index
        error = unexpected(
            [*tokens, end_token(text)][at],
            problem.expected,
            clauses=[],
            follows="the end of the text",
            before=tokens[at - 1] if at else None,
            after=tokens[at + 1] if at + 1 < len(tokens) else None,
        )
        raise error.located(source) from None
    except RecursionError:
        raise QuerySyntaxError(
            "This is nested too deeply.", span=Span(0, len(text)), source=source
        ) from None
    except QuerySyntaxError as error:
        raise error.located(source) from None


def _errors_of(error: QueryError | InvalidWorkloadError) -> tuple[QueryError, ...]:
    return error.errors if isinstance(error, InvalidWorkloadError) else (error,)


def _place(error: QueryError) -> int:
    return error.span.start if error.span else -1


def _exact_errors(statement: Statement) -> list[QuerySyntaxError]:
    following = statement.tokens[1:]
    if following:
        message = "EXACT is separate and holds for all queries of the text: end it with ';'."
        return [QuerySyntaxError(message, span=span_of(following[0]))]
    return []


def _title(statement: Statement) -> str | None:
    """Return the name of a query that may be invalid, for its errors."""
    first, *following = statement.tokens
    if first.type == "QUERY" and following and following[0].type in {"NAME", "QUOTED"}:
        return name_of(following[0])
    return None


def _query(
    statement: Statement,
    errors: list[QueryError],
    valid_forms: dict[Hashable, Query],
    functions: Mapping[str, Callable[..., object]],
    *,
    several: bool,
) -> Query | None:
    """Return the query of a statement; if it is invalid, None, and add to `errors`.

    `functions` are Python functions by name. `valid_forms` has the first valid query of each form;
    this query is added if its form is new.
    """
    clauses = read_clauses(statement)
    errors.extend(clauses.errors)
    if clauses.errors:
        return None
    span = _span(statement)
    if "FROM" in clauses.words:
        return _python_query(clauses, span, errors)
    for kind, example in (("RETURN", "COUNT(*)"), ("PATTERN", "SEQ(A, B+)")):
        if kind not in clauses.words:
            message = f"The query has no {kind}. Add one, such as {kind} {example}."
            errors.append(QuerySyntaxError(message, span=span))
    if "QUERY" not in clauses.words and several:
        message = "One of several queries needs a name: write QUERY and a name before this."
        errors.append(QuerySyntaxError(message, span=span))
    if errors:
        return None
    form = form_of(statement.tokens, statement.types)
    first = valid_forms.get(form.key)
    shared = first.form_instance.form if first and first.form_instance else Form()
    try:
        query = _build(clauses, span, FormInstance(shared, form.names), first, functions)
    except (QueryError, InvalidWorkloadError) as error:
        errors.extend(_errors_of(error))
        return None
    valid_forms.setdefault(form.key, query)
    return query


def _python_query(clauses: Clauses, span: Span, errors: list[QueryError]) -> PythonQuery | None:
    """Return the query that FROM names, which excludes all other clauses."""
    other_clauses = [kind for kind in clauses.words if kind not in {"QUERY", "FROM"}]
    if other_clauses:
        clause = CLAUSES[other_clauses[0]]
        message = f"FROM names a query that is written in Python, whole: leave {clause} out."
        errors.append(QuerySyntaxError(message, span=clauses.spans[other_clauses[0]]))
        return None
    named: Named | None = clauses.values.get("QUERY")
    places = {CLAUSES[kind]: place for kind, place in clauses.spans.items()}
    name = named.text if named else UNNAMED
    return PythonQuery(name=name, source=clauses.values["FROM"], span=span, places=places)


def _span(statement: Statement) -> Span:
    """Return the span that represents a query: `QUERY name`, or its first word."""
    first, *following = statement.tokens
    if first.type == "QUERY" and following:
        return span_of(first).until(span_of(following[0]))
    return span_of(first)


def _build(
    clauses: Clauses,
    span: Span,
    form: FormInstance,
    first: Query | None,
    functions: Mapping[str, Callable[..., object]],
) -> Query:
    """Return a query; `first` is a valid one of the same form."""
    values = clauses.values
    condition = values.get("WHERE") or Condition((), ())
    named: Named | None = values.get("QUERY")
    window = None
    if first is not None and first.window is not None:
        window = replace(first.window, span=(values.get("ORIGIN") or values["WITHIN"]).span)
    elif "WITHIN" in values:
        window = window_of(values["WITHIN"], values.get("SLIDE"), values.get("ORIGIN"))
    suppress: Length | None = values.get("SUPPRESS")
    places = {CLAUSES[kind]: place for kind, place in clauses.spans.items()}
    if condition.span is not None:
        places["[ ]"] = condition.span
    group_by = values.get("GROUP_BY", ())
    events = pt.events(values["PATTERN"])
    variables = {name for event in events for name in (event.variable, event.type)}
    refuse_variables("[{}]", condition.equivalence, variables, places.get("[ ]"))
    refuse_variables("GROUP BY {}", group_by, variables, places.get("GROUP BY"))
    shared = {*condition.equivalence, *group_by}
    return Query(
        name=named.text if named else UNNAMED,
        returns=tuple(
            replace(
                item,
                expression=with_functions(
                    with_shared_fields(item.expression, variables, shared), functions
                ),
            )
            for item in values["RETURN"].items
        ),
        distinct=values["RETURN"].distinct,
        pattern=values["PATTERN"],
        equivalence=condition.equivalence,
        where=tuple(with_functions(part, functions) for part in condition.where),
        strategy=values.get("STRATEGY", Strategy.ANY),
        group_by=group_by,
        window=window,
        after_match=values.get("AFTER_MATCH"),
        suppress=None if suppress is None else suppression_of(suppress),
        confidence=values.get("CONFIDENCE"),
        collapsed=values.get("COLLAPSED", False),
        limit=values.get("LIMIT"),
        span=span,
        places=places,
        is_valid=first is not None,
        instance_of=form,
    )
