"""Which predicates can be true together, and which not, of one event.

Predicates that share no attribute have nothing to do with one another and are looked at apart.
Within such a part, comparisons with constants are settled exactly by regions (`regions`); the rest
(arithmetic, one attribute against another) is asked of z3 (`solver`), if it is installed. An answer
that cannot be had is "yes": that costs work, never correctness.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence

from elsinore.automata.regions import truths_by_regions
from elsinore.automata.solver import Question, z3_is_installed
from elsinore.errors import QuerySemanticError
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Column, Expression

KNOWN_ANSWERS = 4096  # answers that are kept: a query's rules ask the same again and again
TRUTHS_LIMIT = 4096  # sets of true predicates of one type: there may be 2^n of n predicates


def satisfiable(true: Iterable[Expression], not_true: Iterable[Expression] = ()) -> bool:
    """Return whether one event can make all of `true` true and none of `not_true`.

    A predicate that is unknown, as a comparison with null is, is not true.

    >>> from elsinore.model.expression import Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GE, Attribute("A", "v"), Literal(3))
    >>> satisfiable([low, high]), satisfiable([low]), satisfiable([], [low, high])
    (False, True, True)
    """
    wanted, unwanted = frozenset(true), frozenset(not_true)
    if wanted & unwanted or _equals_two_texts(wanted):
        return False
    everything = sorted(wanted | unwanted, key=repr)
    return all(_possible(part, wanted, unwanted) for part in independent(everything))


def undecided(predicates: Iterable[Expression]) -> list[Expression]:
    """Return the predicates of which nothing is known because z3 is not installed.

    Those are not comparisons of one attribute with constants.
    """
    if z3_is_installed():
        return []
    return [predicate for predicate in predicates if truths_by_regions([predicate]) is None]


def _equals_two_texts(predicates: Iterable[Expression]) -> bool:
    """Return whether two predicates compare one attribute with different texts by `=`."""
    texts: dict[Attribute, str] = {}
    for predicate in predicates:
        match predicate:
            case ex.Binary(ex.Operator.EQ, Attribute() as read, ex.Literal(value=str(text))):
                if texts.setdefault(read, text) != text:
                    return True
    return False


def contradictory(predicates: Iterable[Expression]) -> bool:
    """Return whether no event satisfies all predicates: what asks for them never matches.

    >>> from elsinore.model.expression import Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> contradictory([low, high]), contradictory([low])
    (True, False)
    """
    return _contradictory(frozenset(predicates))


@functools.lru_cache(maxsize=KNOWN_ANSWERS)
def _contradictory(predicates: frozenset[Expression]) -> bool:
    return not satisfiable(predicates)


def satisfiable_truths(predicates: Sequence[Expression]) -> tuple[frozenset[Expression], ...]:
    """Return every set of predicates that can be exactly those that are true of one event.

    Raises QuerySemanticError where there are more than `TRUTHS_LIMIT`.

    >>> from elsinore.model.expression import Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> flag = Attribute("A", "flag")
    >>> [len(true) for true in satisfiable_truths([low, flag])]
    [0, 1, 1, 2]
    """
    return _satisfiable_truths(tuple(predicates))


@functools.lru_cache(maxsize=KNOWN_ANSWERS)
def _satisfiable_truths(predicates: tuple[Expression, ...]) -> tuple[frozenset[Expression], ...]:
    combined: list[frozenset[Expression]] = [frozenset()]
    for part in independent(predicates):
        truths = truths_by_regions(part)
        truths = _truths_by_solver(part) if truths is None else truths
        _refuse_too_many(len(combined) * len(truths), len(predicates))
        combined = [left | right for left, right in itertools.product(combined, truths)]
    return tuple(combined)


def independent(predicates: Iterable[Expression]) -> list[list[Expression]]:
    """Return the predicates in groups, those that read a common attribute together."""
    groups: list[tuple[set[object], list[Expression]]] = []
    for predicate in predicates:
        reads: set[object] = {
            node for node in ex.walk(predicate) if isinstance(node, Attribute | Column)
        }
        members: list[Expression] = []
        apart: list[tuple[set[object], list[Expression]]] = []
        for read, group in groups:
            if read & reads:
                reads |= read
                members += group
            else:
                apart.append((read, group))
        groups = [*apart, (reads, [*members, predicate])]
    return [group for _, group in groups]


def _possible(
    part: Sequence[Expression], wanted: frozenset[Expression], unwanted: frozenset[Expression]
) -> bool:
    truths = truths_by_regions(part)
    in_part = frozenset(part)
    if truths is not None:
        return (wanted & in_part) in truths
    return not _refuted(wanted & in_part) and Question(part).possible(
        wanted & in_part, unwanted & in_part
    )


def _refuted(true: Iterable[Expression]) -> bool:
    """Return whether regions show that some conditions cannot all be true.

    Of the terms of conjunctions, those are looked at that compare an attribute with constants: the
    type of an event tells apart what is asked of others.
    """
    terms = {term for predicate in true for term in ex.conjuncts(predicate)}
    settled = sorted((t for t in terms if truths_by_regions([t]) is not None), key=repr)
    truths = truths_by_regions(settled)
    return truths is not None and frozenset(settled) not in truths


def _truths_by_solver(part: Sequence[Expression]) -> tuple[frozenset[Expression], ...]:
    """Decide one predicate after another, keeping to what is possible so far."""
    question = Question(part)
    splits: list[tuple[frozenset[Expression], frozenset[Expression]]] = [(frozenset(), frozenset())]
    for predicate in part:
        added = frozenset({predicate})
        splits = [
            (true, false)
            for old_true, old_false in splits
            for true, false in ((old_true, old_false | added), (old_true | added, old_false))
            if not _refuted(true) and question.possible(true, false)
        ]
        _refuse_too_many(len(splits), len(part))
    return tuple(true for true, _ in splits)


def _refuse_too_many(count: int, predicates: int) -> None:
    if count > TRUTHS_LIMIT:
        raise QuerySemanticError(
            f"{predicates} predicates on one event type tell more than {TRUTHS_LIMIT} kinds of "
            "its events apart. Use fewer different predicates on the type."
        )
