"""Merging bisimilar states: a smaller automaton of the same language and ambiguity.

States are bisimilar if both or neither accept and their transitions lead to bisimilar states by the
same symbols. Runs through classes of states correspond to runs through the states, and different
runs stay different, so an unambiguous automaton stays unambiguous.
"""

from __future__ import annotations

from elsinore.automata.nfa import Nfa, Transition


def merge_bisimilar(nfa: Nfa) -> Nfa:
    """Return the automaton without useless states, with bisimilar states merged.

    >>> from elsinore.automata.symbols import Symbol
    >>> a = Symbol("A")
    >>> moves = Transition(0, a, 1), Transition(1, a, 2), Transition(2, a, 2)
    >>> loop = Nfa(3, moves, frozenset({1, 2}))
    >>> merge_bisimilar(loop).states
    2
    """
    nfa = nfa.trimmed()
    blocks = [int(state in nfa.accepting) for state in range(nfa.states)]
    count = len(set(blocks))
    while True:
        signatures = [
            (
                blocks[state],
                frozenset((move.symbol, blocks[move.target]) for move in nfa.outgoing(state)),
            )
            for state in range(nfa.states)
        ]
        numbers: dict[object, int] = {}
        for signature in signatures:  # state 0 first, so that its block is block 0
            numbers.setdefault(signature, len(numbers))
        blocks = [numbers[signature] for signature in signatures]
        if len(numbers) == count:
            break
        count = len(numbers)
    moves = dict.fromkeys(
        Transition(blocks[move.source], move.symbol, blocks[move.target])
        for move in nfa.transitions
    )
    return Nfa(count, tuple(moves), frozenset(blocks[state] for state in nfa.accepting))
