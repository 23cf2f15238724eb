"""Machines compiled to machine code, where all of a query's functions can be.

The source is the one that the interpreter runs (`machine.emit`); here the variables of a state are
fields of a record, items come from columns, and values go into columns. What cannot be compiled is
told with the function that stands in the way, and runs in Python with the same results.
"""

from elsinore.quantitative.lowered.functions import CannotCompile
from elsinore.quantitative.lowered.program import Lowered, kept_machine, lowered, value_of, why_not
from elsinore.quantitative.lowered.whole import fits

__all__ = ["CannotCompile", "Lowered", "fits", "kept_machine", "lowered", "value_of", "why_not"]
