"""Determinization: from an Nfa to the Dfa of the same language, by subsets of states."""

from __future__ import annotations

from elsinore.automata.dfa import Dfa
from elsinore.automata.nfa import Nfa
from elsinore.automata.symbols import Letter
from elsinore.errors import QuerySemanticError

STATE_LIMIT = 4096  # subsets of states, of which there may be 2^n


def determinize(nfa: Nfa, alphabet: tuple[Letter, ...] | None = None) -> Dfa:
    """Return the deterministic automaton of the same language; states that lead nowhere left out.

    Raises QuerySemanticError where it would have more than `STATE_LIMIT` states.
    """
    known = nfa.letters() if alphabet is None else alphabet
    useful = nfa.trim()
    numbers = {frozenset({0}): 0}
    pending = [frozenset({0})]
    moves: dict[tuple[int, Letter], int] = {}
    while pending:
        subset = pending.pop()
        for letter in known:
            target = nfa.step(subset, letter) & useful
            if not target:
                continue
            if target not in numbers:
                if len(numbers) >= STATE_LIMIT:
                    raise QuerySemanticError(
                        f"The pattern is so ambiguous that telling its trends apart takes more "
                        f"than {STATE_LIMIT} states. Simplify it, or make its types or "
                        "predicates exclude one another."
                    )
                numbers[target] = len(numbers)
                pending.append(target)
            moves[numbers[subset], letter] = numbers[target]
    accepting = frozenset(n for subset, n in numbers.items() if subset & nfa.accepting)
    return Dfa(len(numbers), known, moves, accepting)
