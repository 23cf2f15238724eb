"""Machines compiled to machine code, where all of a query's functions can be.

The walk over a query is the one that writes the interpreter's source (`machine.emit`); here a state
is words of memory, what grows lies in a heap, items come from columns, and values go into columns.
What cannot be compiled is told with the function that stands in the way, and runs in Python with
the same results.
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
