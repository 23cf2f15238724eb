"""Satisfiability of predicates over one event: which of them can be true together.

Predicates are grouped by the attributes they share, and groups are decided independently. Within a
group, comparisons with constants are decided exactly by regions (`regions`), others (arithmetic,
comparisons of two attributes) by the SMT solver z3 (`solver`) if it is installed. If neither
decides, the answer is "satisfiable": that costs work, never correctness.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence

from elsinore.automata.regions import truths_by_regions
from elsinore.automata.solver import SatisfiabilityCheck, z3_is_installed
from elsinore.errors import QuerySemanticError
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Column, Expression

CACHE_SIZE = 4096  # results; planning a query repeats the same checks
TRUTHS_LIMIT = 4096  # sets of true predicates of one type: there may be 2^n of n predicates


def satisfiable(true: Iterable[Expression], not_true: Iterable[Expression] = ()) -> bool:
    """Return whether some event makes all of `true` true and none of `not_true`.

    An unknown predicate, such as a comparison with null, counts as not true.

    >>> from elsinore.model.expression import Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GE, Attribute("A", "v"), Literal(3))
    >>> satisfiable([low, high]), satisfiable([low]), satisfiable([], [low, high])
    (False, True, True)
    """
    true_ones, false_ones = frozenset(true), frozenset(not_true)
    if true_ones & false_ones or _equals_two_texts(true_ones):
        return False
    everything = sorted(true_ones | false_ones, key=repr)
    return all(
        _group_satisfiable(group, true_ones, false_ones) for group in independent(everything)
    )


def undecided(predicates: Iterable[Expression]) -> list[Expression]:
    """Return the predicates that need z3 if it is not installed.

    Those are all but comparisons of one attribute with constants.
    """
    if z3_is_installed():
        return []
    return [predicate for predicate in predicates if truths_by_regions([predicate]) is None]


def _equals_two_texts(predicates: Iterable[Expression]) -> bool:
    """Return whether two predicates compare one attribute with different texts by `=`."""
    texts: dict[Attribute, str] = {}
    for predicate in predicates:
        match predicate:
            case ex.Binary(ex.Operator.EQ, Attribute() as attribute, ex.Literal(value=str(text))):
                if texts.setdefault(attribute, text) != text:
                    return True
    return False


def contradictory(predicates: Iterable[Expression]) -> bool:
    """Return whether no event satisfies all predicates.

    >>> from elsinore.model.expression import Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> contradictory([low, high]), contradictory([low])
    (True, False)
    """
    return _contradictory(frozenset(predicates))


@functools.lru_cache(maxsize=CACHE_SIZE)
def _contradictory(predicates: frozenset[Expression]) -> bool:
    return not satisfiable(predicates)


def satisfiable_truths(predicates: Sequence[Expression]) -> tuple[frozenset[Expression], ...]:
    """Return every subset of predicates that is exactly the true ones for some event.

    Raises QuerySemanticError if there are more than `TRUTHS_LIMIT`.

    >>> from elsinore.model.expression import Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> flag = Attribute("A", "flag")
    >>> [len(true) for true in satisfiable_truths([low, flag])]
    [0, 1, 1, 2]
    """
    return _satisfiable_truths(tuple(predicates))


@functools.lru_cache(maxsize=CACHE_SIZE)
def _satisfiable_truths(predicates: tuple[Expression, ...]) -> tuple[frozenset[Expression], ...]:
    combinations: list[frozenset[Expression]] = [frozenset()]
    for group in independent(predicates):
        truths = truths_by_regions(group)
        truths = _truths_by_solver(group) if truths is None else truths
        _refuse_too_many(len(combinations) * len(truths), len(predicates))
        combinations = [left | right for left, right in itertools.product(combinations, truths)]
    return tuple(combinations)


def independent(predicates: Iterable[Expression]) -> list[list[Expression]]:
    """Group predicates: those that share an attribute, directly or indirectly, are together."""
    groups: list[tuple[set[object], list[Expression]]] = []
    for predicate in predicates:
        reads: set[object] = {
            node for node in ex.walk(predicate) if isinstance(node, Attribute | Column)
        }
        members: list[Expression] = []
        disjoint_groups: list[tuple[set[object], list[Expression]]] = []
        for attributes_of_group, group in groups:
            if attributes_of_group & reads:
                reads |= attributes_of_group
                members += group
            else:
                disjoint_groups.append((attributes_of_group, group))
        groups = [*disjoint_groups, (reads, [*members, predicate])]
    return [group for _, group in groups]


def _group_satisfiable(
    group: Sequence[Expression], true_ones: frozenset[Expression], false_ones: frozenset[Expression]
) -> bool:
    truths = truths_by_regions(group)
    in_part = frozenset(group)
    if truths is not None:
        return (true_ones & in_part) in truths
    return not _refuted_by_regions(true_ones & in_part) and SatisfiabilityCheck(group).possible(
        true_ones & in_part, false_ones & in_part
    )


def _refuted_by_regions(true: Iterable[Expression]) -> bool:
    """Return whether regions show that predicates cannot all be true.

    Uses only the conjuncts that compare an attribute with constants.
    """
    terms = {term for predicate in true for term in ex.conjuncts(predicate)}
    decided_terms = sorted((t for t in terms if truths_by_regions([t]) is not None), key=repr)
    truths = truths_by_regions(decided_terms)
    return truths is not None and frozenset(decided_terms) not in truths


def _truths_by_solver(group: Sequence[Expression]) -> tuple[frozenset[Expression], ...]:
    """Enumerate truth assignments predicate by predicate, dropping unsatisfiable prefixes."""
    check = SatisfiabilityCheck(group)
    splits: list[tuple[frozenset[Expression], frozenset[Expression]]] = [(frozenset(), frozenset())]
    for predicate in group:
        extended = frozenset({predicate})
        splits = [
            (true, false)
            for old_true, old_false in splits
            for true, false in ((old_true, old_false | extended), (old_true | extended, old_false))
            if not _refuted_by_regions(true) and check.possible(true, false)
        ]
        _refuse_too_many(len(splits), len(group))
    return tuple(true for true, _ in splits)


def _refuse_too_many(count: int, predicates: int) -> None:
    if count > TRUTHS_LIMIT:
        raise QuerySemanticError(
            f"{predicates} predicates on one event type distinguish more than {TRUTHS_LIMIT} "
            "classes of its events. Use fewer different predicates on the type."
        )
