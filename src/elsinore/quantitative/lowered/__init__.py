"""Machines compiled to machine code, if all of a query's functions can be.

A walk over the query (`machine.walk`) writes source (`emit`), in which a state is words of memory,
values that grow lie in a heap, items come from columns, and values go into columns. A query that
cannot be compiled runs in Python with the same results, and `explain` names the function that
stands in the way.
"""

from elsinore.quantitative.lowered.functions import CannotCompile
from elsinore.quantitative.lowered.memory import Memory
from elsinore.quantitative.lowered.program import (
    Lowered,
    as_item_type,
    check_conditions,
    is_kept,
    kept_machine,
    lowered,
    reasons,
    value_of,
    why_not,
)
from elsinore.quantitative.lowered.texts import Texts
from elsinore.quantitative.lowered.whole import fits

__all__ = [
    "CannotCompile",
    "Lowered",
    "Memory",
    "Texts",
    "as_item_type",
    "check_conditions",
    "fits",
    "is_kept",
    "kept_machine",
    "lowered",
    "reasons",
    "value_of",
    "why_not",
]
