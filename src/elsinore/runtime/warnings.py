"""What may be a mistake in a run that was answered: sentences for its user."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import FrameType

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import (
    called,
    did_you_mean,
    is_on_the_command_line,
    nearest_choice,
    option,
    shown_name,
)
from elsinore.language import render
from elsinore.language.render import column_name
from elsinore.model import Query, ReturnItem
from elsinore.model import pattern as pt
from elsinore.model.clock import NANOSECONDS
from elsinore.model.expression import Call
from elsinore.operators import OperatorStatistics, kind_for
from elsinore.operators.planning import doubts
from elsinore.plan import Plan, Unit
from elsinore.runtime.options import RunOptions
from elsinore.runtime.times import TimeKind
from elsinore.words import count, listed

SEEN_TYPES = 12  # types listed in a warning
SHOWN_QUERIES = 3
SHOWN_SENTENCES = 10  # of one kind, about different queries
FAR = 100_000_000_000  # seconds: the year 5138
SECONDS_PER_YEAR = 31_556_952
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class NoRowsWarning(UserWarning):
    """What may be why a query has no rows."""


def absent_types(plan: Plan, seen: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each query that names types which no event has.

    `seen` are the types of the events, the most frequent first.
    """
    names = [query.name for query in plan.workload]
    absent = first_few(_absent(plan, seen, names), "name types that no event has")
    return absent + commas_left_out(plan.workload, set(seen))


def first_few(sentences: Iterable[str], what: str) -> tuple[str, ...]:
    """Return the first sentences about queries, and how many further queries do `what`.

    >>> first_few(["a", "b"], "are odd"), first_few(map(str, range(500)), "are odd")[-1]
    (('a', 'b'), '490 more queries are odd.')
    """
    every = tuple(sentences)
    if len(every) <= SHOWN_SENTENCES + 1:
        return every
    return (*every[:SHOWN_SENTENCES], f"{len(every) - SHOWN_SENTENCES:,} more queries {what}.")


def _absent(plan: Plan, seen: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Yield the sentences on the queries of these names."""
    there = set(seen)
    wanted = set(names)
    shown = ", ".join(map(shown_name, seen[:SEEN_TYPES])) or "none"
    further = f" and {len(seen) - SEEN_TYPES} more" if len(seen) > SEEN_TYPES else ""
    for unit in plan.units:
        for name, types_of_query in zip(unit.names, unit.types_of, strict=True):
            absent = sorted(set(types_of_query) - there) if name in wanted else []
            if absent:
                missing = " or ".join(map(shown_name, absent))
                yield (
                    f"{called(name)}: no event has type {missing}.{_meant(absent, seen)} "
                    f"Types seen: {shown}{further}."
                )


def _meant(absent: Sequence[str], seen: Sequence[str]) -> str:
    """Return which types that were seen may be meant by those that are absent, as a question.

    >>> _meant(["Travl"], ["Travel"]), _meant(["A", "Travl", "Pol"], ["Travel", "Pool"])
    (" Did you mean 'Travel'?", " Did you mean 'Travel' for Travl, 'Pool' for Pol?")
    """
    if len(absent) == 1:
        return did_you_mean(absent[0], seen)
    near = ((name, nearest_choice(name, seen)) for name in absent)
    meant = ", ".join(f"'{choice}' for {shown_name(name)}" for name, choice in near if choice)
    return f" Did you mean {meant}?" if meant else ""


def warn_of_no_rows(
    plan: Plan,
    empty: frozenset[str],
    find_types: Callable[[], Sequence[str] | None],
    odd: Iterable[str] = (),
) -> None:
    """Warn of what may be why queries have no rows, `empty`.

    They name types that no event has, or conditions that nothing satisfies; `find_types` gives the
    types of the events, the most frequent first, None where they are not known; `odd` is what is
    odd about the times. This is one warning for all queries: who looks at a result that has no rows
    may not know of `results.warnings`. The command line says it by itself.
    """
    if not empty or is_on_the_command_line():
        return
    types = find_types()
    absent = () if not types else _absent(plan, types, empty)
    sentences = list(itertools.chain(absent, odd, doubts(plan, empty)))
    if not sentences:
        return
    shown = " ".join(sentences[:SHOWN_QUERIES])
    further = len(sentences) - SHOWN_QUERIES
    more = f" And {count(further, 'reason')} more: results.warnings has all." if further > 0 else ""
    warnings.warn(f"No rows: {shown}{more}", NoRowsWarning, stacklevel=_calls_within())


class SimultaneousEventsWarning(UserWarning):
    """Events of one key and one pattern have equal times, and no order was given."""


def tied_events(
    units: Sequence[Unit], statistics: Iterable[OperatorStatistics | None]
) -> tuple[str, ...]:
    """Return a sentence on simultaneous events (`elsinore.operators.ties`); none if there are none.

    `statistics` has those of each unit's operators, None where they are unknown.
    """
    numbers = []
    for unit, counted in zip(units, statistics, strict=True):
        if counted is not None and counted.tied:
            types = kind_for(unit).tied_types(unit)
            names = [name for name, some in zip(unit.names, types, strict=True) if some]
            numbers.append(f"{count(counted.tied, 'event')} of {called_all(names)}")
    if not numbers:
        return ()
    sentence = (
        f"{listed(numbers, SHOWN_QUERIES)} have the same time as another event of the same key "
        "that the pattern names, and neither precedes the other. If they have an order, name the "
        f"column that has it: {option('order_by', 'COLUMN')}."
    )
    return (sentence,)


def called_all(names: Sequence[str]) -> str:
    """Return what a message calls some queries.

    >>> called_all(["q"]), called_all(["q", "r"])
    ('query q', 'queries q, r')
    """
    if len(names) == 1:
        return called(names[0])
    further = f" and {len(names) - SHOWN_QUERIES} more" if len(names) > SHOWN_QUERIES else ""
    return f"queries {', '.join(names[:SHOWN_QUERIES])}{further}"


def warn_of_ties(sentences: Iterable[str]) -> None:
    """Warn of simultaneous events; the command line does so itself."""
    if is_on_the_command_line():
        return
    for sentence in sentences:
        warnings.warn(sentence, SimultaneousEventsWarning, stacklevel=_calls_within())


def always_null(plan: Plan, is_null: Callable[[str], bool]) -> Iterator[str]:
    """Yield a sentence for each query whose events are to have a value that no event has.

    `is_null` says whether all events are known to have null in an attribute.
    """
    for unit in plan.units:
        for attribute in filter(is_null, unit.required):
            for name in unit.names:
                yield (
                    f"{called(name)}: '{attribute}' is null in every event, and "
                    f"[{attribute}] matches no null."
                )


def _calls_within() -> int:
    """Return how many calls above its caller the first is that this package did not make."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_own(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "elsinore"


def commas_left_out(queries: Iterable[Query], seen: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each variable with the name of another type of the events.

    `SEQ(login error)` is one event, called error, where `SEQ(login, error)` may be meant.
    """
    return tuple(
        f"{called(query.name)}: '{event.variable}' in '{event.type} {event.variable}' is a "
        "variable, but events have such a type too. Is a comma missing?"
        for query in queries
        for event in dict.fromkeys(pt.events(query.pattern))
        if event.variable != event.type and event.variable in seen
    )


def finer_times(latest: int, kind: TimeKind, options: RunOptions) -> tuple[str, ...]:
    """Return a sentence where numeric times are so far off that they must count a finer unit.

    `latest` is the latest, in ticks. Numbers after WITHIN count in that unit too where they are
    bare, so it matters only where a unit is written.
    """
    if not (kind.is_number and options.units_written):
        return ()
    second = options.clock.ticks_per("s")
    number = latest // second * NANOSECONDS["s"] // NANOSECONDS[kind.unit]
    finer = [unit for unit in UNIT_NAMES if NANOSECONDS[unit] < NANOSECONDS[kind.unit]]
    near = [unit for unit in finer if number * NANOSECONDS[unit] < FAR * NANOSECONDS["s"]]
    if latest < FAR * second or not near:
        return ()
    year = 1970 + latest // second // SECONDS_PER_YEAR
    warning = (
        f"times count {UNIT_NAMES[kind.unit]}, and so the latest is in the year {year:,}. If they "
        f"count {UNIT_NAMES[near[0]]}: {option('time_unit', near[0])}."
    )
    return (warning,)


def types_seen(types: pa.Array) -> list[str]:
    """Return the types that events have, the most frequent first.

    >>> types_seen(pa.array(["A", "B", None, "B"]))
    ['B', 'A']
    """
    counted = pc.value_counts(types.drop_null()).to_pylist()
    counted.sort(key=lambda entry: -entry["counts"])
    return [str(entry["values"]) for entry in counted]


def counts_of(query: Query) -> dict[str, ReturnItem]:
    """Return the columns of a query's result that count, by name."""
    return {
        column_name(item): item
        for item in query.returns
        if isinstance(item.expression, Call) and item.expression.name == "COUNT"
    }


def overflown_columns(query: Query, table: pa.Table) -> list[str]:
    """Return the counts of a result that went beyond a double's range."""
    return [
        name
        for name in counts_of(query)
        if name in table.column_names
        and pa.types.is_floating(table.schema.field(name).type)
        and pc.any(pc.is_inf(table.column(name))).as_py()
    ]


def overflow(queries: Iterable[Query], overflown: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return the one sentence on counts that left a double's range; none where none did.

    `overflown` has the columns of each query, by its name.
    """
    concerned = [query for query in queries if overflown.get(query.name)]
    if not concerned:
        return ()
    names = [query.name for query in concerned]
    first = counts_of(concerned[0])[next(iter(overflown[names[0]]))]
    exact = "--exact" if is_on_the_command_line() else "exact=True"
    warning = (
        f"{called_all(names)}: {render(first.expression)} goes beyond a double's range, 1.8e308, "
        f"and is infinity there. LOG2(COUNT(*)) returns its binary logarithm, {exact} all digits."
    )
    return (warning,)
