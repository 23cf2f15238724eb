"""What a query's functions read of items: as much as their code tells."""

from __future__ import annotations

import dis
from types import FunctionType
from typing import Any

from elsinore.quantitative.functions import Key, unit
from elsinore.quantitative.machine.layout import Layout
from elsinore.quantitative.nodes import Atom, MapCollect, Node
from elsinore.quantitative.regex import predicates


def attributes_read_of(node: Node) -> set[str] | None:
    """Return the attributes that a query's functions may read of items; None where it may be any.

    Those of conditions are not among them.
    """
    attributes: set[str] = set()
    functions: list[Any] = []
    for place in Layout(node).places:
        match place.node:
            case Atom(predicate, op):
                if op is None and place.value_is_read:
                    return None
                functions += [op] if op not in {None, unit} else []
                functions += [test for _, test in predicate.tests]
            case MapCollect(sync, key, body, over):
                if isinstance(key, Key):
                    attributes.add(key.attribute)
                else:
                    functions.append(key)
                functions += [t for leaf in (sync, *predicates(over)) for _, t in leaf.tests]
                inner = attributes_read_of(body)
                if inner is None:
                    return None
                attributes |= inner
    for function in functions:
        read = item_reads(function)
        if read is None:
            return None
        attributes |= read
    return attributes


def item_reads(function: Any) -> set[str] | None:
    """Return the attributes that a function of an item reads; None where it may read any.

    >>> item_reads(lambda m: m.value * m.weight) == {"value", "weight"}, item_reads(lambda m: [m])
    (True, None)
    """
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or code.co_argcount < 1:
        return None
    name = code.co_varnames[0]
    if name in code.co_cellvars:
        return None
    attributes: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for place, instruction in enumerate(instructions):
        if instruction.argval != name or not instruction.opname.endswith("_FAST"):
            if isinstance(instruction.argval, tuple) and name in instruction.argval:
                return None
            continue
        after = instructions[place + 1] if place + 1 < len(instructions) else None
        if instruction.opname != "LOAD_FAST" or after is None or after.opname != "LOAD_ATTR":
            return None
        attributes.add(after.argval)
    return attributes
