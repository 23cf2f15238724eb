"""Options of the command line for events' times: column, unit and uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elsinore.cli.console import ArgumentError

if TYPE_CHECKING:
    from elsinore.runtime.times import TimeUnit
    from elsinore.runtime.uncertain import UncertainTimes

UNCERTAIN = ("time_interval", "time_granularity", "time_step", "time_distribution", "time_sets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The options `--time` and `--time-...`; events are ordered by the column `time`.

    With `interval`, that is its first column.
    """

    time: str = "time"
    unit: TimeUnit = "s"
    interval: tuple[str, str] | None = None
    granularity: str | Mapping[str, str] | None = None
    step: str | None = None
    distribution: str | tuple[float, ...] | Mapping[str, tuple[float, ...]] | None = None
    sets: bool = False

    @classmethod
    def from_options(
        cls,
        time: str,
        unit: TimeUnit,
        interval: str | None,
        granularity: Sequence[str] | None,
        step: str | None,
        distribution: Sequence[str] | None,
        sets: bool = False,
    ) -> Times:
        """Parse the options; raise ArgumentError for invalid values.

        >>> Times.from_options("time", "s", "first, last", None, None, ["1,2,1"]).distribution
        (1.0, 2.0, 1.0)
        """
        columns = None if interval is None else _interval(interval)
        return cls(
            time=columns[0] if columns else time,
            unit=unit,
            interval=columns,
            granularity=_granularity(granularity) if granularity else None,
            step=step,
            distribution=_distribution(distribution) if distribution else None,
            sets=sets,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """The equivalent arguments of `Workload.run`."""
        return {
            "time": self.time,
            "time_unit": self.unit,
            "time_interval": self.interval,
            "time_granularity": self.granularity,
            "time_step": self.step,
            "time_distribution": self.distribution,
            "time_sets": self.sets,
        }

    @property
    def uncertain(self) -> UncertainTimes | None:
        """The options of uncertain times; raise InputError for contradictory ones."""
        from elsinore.runtime.uncertain import uncertain_times  # noqa: PLC0415 - loads Arrow

        return uncertain_times(
            interval=self.interval,
            granularity=self.granularity,
            step=self.step,
            distribution=self.distribution,
            sets=self.sets,
        )


def _interval(text: str) -> tuple[str, str]:
    first, comma, last = (part.strip() for part in text.partition(","))
    if not (first and comma and last) or "," in last:
        raise ArgumentError(
            f"--time-interval takes two columns, as in --time-interval first,last; not '{text}'."
        )
    return first, last


def _granularity(texts: Sequence[str]) -> str | dict[str, str]:
    return _by_type(texts, "--time-granularity")


def _distribution(
    texts: Sequence[str],
) -> str | tuple[float, ...] | dict[str, tuple[float, ...]]:
    """Return probabilities, probabilities by type, or the column of events' distributions."""
    values_by_type = _by_type(texts, "--time-distribution")
    if isinstance(values_by_type, str):
        is_number = any(part.strip()[:1] in "+-.0123456789" for part in values_by_type.split(","))
        return _weights(values_by_type) if is_number else values_by_type
    return {kind: _weights(weights) for kind, weights in values_by_type.items()}


def _by_type(texts: Sequence[str], option: str) -> str | dict[str, str]:
    """Return the value for all types, or the values by type: TYPE=..."""
    pairs = [text.rpartition("=") for text in texts]
    whole = [value for _, equals, value in pairs if not equals]
    if len(whole) > 1 or (whole and len(pairs) > 1):
        raise ArgumentError(f"{option} is given once for all types, or type by type.")
    return whole[0].strip() if whole else {kind.strip(): value.strip() for kind, _, value in pairs}


def _weights(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentError(
            f"--time-distribution takes numbers with commas between, not '{text}'."
        ) from None
