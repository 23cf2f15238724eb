"""Keywords: clauses, reserved words, strategies, and the nearest keyword to a misspelt word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from elsinore.model import AfterMatch, Strategy

CLAUSES = {  # token type -> canonical spelling, in canonical order
    "QUERY": "QUERY",
    "FROM": "FROM",
    "RETURN": "RETURN",
    "PATTERN": "PATTERN",
    "WHERE": "WHERE",
    "STRATEGY": "STRATEGY",
    "GROUP_BY": "GROUP BY",
    "WITHIN": "WITHIN",
    "SLIDE": "SLIDE",
    "ORIGIN": "ORIGIN",
    "CONFIDENCE": "CONFIDENCE",
    "COLLAPSED": "COLLAPSED",
    "AFTER_MATCH": "AFTER MATCH",
    "SUPPRESS": "SUPPRESS",
    "LIMIT": "LIMIT",
}
OPERATOR_WORDS = {  # upper-case word -> token type
    "SEQ": "SEQ",
    "NOT": "_NOT",
    "AND": "_AND",
    "OR": "_OR",
    "AS": "_AS",
    "IS": "_IS",
    "IN": "_IN",
    "LIKE": "_LIKE",
    "BETWEEN": "_BETWEEN",
    "NULL": "NULL",
    "TRUE": "TRUE",
    "FALSE": "FALSE",
}
RESERVED = (
    frozenset(CLAUSES) | frozenset(OPERATOR_WORDS) | {"EXACT", "GROUP", "BY", "GROUPBY", "DISTINCT"}
)
BARE_NAME = re.compile(r"[^\W\d]\w*")

STRATEGIES = {
    "SKIP TILL ANY MATCH": Strategy.ANY,
    "SKIP TILL NEXT MATCH": Strategy.NEXT,
    "CONTIGUOUS": Strategy.CONTIGUOUS,
    "STRICT CONTIGUITY": Strategy.CONTIGUOUS,  # SASE: CONTIGUOUS of a query without partition
    "PARTITION CONTIGUITY": Strategy.CONTIGUOUS,  # SASE: CONTIGUOUS of a partitioned one
}

AFTER_MATCH = {
    "SKIP TO NEXT EVENT": AfterMatch.NEXT_EVENT,
    "SKIP TO NEXT ROW": AfterMatch.NEXT_EVENT,  # the spelling of SQL's MATCH_RECOGNIZE
    "SKIP PAST LAST EVENT": AfterMatch.LAST_EVENT,
    "SKIP PAST LAST ROW": AfterMatch.LAST_EVENT,
}

NEAR_ENOUGH = 0.75  # difflib's ratio: about one wrong letter in five


def strategy_of(spelling: str) -> Strategy | None:
    """Return the strategy with a spelling, ignoring case, hyphens and underscores.

    >>> strategy_of("skip-till-next_match").value
    'SKIP TILL NEXT MATCH'
    """
    return STRATEGIES.get(" ".join(re.split(r"[\s_-]+", spelling.strip())).upper())


def after_match_of(spelling: str) -> AfterMatch | None:
    """Return the option of AFTER MATCH with a spelling, ignoring case.

    >>> after_match_of("skip past last event").name
    'LAST_EVENT'
    """
    return AFTER_MATCH.get(" ".join(re.split(r"[\s_-]+", spelling.strip())).upper())


def is_bare_name(name: str) -> bool:
    """Return whether a name needs no quotes.

    >>> is_bare_name("speed"), is_bare_name("limit"), is_bare_name("odd name")
    (True, False, False)
    """
    return BARE_NAME.fullmatch(name) is not None and name.upper() not in RESERVED


def nearest(word: str, choices: Iterable[str], near_enough: float = NEAR_ENOUGH) -> str | None:
    """Return the choice that is most similar to a misspelt `word`; None if none is similar.

    >>> nearest("PATERN", ["PATTERN", "WHERE"])
    'PATTERN'
    """
    by_fold = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=near_enough)
    return by_fold[near[0]] if near else None


def nearest_clause(word: str) -> str | None:
    """Return the token type of the clause that `word` misspells, if any.

    >>> nearest_clause("WITHN"), nearest_clause("GRUOP"), nearest_clause("speed")
    ('WITHIN', 'GROUP_BY', None)
    """
    spellings = {kind: kind for kind in CLAUSES} | {"GROUP": "GROUP_BY", "GROUPBY": "GROUP_BY"}
    spelling = nearest(word, spellings)
    return spellings[spelling] if spelling else None
