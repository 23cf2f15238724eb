"""Warnings about possible mistakes in runs that completed, as sentences for users."""

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
from elsinore.operators.planning import query_warnings
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
    """Queries have no rows; the warning contains possible reasons."""


def absent_types(plan: Plan, event_types: Sequence[str]) -> tuple[str, ...]:
    """Return a warning for each query that names types without events.

    `event_types` are the types of the events, the most frequent first.
    """
    names = [query.name for query in plan.workload]
    absent = first_few(_absent(plan, event_types, names), "name types that no event has")
    return absent + missing_commas(plan.workload, set(event_types))


def first_few(sentences: Iterable[str], what: str) -> tuple[str, ...]:
    """Return the first sentences about queries, and a last one with the number of further ones.

    >>> first_few(["a", "b"], "are odd"), first_few(map(str, range(500)), "are odd")[-1]
    (('a', 'b'), '490 more queries are odd.')
    """
    all_sentences = tuple(sentences)
    if len(all_sentences) <= SHOWN_SENTENCES + 1:
        return all_sentences
    return (
        *all_sentences[:SHOWN_SENTENCES],
        f"{len(all_sentences) - SHOWN_SENTENCES:,} more queries {what}.",
    )


def _absent(plan: Plan, event_types: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Yield the warnings of `absent_types` for the queries of these names."""
    present = set(event_types)
    selected_names = set(names)
    type_names = ", ".join(map(shown_name, event_types[:SEEN_TYPES])) or "none"
    further = f" and {len(event_types) - SEEN_TYPES} more" if len(event_types) > SEEN_TYPES else ""
    for unit in plan.units:
        for name, types_of_query in zip(unit.names, unit.types_of, strict=True):
            absent = sorted(set(types_of_query) - present) if name in selected_names else []
            if absent:
                missing = " or ".join(map(shown_name, absent))
                yield (
                    f"{called(name)}: no event has type {missing}."
                    f"{_suggestion(absent, event_types)} Types seen: {type_names}{further}."
                )


def _suggestion(absent: Sequence[str], event_types: Sequence[str]) -> str:
    """Return a question that suggests types with similar names, or "".

    >>> _suggestion(["Travl"], ["Travel"]), _suggestion(["A", "Travl", "Pol"], ["Travel", "Pool"])
    (" Did you mean 'Travel'?", " Did you mean 'Travel' for Travl, 'Pool' for Pol?")
    """
    if len(absent) == 1:
        return did_you_mean(absent[0], event_types)
    near = ((name, nearest_choice(name, event_types)) for name in absent)
    choices = ", ".join(f"'{choice}' for {shown_name(name)}" for name, choice in near if choice)
    return f" Did you mean {choices}?" if choices else ""


def warn_of_no_rows(
    plan: Plan,
    empty: frozenset[str],
    find_types: Callable[[], Sequence[str] | None],
    odd: Iterable[str] = (),
) -> None:
    """Issue one NoRowsWarning with possible reasons why the queries `empty` have no rows.

    Reasons are types without events, conditions that no event satisfies, and `odd`, warnings about
    times. `find_types` returns the types of the events, the most frequent first, or None if they
    are unknown. Users who see an empty result may not know of `results.warnings`; the command line
    prints those, so nothing is issued there.
    """
    if not empty or is_on_the_command_line():
        return
    types = find_types()
    absent = () if not types else _absent(plan, types, empty)
    sentences = list(itertools.chain(absent, odd, query_warnings(plan, empty)))
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
    """Return a warning of simultaneous events (`elsinore.operators.ties`), or nothing.

    `statistics` has those of each unit's operators, None if they are unknown.
    """
    numbers = []
    for unit, unit_statistics in zip(units, statistics, strict=True):
        if unit_statistics is not None and unit_statistics.tied:
            types = kind_for(unit).tied_types(unit)
            names = [name for name, some in zip(unit.names, types, strict=True) if some]
            numbers.append(f"{count(unit_statistics.tied, 'event')} of {query_names_text(names)}")
    if not numbers:
        return ()
    sentence = (
        f"{listed(numbers, SHOWN_QUERIES)} have the same time as another event of the same key "
        "that the pattern names, and neither precedes the other. If they have an order, name the "
        f"column that has it: {option('order_by', 'COLUMN')}."
    )
    return (sentence,)


def query_names_text(names: Sequence[str]) -> str:
    """Return some queries' names for a message, at most `SHOWN_QUERIES`.

    >>> query_names_text(["q"]), query_names_text(["q", "r"])
    ('query q', 'queries q, r')
    """
    if len(names) == 1:
        return called(names[0])
    further = f" and {len(names) - SHOWN_QUERIES} more" if len(names) > SHOWN_QUERIES else ""
    return f"queries {', '.join(names[:SHOWN_QUERIES])}{further}"


def warn_of_ties(sentences: Iterable[str]) -> None:
    """Issue warnings of simultaneous events, except on the command line, which prints them."""
    if is_on_the_command_line():
        return
    for sentence in sentences:
        warnings.warn(sentence, SimultaneousEventsWarning, stacklevel=_calls_within())


def always_null(plan: Plan, is_null: Callable[[str], bool]) -> Iterator[str]:
    """Yield a warning for each query that requires an attribute that is null in all events.

    `is_null` returns whether an attribute is known to be null in all events.
    """
    for unit in plan.units:
        for attribute in filter(is_null, unit.required):
            for name in unit.names:
                yield (
                    f"{called(name)}: '{attribute}' is null in every event, and "
                    f"[{attribute}] matches no null."
                )


def _calls_within() -> int:
    """Return the stack level, from the caller, of the first frame outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_own(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "elsinore"


def missing_commas(queries: Iterable[Query], event_types: Collection[str]) -> tuple[str, ...]:
    """Return a warning for each variable that has the name of an event type.

    `SEQ(login error)` is one event with the variable error; `SEQ(login, error)` may be meant.
    """
    return tuple(
        f"{called(query.name)}: '{event.variable}' in '{event.type} {event.variable}' is a "
        "variable, but events have such a type too. Is a comma missing?"
        for query in queries
        for event in dict.fromkeys(pt.events(query.pattern))
        if event.variable != event.type and event.variable in event_types
    )


def finer_times(latest: int, kind: TimeKind, options: RunOptions) -> tuple[str, ...]:
    """Return a warning if numeric times are implausibly late and probably in a finer unit.

    `latest` is the latest time in ticks. The unit matters only if the length of a window has a
    unit, as bare numbers after WITHIN count in the same unit.
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


def types_by_frequency(types: pa.Array) -> list[str]:
    """Return the types that events have, the most frequent first.

    >>> types_by_frequency(pa.array(["A", "B", None, "B"]))
    ['B', 'A']
    """
    type_counts = pc.value_counts(types.drop_null()).to_pylist()
    type_counts.sort(key=lambda entry: -entry["counts"])
    return [str(entry["values"]) for entry in type_counts]


def counts_of(query: Query) -> dict[str, ReturnItem]:
    """Return the columns of a query's result that count, by name."""
    return {
        column_name(item): item
        for item in query.returns
        if isinstance(item.expression, Call) and item.expression.name == "COUNT"
    }


def overflown_columns(query: Query, table: pa.Table) -> list[str]:
    """Return the columns of counts in a result that overflowed a double."""
    return [
        name
        for name in counts_of(query)
        if name in table.column_names
        and pa.types.is_floating(table.schema.field(name).type)
        and pc.any(pc.is_inf(table.column(name))).as_py()
    ]


def overflow(queries: Iterable[Query], overflown: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return one warning of counts that overflowed a double, or nothing.

    `overflown` has the overflowed columns of each query, by its name.
    """
    overflown_queries = [query for query in queries if overflown.get(query.name)]
    if not overflown_queries:
        return ()
    names = [query.name for query in overflown_queries]
    column = counts_of(overflown_queries[0])[next(iter(overflown[names[0]]))]
    exact = "--exact" if is_on_the_command_line() else "exact=True"
    warning = (
        f"{query_names_text(names)}: {render(column.expression)} goes beyond a double's range, "
        f"1.8e308, and is infinity there. LOG2(COUNT(*)) returns its binary logarithm, "
        f"{exact} all digits."
    )
    return (warning,)
