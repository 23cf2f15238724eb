# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""How many partial matches there are to go through, as far as main runs tell: the price of a query.

Of some beginnings main runs are made, with early filters and without. The events that one took make
a graph: its paths from the beginning are counted, as if every predicate held that is postponed.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Registers, Rules, Values
from elsinore.matches.evaluation.counters import EARLY
from elsinore.matches.evaluation.main_run import OUT, MainRun, take_all
from elsinore.matches.interpret import STACK
from elsinore.matches.reach import ALIVE, LAST_BIT, MASK, NEXT_AT, TAKES, WHEN
from elsinore.matches.search import BEGIN, EDGE_AT, LAST, SEGMENT, STATES, UNTO
from elsinore.matches.select import clear_registers
from elsinore.matches.windows import events_of_key, leave_key, next_window

MOST = 1e15  # partial matches: more are not told apart
# Entries of `prices`: beginnings, events of their windows, partial matches with early filters, and
# without; how many beginnings are enough.
BEGINNINGS, IN_WINDOW, PARTIAL_EARLY, PARTIAL_LATE, WANTED = range(5)


@kernel(borrows=True)
def price(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    events: Ints,
    progress: Ints,
    run: MainRun,
    registers: Registers,
    stride: int,
    prices: Doubles,
) -> None:
    """Add up what every `stride`-th beginning comes to, prices[WANTED] of them at most.

    `stack` has room for the paths of each state, behind that of conditions.
    """
    clear_registers(tables, rules, registers)
    seen = 0
    while progress[SEGMENT] < len(keys):
        count = events_of_key(tables, values.integers, keys, events, progress)
        if not next_window(tables, values.integers, keys, events, count, progress):
            leave_key(progress)
            continue
        while progress[BEGIN] <= progress[UNTO]:
            if events[progress[BEGIN], MASK] & tables[tables[NEXT_AT]] == 0:
                progress[BEGIN] += 1
                continue
            if seen % stride == 0:
                prices[BEGINNINGS] += 1.0
                prices[IN_WINDOW] += progress[LAST] - progress[BEGIN] + 1
                for early in range(2):
                    progress[EARLY] = early
                    taken = take_all(tables, rules, values, events, progress, run, registers)
                    paths = partial_matches(tables, run, taken, rules.stack)
                    prices[PARTIAL_EARLY if early == 1 else PARTIAL_LATE] += paths
                if prices[BEGINNINGS] >= prices[WANTED]:
                    return
            seen += 1
            progress[BEGIN] += 1


@kernel(borrows=True)
def partial_matches(tables: Ints, run: MainRun, count: int, stack: Doubles) -> float:
    """Return how many paths there are from the first member through others that lead to an end."""
    states = tables[STATES]
    for state in range(2 * states):
        stack[STACK + state] = 0.0  # paths that end in a state: by now, and at the moment
    total = 0.0
    at = 0
    while at < count:
        moment, begin = run.members[at, WHEN], at
        while at < count and run.members[at, WHEN] == moment:
            listed = run.members[at, TAKES]
            for place in range(listed + 1, listed + 1 + tables[listed]):
                target = tables[place]
                if (run.members[at, ALIVE] >> min(target, LAST_BIT)) & 1 == 0:
                    continue
                paths = 0.0
                if begin == 0 and tables[tables[EDGE_AT] + target] >= 0:
                    paths = 1.0
                for source in range(states):
                    edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
                    if edge < 0 or stack[STACK + source] == 0.0 or run.labels[at, edge] == OUT:
                        continue
                    paths += stack[STACK + source]
                stack[STACK + states + target] += paths
                total += paths
            at += 1
        for state in range(states):
            stack[STACK + state] = min(stack[STACK + state] + stack[STACK + states + state], MOST)
            stack[STACK + states + state] = 0.0
    return min(total, MOST)
