"""Determinization by the subset construction: from an Nfa to a Dfa of the same language."""

from __future__ import annotations

import itertools

from elsinore.automata.dfa import Dfa
from elsinore.automata.nfa import Nfa
from elsinore.automata.symbols import Letter
from elsinore.errors import QuerySemanticError

STATE_LIMIT = 4096  # subsets of states; there may be 2^n


def determinize(
    nfa: Nfa, alphabet: tuple[Letter, ...] | None = None, *, limit: int = STATE_LIMIT
) -> Dfa:
    """Return the deterministic automaton of the same language, without dead states.

    `alphabet` is at least as fine as the automaton's own letters, which are the default. Raises
    QuerySemanticError if more than `limit` states are needed.

    >>> from elsinore.automata.nfa import Transition
    >>> from elsinore.automata.symbols import Symbol
    >>> a = Symbol("A")
    >>> either = Nfa(3, (Transition(0, a, 1), Transition(0, a, 2)), frozenset({1, 2}))
    >>> determinize(either).states
    2
    """
    alphabet = nfa.letters() if alphabet is None else alphabet
    useful = nfa.trim()
    successors = nfa.table(alphabet)
    first = frozenset({0})
    numbers = {first: 0}
    moves: dict[tuple[int, Letter], int] = {}
    for subset in (order := [first]):  # grows during the iteration
        for letter in alphabet:
            reached = (successors[letter][state] for state in subset)
            target = useful.intersection(itertools.chain.from_iterable(reached))
            if not target:
                continue
            if target not in numbers:
                if len(numbers) >= limit:
                    raise QuerySemanticError(
                        f"The pattern is so ambiguous that a deterministic automaton needs more "
                        f"than {limit} states. Simplify it, or make its types or predicates "
                        "exclude one another."
                    )
                numbers[target] = len(numbers)
                order.append(target)
            moves[numbers[subset], letter] = numbers[target]
    accepting = frozenset(n for subset, n in numbers.items() if subset & nfa.accepting)
    return Dfa(len(numbers), alphabet, moves, accepting).trimmed()
