"""Which items change nothing, wherever a machine stands: they need not be given to it.

An item of which predicates hold that no waiting thread asks for in a way that matters, such as the
bids that `(Person | Bid)*` goes over, leaves flags and values as they are and calls no function.
This is found by running the machine itself on marks in place of values, from every set of flags
that it can come to.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np

from elsinore.quantitative.machine.keys import Program

MOST_BITS = 8  # predicates; all their combinations are tried
MOST_STEPS = 20_000  # of the machine, in search of what it can come to
FUNCTION = re.compile(r"f\d+\w+")
TEST = re.compile(r"p\d+")


class _Calls:
    """Notes that a function was called; returns a mark."""

    def __init__(self) -> None:
        self.count = 0
        self.truth = False

    def function(self, *_: Any) -> object:
        self.count += 1
        return object()

    def test(self, _: Any) -> bool:
        self.count += 1
        return self.truth


def idle_bits(program: Program, predicates: int) -> Any:
    """Return, for each combination of predicates' bits, whether such items change nothing.

    None where there are too many to tell, or where items are kept by key.
    """
    if program.keyed or predicates > MOST_BITS or not program.variables:
        return None
    calls = _Calls()
    names = dict(program.run.__globals__)
    for name in names:
        if FUNCTION.fullmatch(name):
            names[name] = calls.function
        elif TEST.fullmatch(name):
            names[name] = calls.test
    exec(program.code, names)
    step = names["step"]
    flags = [place for place, name in enumerate(program.variables) if "_" not in name]
    atom_of = [program.variables.index(name.partition("_")[0]) for name in program.variables]
    state, _, _ = program.begin()
    first = tuple(bool(state[place]) for place in flags)
    idle = np.ones(1 << predicates, bool)
    seen, pending, steps = {first}, [first], 0
    while pending:
        active = dict(zip(flags, pending.pop(), strict=True))
        marks = tuple(
            active[place] if place in active else (object() if active[atom_of[place]] else None)
            for place in range(len(program.variables))
        )
        for bits, calls.truth in itertools.product(range(1 << predicates), (False, True)):
            steps += 1
            if steps > MOST_STEPS:
                return None
            calls.count = 0
            after, has, _ = step(marks, object(), bits, 0)
            if after is None:
                after = tuple(False if place in active else None for place in range(len(marks)))
            alive = tuple(bool(after[place]) for place in flags)
            kept = all(
                bool(after[place]) == active[place]
                if place in active
                else after[place] is mark or not active[atom_of[place]]
                for place, mark in enumerate(marks)
            )
            if has or calls.count or not kept:
                idle[bits] = False
            if alive not in seen:
                seen.add(alive)
                pending.append(alive)
    return idle
