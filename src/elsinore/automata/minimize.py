"""Minimization: the least Dfa of a language, by partition refinement (Moore 1956)."""

from __future__ import annotations

from elsinore.automata.dfa import Dfa


def minimize(dfa: Dfa) -> Dfa:
    """Return the deterministic automaton of the same language with the fewest states.

    States are numbered breadth first, so languages over one alphabet are equal if and only if their
    least automata are.

    >>> from elsinore.automata.symbols import Letter
    >>> a = Letter("A")
    >>> minimize(Dfa(3, (a,), {(0, a): 1, (1, a): 2, (2, a): 2}, frozenset({1, 2}))).states
    2
    """
    dfa = dfa.trimmed()
    blocks = {state: int(state in dfa.accepting) for state in range(dfa.states)}
    count = 0
    while True:
        block_numbers: dict[object, int] = {}
        new_blocks = {}
        for state in range(dfa.states):
            targets = (dfa.moves.get((state, letter)) for letter in dfa.alphabet)
            signature = (blocks[state], *(None if t is None else blocks[t] for t in targets))
            new_blocks[state] = block_numbers.setdefault(signature, len(block_numbers))
        blocks = new_blocks
        if len(block_numbers) == count:
            break
        count = len(block_numbers)
    moves = {(blocks[state], letter): blocks[to] for (state, letter), to in dfa.moves.items()}
    accepting = frozenset(blocks[state] for state in dfa.accepting)
    return Dfa(count, dfa.alphabet, moves, accepting).trimmed()
