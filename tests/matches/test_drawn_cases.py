"""Drawn cases are worth comparing: many have matches, and conditions and NOT change which."""

import os
import re

import pytest

import matches.test_uncertain_times as uncertain
from elsinore.errors import ElsinoreError
from elsinore.plan.modes import Uncertainty
from support.drawn import Drawn
from support.matches import USERS, engine_rows, parsed, queries, streams, units_of

CASES = int(os.environ.get("ELSINORE_EXAMPLES", "60"))
CERTAIN = "certain times"
UNCERTAIN = "uncertain times"


def drawn(kind: str, seed: int):
    """Return the text and the events of a drawn case, and what is known of its times."""
    case = Drawn(seed)
    if kind == CERTAIN:
        events = streams(case)
        return queries(case), events, None
    events, text = uncertain.streams(case), uncertain.queries(case)
    return text, events, Uncertainty(step=uncertain.SECOND)


def without_conditions(text: str) -> str:
    """Leave out conditions; `[k]` says which events belong together, and stays."""
    where = re.search(r"WHERE (.*?) (?=GROUP BY|STRATEGY|WITHIN|CONFIDENCE|;)", text)
    if where is None:
        return text
    return text.replace(where[0], "WHERE [k] " if "[k]" in where[1] else "")


def without_not(text: str) -> str:
    inner = r"(?:SEQ\((?:[^()]|\([^()]*\)\+?)*\)|\([^()]*\)\+?|\w+\+? \w)"
    text = re.sub(r"\([^()]*\b[xy]\.[^()]*\)", "(1 < 2)", text)  # what is asked of its events
    return re.sub(rf", NOT {inner}|NOT {inner}, ", "", text)


def without_threshold(text: str) -> str:
    return re.sub(r"CONFIDENCE >= [\d.]+", "", text)


CLAUSES = {
    "conditions": without_conditions,
    "NOT": without_not,
    "CONFIDENCE": without_threshold,
}
LEAST = {  # shares of cases
    CERTAIN: {"matches": 0.45, "conditions": 0.15, "NOT": 0.15},
    UNCERTAIN: {"matches": 0.3, "conditions": 0.1, "NOT": 0.15, "CONFIDENCE": 0.15},
}


def rows_of(text: str, events, known):
    (unit,) = units_of(parsed(text), known)
    return engine_rows(unit, events)


@pytest.mark.parametrize("kind", LEAST)
def test_a_good_share_of_drawn_cases_is_not_vacuous(kind: str) -> None:
    """Of all cases, those with a match; of those that have a clause, those that it changes.

    With a clause are counted those that have matches without it.
    """
    shares = {what: [0, 0] for what in LEAST[kind]}
    for seed in range(CASES):
        text, events, known = drawn(kind, seed)
        if any(name in text for name in USERS):  # each is compiled anew
            continue
        try:
            rows = rows_of(text, events, known)
        except ElsinoreError:
            continue
        shares["matches"][0] += any(rows)
        shares["matches"][1] += 1
        for what, leave_out in CLAUSES.items():
            plain = leave_out(text)
            without = rows_of(plain, events, known) if plain != text and what in shares else ()
            shares.get(what, [0, 0])[0] += any(without) and rows != without
            shares.get(what, [0, 0])[1] += any(without)
    print(f"{kind}: {', '.join(f'{what} {n} of {m}' for what, (n, m) in shares.items())}")
    for what, (useful, counted) in shares.items():
        assert useful >= LEAST[kind][what] * counted > 0, what
