"""Symbolic automata over events: what patterns, negation and rates are decided with."""

from elsinore.automata.ambiguity import Ambiguity, ambiguity
from elsinore.automata.determinize import determinize
from elsinore.automata.dfa import Dfa
from elsinore.automata.minimize import minimize
from elsinore.automata.nfa import Nfa, Transition
from elsinore.automata.positions import Positions, glushkov
from elsinore.automata.product import (
    difference,
    disjoint,
    equivalent,
    intersection,
    shortest_word,
    union,
)
from elsinore.automata.satisfiable import satisfiable
from elsinore.automata.symbols import Letter, Symbol, letters

__all__ = [
    "Ambiguity",
    "Dfa",
    "Letter",
    "Nfa",
    "Positions",
    "Symbol",
    "Transition",
    "ambiguity",
    "determinize",
    "difference",
    "disjoint",
    "equivalent",
    "glushkov",
    "intersection",
    "letters",
    "minimize",
    "satisfiable",
    "shortest_word",
    "union",
]
