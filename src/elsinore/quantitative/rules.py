"""The type rules of queries, with a shortest sequence of items as a witness of a violation.

(StreamQRE, Figure 1 and Observation 2; Remark 3 for witnesses.) All are decided in polynomial time
on symbolic automata of the rates, which are unambiguous because the parts follow the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from elsinore.automata import (
    Cuts,
    Letter,
    Word,
    ambiguous_concatenation,
    ambiguous_iteration,
    contradictory,
    disjoint,
    undecided,
    unmodelled,
)
from elsinore.automata.unambiguous import differing, outside
from elsinore.errors import QuerySemanticError
from elsinore.language import render
from elsinore.model import expression as ex
from elsinore.quantitative.rate_automaton import automaton
from elsinore.quantitative.regex import (
    ANY,
    ITEM,
    TYPE,
    Predicate,
    Regex,
    predicates,
    seq,
)

EMPTY_WORD = "()"  # how the empty sequence is written


class RateError(QuerySemanticError):
    """A query whose rates break a type rule.

    `rule` is the combinator of the rule, `expression` the sub-expression as text, and `witness` a
    shortest sequence of items that breaks the rule, by the names of the query's predicates.
    """

    def __init__(self, message: str, *, rule: str, expression: str, witness: str) -> None:
        super().__init__(message)
        self.rule, self.expression, self.witness = rule, expression, witness

    def within(self, expression: str) -> RateError:
        """Return the error of a part as that of an expression."""
        message = f"{expression}: {str(self).removeprefix(f'{self.expression}: ')}"
        return RateError(message, rule=self.rule, expression=expression, witness=self.witness)


def _error(
    rule: str, expression: str, word: Iterable[Letter], leaves: Sequence[Predicate], text: str
) -> RateError:
    """Return the error; `text` has `{}` for the witness, and predicates are described after it."""
    witness = write_word(word, leaves)
    message = f"{expression}: {text.replace('{}', witness)}{_reason(leaves)}"
    return RateError(message, rule=rule, expression=expression, witness=witness)


def _ambiguous(
    rule: str, expression: str, cuts: Cuts, leaves: Sequence[Predicate], text: str
) -> RateError:
    """Return the error for a word that can be cut in two ways."""
    first, second = (_cut(parts, leaves) for parts in cuts.parts())
    text = f"{text} is not always clear: '{{}}' is {first} or {second}."
    return _error(rule, expression, cuts.word, leaves, text)


def check_concatenable(expression: str, rates: Sequence[Regex]) -> None:
    """Raise RateError unless a sequence can be cut into parts of the rates in one way only."""
    automata = [automaton(rate) for rate in rates]
    last = automata[-1]
    for place in range(len(rates) - 2, -1, -1):
        cuts = ambiguous_concatenation(automata[place], last)
        if cuts is not None:
            after = " ".join(f"({rate})" for rate in rates[place + 1 :])
            text = f"where part {place + 1}, {rates[place]}, ends and {after} begins"
            raise _ambiguous("split", expression, cuts, _leaves(rates), text)
        if place:
            last = automaton(seq(*rates[place:]))


def check_iterable(expression: str, rate: Regex) -> None:
    """Raise RateError unless a sequence can be cut into parts of the rate in one way only."""
    nfa = automaton(rate)
    if 0 in nfa.accepting:
        text = (
            f"the rate {rate} contains the empty sequence, so that a sequence has any number of "
            "parts. Iterate a query that matches at least one item."
        )
        raise _error("iterate", expression, (), (), text)
    cuts = ambiguous_iteration(nfa)
    if cuts is not None:
        text = f"where one part of {rate} ends and the next begins"
        raise _ambiguous("iterate", expression, cuts, _leaves([rate]), text)


def check_disjoint(expression: str, rates: Sequence[Regex]) -> None:
    """Raise RateError if two of the rates have a sequence in common."""
    automata = [automaton(rate) for rate in rates]
    for second, right in enumerate(automata):
        for first, left in enumerate(automata[:second]):
            word = disjoint(left, right)
            if word is not None:
                leaves = _leaves(rates)
                may_match, may_be = ("may ", "may not be") if _reason(leaves) else ("", "are not")
                text = (
                    f"parts {first + 1} and {second + 1} {may_match}both match '{{}}', so their "
                    f"rates {rates[first]} and {rates[second]} {may_be} disjoint."
                )
                raise _error("either", expression, word, leaves, text)


def check_equivalent(expression: str, rates: Sequence[Regex]) -> None:
    """Raise RateError unless all rates denote the same set of sequences."""
    first = automaton(rates[0])
    for place, rate in enumerate(rates[1:], start=2):
        if rate == rates[0]:
            continue
        word = differing(first, automaton(rate))
        if word is not None:
            matching, other = (1, place) if first.accepts(word) else (place, 1)
            text = (
                f"part {matching} matches '{{}}' and part {other} does not; the rates "
                f"{rates[0]} and {rate} differ."
            )
            raise _error("combine", expression, word, _leaves(rates), text)


def check_contained(expression: str, rate: Regex, whole: Regex) -> None:
    """Raise RateError unless every sequence of `rate` is one of `whole`."""
    word = outside(automaton(rate), automaton(whole))
    if word is not None:
        text = (
            "the query of each key matches '{}', at which nothing is collected: its rate "
            f"{rate} is not contained in {whole}."
        )
        raise _error("map_collect", expression, word, _leaves([rate, whole]), text)


def never(regex: Regex) -> str | None:
    """Return the reason why no sequence matches a rate, None if some do."""
    if automaton(regex).accepting:
        return None
    dead = [leaf.name for leaf in predicates(regex) if leaf.symbol.is_unsatisfiable()]
    why = f"no item satisfies {' or '.join(dead)}" if dead else "its parts exclude one another"
    return f"the rate {regex} never matches: {why}"


def write_word(word: Iterable[Letter], leaves: Sequence[Predicate]) -> str:
    """Return a word as text: for each item the names of the predicates that it satisfies.

    Predicates that follow from another named one are left out.
    """
    return " ".join(_name(letter, leaves) for letter in word) or EMPTY_WORD


def _name(letter: Letter, leaves: Sequence[Predicate]) -> str:
    true = [leaf for leaf in leaves if leaf != ANY and leaf.symbol.holds(letter)]
    named: list[Predicate] = []
    for leaf in true:
        if not any(_within(other, leaf) for other in named):
            named = [other for other in named if not _within(leaf, other)] + [leaf]
    if len(named) == 1:
        return str(named[0])
    if named:
        return f"({' & '.join(map(str, named))})"
    types = [leaf.name for leaf in leaves if leaf != ANY and _is_type(leaf)]
    return f"~({' | '.join(types)})" if types else ANY.name


def _within(leaf: Predicate, wider: Predicate) -> bool:
    """Return whether every item that satisfies one predicate satisfies the other."""
    unless = ex.Binary(ex.Operator.OR, ex.Not(wider.condition), ex.IsNull(wider.condition))
    return contradictory([leaf.condition, unless])


def _is_type(leaf: Predicate) -> bool:
    match leaf.condition:
        case ex.Binary(ex.Operator.EQ, ex.Attribute(variable, name), _):
            return variable == ITEM and name == TYPE
    return False


def _cut(parts: Iterable[Word], leaves: Sequence[Predicate]) -> str:
    return " · ".join(f"[{write_word(part, leaves)}]" if part else "[]" for part in parts) or "[]"


def _leaves(rates: Iterable[Regex]) -> tuple[Predicate, ...]:
    return tuple(dict.fromkeys(leaf for rate in rates for leaf in predicates(rate)))


def _reason(leaves: Iterable[Predicate]) -> str:
    """Return sentences on predicates that are not known exactly: the rule may be kept in fact."""
    reasons: list[str] = []
    unsolved = undecided(leaf.condition for leaf in leaves if not leaf.tests)
    if unsolved:
        reasons.append(
            f"Nothing is known of {', '.join(sorted(map(render, unsolved)))} without z3, which "
            "compares conditions of arithmetic or of two attributes: "
            "pip install 'elsinore[solver]'"
        )
    if opaque := [leaf.name for leaf in leaves if leaf.tests]:
        reasons.append(
            f"Nothing is known of {', '.join(opaque)}, written in plain Python: a condition on "
            "attributes, as in event('M').val > 5, can be compared with others."
        )
    unknown = {render(part) for leaf in leaves for part in unmodelled(leaf.condition)}
    if unknown:
        reasons.append(
            f"Of {', '.join(sorted(unknown))} it is known only that equal items have equal values."
        )
    parts = [part for leaf in leaves for part in ex.walk(leaf.condition)]
    computed = {
        render(part)
        for part in parts
        if isinstance(part, ex.Binary) and part.operator.is_arithmetic
    }
    if computed - unknown:
        reasons.append(
            f"The values of {', '.join(sorted(computed - unknown))} are known up to rounding only. "
            "A condition on the attribute itself, or ~ of the other condition, is compared exactly."
        )
    return "".join(f" {reason}" for reason in reasons)
