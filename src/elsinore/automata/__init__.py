"""Symbolic automata over events, which decide questions about patterns, negation and rates."""

from elsinore.automata.ambiguity import Ambiguity, ambiguity
from elsinore.automata.determinize import determinize
from elsinore.automata.dfa import Dfa
from elsinore.automata.emptiness import is_empty, shortest_word
from elsinore.automata.minimize import minimize
from elsinore.automata.nfa import Nfa, Transition
from elsinore.automata.positions import Positions, glushkov
from elsinore.automata.product import difference, disjoint, equivalent, intersection, union
from elsinore.automata.satisfiable import contradictory, satisfiable, undecided
from elsinore.automata.solver import unmodelled
from elsinore.automata.splitting import Cuts, ambiguous_concatenation, ambiguous_iteration
from elsinore.automata.symbols import Letter, Symbol, Word, letters

__all__ = [
    "Ambiguity",
    "Cuts",
    "Dfa",
    "Letter",
    "Nfa",
    "Positions",
    "Symbol",
    "Transition",
    "Word",
    "ambiguity",
    "ambiguous_concatenation",
    "ambiguous_iteration",
    "contradictory",
    "determinize",
    "difference",
    "disjoint",
    "equivalent",
    "glushkov",
    "intersection",
    "is_empty",
    "letters",
    "minimize",
    "satisfiable",
    "shortest_word",
    "undecided",
    "union",
    "unmodelled",
]
