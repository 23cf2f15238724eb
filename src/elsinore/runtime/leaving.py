"""Why a quantitative query has no value over a table: where its events leave the query's rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.automata import Nfa
from elsinore.quantitative.machine.predicates import Bits
from elsinore.quantitative.regex import Predicate, automaton, predicates, written
from elsinore.quantitative.runnable import Runnable
from elsinore.runtime.streams import bits
from elsinore.words import count

LOOKED_AT = 10_000  # events of the first stream
SHOWN = 5  # predicates that could have gone on


def why_no_value(query: Runnable, table: pa.Table, codes: Any, named: Sequence[str]) -> str | None:
    """Return where the table's first stream leaves the query's rate, and what would have gone on.

    Row i is of the stream `codes[i]`; an event is shown by its columns `named`. None where there
    are no events, where 10,000 of them do not tell, and where predicates in plain Python would have
    to be asked.
    """
    rate = query.stages[0].rate
    leaves = predicates(rate)
    if not table.num_rows or any(leaf.tests for leaf in leaves):
        return None
    stream = table.filter(to_arrow(codes == codes[0]))
    rows = stream.slice(0, LOOKED_AT)
    nfa = automaton(rate)
    states = [0]
    for row, truth in enumerate(bits(Bits(leaves, ()), rows).tolist()):
        symbols = {leaf.symbol for place, leaf in enumerate(leaves) if truth >> place & 1}
        moves = [move for state in states for move in nfa.outgoing(state)]
        after = sorted({move.target for move in moves if move.symbol in symbols})
        if not moves:  # the rate never matches, which is told without events
            return None
        if not after:
            event = rows.slice(row, 1).select(list(dict.fromkeys(named))).to_pylist()[0]
            shown = ", ".join(f"{name}={value}" for name, value in event.items())
            begins = f"goes on with {_next(nfa, states, leaves)} after {count(row, 'event')}"
            if row == 0:
                begins = f"begins with {_next(nfa, states, leaves)}"
            return (
                f"The query has no value over these events: its rate {written(rate)} {begins}, and "
                f"event {row:,} (counted from 0) is none such: {shown}. A stream that has left "
                "its rate never comes back. Filter events before, or let the rate take them too."
            )
        states = after
    if stream.num_rows > rows.num_rows or nfa.accepting & set(states):
        return None
    return (
        f"The query has no value over these events: they are the beginning of its rate "
        f"{written(rate)}, which would have to go on with {_next(nfa, states, leaves)}."
    )


def _next(nfa: Nfa, states: Iterable[int], leaves: Sequence[Predicate]) -> str:
    """Return what the rate takes in some states, in words."""
    symbols = {move.symbol for state in states for move in nfa.outgoing(state)}
    names = [written(leaf) for leaf in leaves if leaf.symbol in symbols]
    if len(names) > SHOWN:
        names[SHOWN:] = [f"{len(names) - SHOWN} others"]
    return " or ".join(names)
