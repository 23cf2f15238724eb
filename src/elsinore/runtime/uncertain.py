"""Options of uncertain times, converted to ticks, and the interval of each event's possible times.

Either two columns have the first and the last possible time of each event, or the times of event
types have a granularity: an event happened within that duration before its reported time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError, QuerySyntaxError, did_you_mean, kind_of_value, option
from elsinore.language import parse_duration
from elsinore.model.clock import Clock
from elsinore.plan.modes import Uncertainty

SUM_TOLERANCE = 1e-9  # for probabilities, which users write with few digits


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainTimes:
    """The user's description of events' possible times.

    With `high`, a column or SQL expression of the last possible time, `RunOptions.time` is the
    first. Otherwise `RunOptions.time` is the last, and `granularity` has pairs of a type (None: all
    other types) and the length of the interval that ends there. `step`, `weights` (by type:
    `weights_by_type`) and `sets` are those of `elsinore.plan.modes.Uncertainty`; `law` is a column
    or SQL expression with a distribution for each event.
    """

    high: str | None = None
    granularity: tuple[tuple[str | None, Length], ...] = ()
    step: Length | None = None
    weights: tuple[float, ...] = ()
    weights_by_type: tuple[tuple[str, tuple[float, ...]], ...] = ()
    law: str | None = None
    sets: bool = False

    def uncertainty(self, clock: Clock) -> Uncertainty:
        """Return the engine's options, in ticks of a clock."""
        step = self.step if self.step is not None else Length(Fraction(1_000_000), bare=True)
        ticks = step.ticks(clock, "time_step")
        return Uncertainty(
            step=ticks,
            weights=self.weights,
            by_type=self.weights_by_type,
            by_event=self.law is not None,
            sets=self.sets,
        )

    def shifts(self, clock: Clock) -> tuple[dict[str, int], int]:
        """Return the lengths of events' intervals in ticks: by type, and for all other types."""
        step = self.uncertainty(clock).step
        lengths = {
            kind: max(length.ticks(clock, "time_granularity") - step, 0)
            for kind, length in self.granularity
        }
        of_other_types = lengths.pop(None, 0)
        return {str(kind): length for kind, length in lengths.items()}, of_other_types


@dataclass(frozen=True, slots=True)
class Length:
    """A duration in microseconds; `bare` marks a number without a unit, parsed as seconds."""

    microseconds: Fraction
    bare: bool = False

    def ticks(self, clock: Clock, name: str) -> int:
        """Return the duration in ticks; a bare number counts in the unit of numeric times.

        Raises InputError, naming the option `name`, unless it is a positive number of ticks.
        """
        scale = Fraction(clock.per_microsecond)
        if self.bare:
            scale *= Fraction(clock.number or 1_000_000_000, 1_000_000_000)
        ticks = self.microseconds * scale
        if ticks < 1 or ticks.denominator != 1:
            raise InputError(
                f"{option(name)}: the precision of times is a "
                f"{'microsecond' if clock.per_microsecond == 1 else 'nanosecond'} here."
            )
        return int(ticks)


def uncertain_times(
    *,
    interval: Sequence[str] | None,
    granularity: str | Mapping[str, str] | None,
    step: str | float | None,
    distribution: str | Sequence[float] | Mapping[str, Sequence[float]] | None,
    sets: bool = False,
) -> UncertainTimes | None:
    """Check the options of uncertain times and combine them; return None if none is set.

    Raises InputError for options that contradict or require one another, and for invalid values.
    """
    if interval is None and granularity is None:
        for name, value in (
            ("time_step", step),
            ("time_distribution", distribution),
            ("time_sets", sets or None),
        ):
            if value is not None:
                raise InputError(
                    f"{option(name)} is about uncertain times: say which they are with "
                    f"{option('time_interval')} or {option('time_granularity')}."
                )
        return None
    if interval is not None and granularity is not None:
        raise InputError(
            f"{option('time_interval')} and {option('time_granularity')} both say when events may "
            "have happened. Give one of them."
        )
    if interval is not None and (isinstance(interval, str) or len(interval) != 2):
        raise InputError(
            f"{option('time_interval')} takes two columns or SQL expressions: the first and the "
            "last possible time."
        )
    by_type = {None: granularity} if isinstance(granularity, str | int) else granularity or {}
    return UncertainTimes(
        high=interval[1] if interval is not None else None,
        granularity=tuple(
            (kind, _length(text, "time_granularity")) for kind, text in by_type.items()
        ),
        step=None if step is None else _length(step, "time_step"),
        weights=() if isinstance(distribution, Mapping | str) else _weights(distribution),
        weights_by_type=tuple((kind, _weights(values)) for kind, values in distribution.items())
        if isinstance(distribution, Mapping)
        else (),
        law=distribution if isinstance(distribution, str) else None,
        sets=sets,
    )


def _length(length: object, name: str) -> Length:
    try:
        value, bare = parse_duration(str(length))
    except QuerySyntaxError:
        raise InputError(
            f"{option(name)} takes a length of time, such as '15 seconds', not "
            f"{kind_of_value(length)}."
        ) from None
    return Length(value, bare)


def _weights(probabilities: Sequence[float] | None) -> tuple[float, ...]:
    if probabilities is None:
        return ()
    name = option("time_distribution")
    weights = tuple(float(weight) for weight in probabilities)
    if not weights or any(not 0.0 <= weight <= 1.0 for weight in weights):
        raise InputError(f"{name} takes probabilities, each from 0 to 1.")
    total = math.fsum(weights)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(f"{name}: the probabilities add up to {total:.9g}, not to 1.")
    return tuple(weight / total for weight in weights)


def refuse_misspelt_types(times: UncertainTimes, types: Collection[str]) -> None:
    """Raise InputError for an option about a type that resembles one of the queries' `types`.

    Options about other unknown types have no effect: other queries may name these types.
    """
    for name, option_types in (
        ("time_granularity", [kind for kind, _ in times.granularity if kind is not None]),
        ("time_distribution", [kind for kind, _ in times.weights_by_type]),
    ):
        free = sorted(set(types) - set(option_types))
        for kind in option_types:
            suggestion = "" if kind in types else did_you_mean(kind, free)
            if suggestion:
                raise InputError(f"{option(name)}: no query names the type '{kind}'.{suggestion}")


def bounds(
    times: UncertainTimes, ticks: pa.Array, high: pa.Array | None, types: pa.Array, clock: Clock
) -> tuple[pa.Array, pa.Array]:
    """Return the first and the last possible time of each event, in ticks.

    `ticks` are the times of `RunOptions.time`, `high` those of the column of last times, if any.
    """
    if high is not None:
        return ticks, high
    by_type, of_other_types = times.shifts(clock)
    shift: NDArray[np.int64] = np.full(len(ticks), of_other_types, dtype=np.int64)
    for kind, length in by_type.items():
        of_kind = pc.fill_null(pc.equal(types, kind), to_scalar(False))
        shift[to_numpy(of_kind)] = length
    return pc.subtract(ticks, to_arrow(shift)), ticks
