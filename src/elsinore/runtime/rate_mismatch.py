"""Explaining why a quantitative query has no value: the first event that its rate excludes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.automata import Nfa
from elsinore.quantitative.machine.predicates import Bits
from elsinore.quantitative.rate_automaton import automaton
from elsinore.quantitative.regex import Predicate, predicates
from elsinore.quantitative.runnable import Runnable
from elsinore.runtime.predicate_bits import bits
from elsinore.words import count

EXAMINED = 10_000  # events of the first stream
SHOWN = 5  # predicates that would have matched


def why_no_value(
    query: Runnable, table: pa.Table, codes: Any, shown_columns: Sequence[str]
) -> str | None:
    """Return a message with the first event that does not match the query's rate.

    Row i belongs to stream `codes[i]`; the message contains the event's `shown_columns`. Return
    None if there are no events, if the first 10,000 events match, and if predicates are plain
    Python.
    """
    rate = query.stages[0].rate
    leaves = predicates(rate)
    if not table.num_rows or any(leaf.tests for leaf in leaves):
        return None
    stream = table.filter(to_arrow(codes == codes[0]))
    rows = stream.slice(0, EXAMINED)
    nfa = automaton(rate)
    states = [0]
    for row, truth in enumerate(bits(Bits(leaves, ()), rows).tolist()):
        symbols = {leaf.symbol for place, leaf in enumerate(leaves) if truth >> place & 1}
        moves = [move for state in states for move in nfa.outgoing(state)]
        after = sorted({move.target for move in moves if move.symbol in symbols})
        if not moves:  # the rate never matches, which is reported without events
            return None
        if not after:
            event = rows.slice(row, 1).select(list(dict.fromkeys(shown_columns))).to_pylist()[0]
            event_text = ", ".join(f"{name}={value}" for name, value in event.items())
            names = _expected_predicates(nfa, states, leaves)
            expected = f"continues with {names} after {count(row, 'event')}"
            if row == 0:
                expected = f"begins with {names}"
            return (
                f"The query has no value over these events: its rate {rate} {expected}, "
                f"but event {row:,} (counted from 0) does not match: {event_text}. No later event "
                "can match either. Filter such events out, or let the rate match them too."
            )
        states = after
    if stream.num_rows > rows.num_rows or nfa.accepting & set(states):
        return None
    return (
        f"The query has no value over these events: they match only the beginning of its rate "
        f"{rate}, which continues with {_expected_predicates(nfa, states, leaves)}."
    )


def _expected_predicates(nfa: Nfa, states: Iterable[int], leaves: Sequence[Predicate]) -> str:
    """Return the predicates that the rate expects in some states, in words."""
    symbols = {move.symbol for state in states for move in nfa.outgoing(state)}
    names = [str(leaf) for leaf in leaves if leaf.symbol in symbols]
    if len(names) > SHOWN:
        names[SHOWN:] = [f"{len(names) - SHOWN} others"]
    return " or ".join(names)
