"""Drawn cases are worth comparing: many have matches, and conditions and NOT change which."""

import os
from dataclasses import replace

import pytest

import matches.test_uncertain_times as uncertain
from elsinore.errors import ElsinoreError
from elsinore.language import render
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.query import Query, Workload
from elsinore.plan.modes import Uncertainty
from support.drawn import Drawn
from support.matches import USERS, engine_rows, parsed, queries, streams, units_of

CASES = int(os.environ.get("ELSINORE_EXAMPLES", "80"))
CERTAIN = "certain times"
UNCERTAIN = "uncertain times"


def drawn(kind: str, seed: int):
    """Return the query and the events of a drawn case, and what is known of its times."""
    case = Drawn(seed)
    if kind == CERTAIN:
        (query,) = parsed(queries(case)).queries
        return query, streams(case, pattern=query.pattern), None
    events, text = uncertain.streams(case), uncertain.queries(case)
    return parsed(text).queries[0], events, Uncertainty(step=uncertain.SECOND)


def without_conditions(query: Query) -> Query:
    return replace(query, where=())


def without_not(query: Query) -> Query:
    """Leave out every NOT, and the conditions on what is under it."""
    negated = {node.pattern for node in pt.walk(query.pattern) if isinstance(node, pt.Negation)}
    forbidden = [event for pattern in negated for event in pt.events(pattern)]
    pattern = positive(query.pattern)
    names = {event.variable for event in forbidden} | {event.type for event in forbidden}
    names -= {event.type for event in pt.events(pattern)}
    where = tuple(c for c in query.where if not names & {a.variable for a in ex.attributes(c)})
    return replace(query, pattern=pattern, where=where)


def positive(pattern: pt.Pattern) -> pt.Pattern:
    """Return a pattern without its NOTs."""
    match pattern:
        case pt.Sequence(parts):
            return pt.Sequence(tuple(positive(p) for p in parts if not isinstance(p, pt.Negation)))
        case pt.Disjunction(parts):
            return pt.Disjunction(tuple(map(positive, parts)))
        case pt.Kleene(inner, least, most):
            return pt.Kleene(positive(inner), least, most)
        case _:
            return pattern


def without_threshold(query: Query) -> Query:
    return replace(query, confidence=None)


CLAUSES = {
    "conditions": without_conditions,
    "NOT": without_not,
    "CONFIDENCE": without_threshold,
}
LEAST = {  # shares of cases
    CERTAIN: {"matches": 0.45, "conditions": 0.15, "NOT": 0.15},
    UNCERTAIN: {"matches": 0.3, "conditions": 0.1, "NOT": 0.15, "CONFIDENCE": 0.15},
}


def rows_of(query: Query, events, known):
    (unit,) = units_of(Workload((query,)), known)
    return engine_rows(unit, events)


@pytest.mark.parametrize("kind", LEAST)
def test_a_good_share_of_drawn_cases_is_not_vacuous(kind: str) -> None:
    """Of all cases, those with a match; of those that have a clause, those that it changes.

    With a clause are counted those that have matches without it.
    """
    shares = {what: [0, 0] for what in LEAST[kind]}
    for seed in range(CASES):
        query, events, known = drawn(kind, seed)
        if any(f"{name}(" in render(query) for name in USERS):  # each is compiled anew
            continue
        try:
            rows = rows_of(query, events, known)
        except ElsinoreError:
            continue
        shares["matches"][0] += any(rows)
        shares["matches"][1] += 1
        for what in shares.keys() & CLAUSES:
            plain = CLAUSES[what](query)
            without = rows_of(plain, events, known) if plain != query else ()
            shares[what][0] += any(without) and rows != without
            shares[what][1] += any(without)
    print(f"{kind}: {', '.join(f'{what} {n} of {m}' for what, (n, m) in shares.items())}")
    for what, (useful, counted) in shares.items():
        assert useful >= LEAST[kind][what] * counted > 0, what
