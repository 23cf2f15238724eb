"""Options of planning and running: sharing, granularity, uncertainty, readers, ends of streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeVar

from elsinore.errors import ElsinoreError, did_you_mean
from elsinore.model.clock import Clock


class Sharing(Enum):
    """Which bursts of events are processed once for several queries; results are the same."""

    DYNAMIC = "dynamic"  # those with a benefit, decided burst by burst (HAMLET, Section 4)
    ALWAYS = "always"
    NEVER = "never"


class Granularity(Enum):
    """Whether the state consists of sums over events, or of events."""

    AUTO = "auto"  # sums, unless a predicate compares single predecessors (COGRA)
    FINE = "fine"  # every event, in a graph (GRETA); the regime of the paper's figures


HIGH = "elsinore:high"  # the column with an uncertain time's end, in ticks
LAW = "elsinore:law"  # the column with the probabilities of its times, if events have them


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """The distribution of uncertain times over an interval.

    Possible times are `step` ticks apart and equally probable; or, with `weights`, as many as
    these, at equal distances from the first to the last. Types in `by_type` have other weights.
    With `by_event`, the column `LAW` has the weights of each event, null if they are equal.
    With `sets`, the order of events that no condition relates does not matter.
    """

    step: int = 1
    weights: tuple[float, ...] = ()
    by_type: tuple[tuple[str, tuple[float, ...]], ...] = ()
    by_event: bool = False
    sets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The user's options for planning; `exact`: integers of any size.

    `aggregates` are Python's classes (or objects) that match queries may name; `attributes` those
    of events, if known, for lists of whole events; `uncertain` the distribution of uncertain times;
    `clock` has the unit of times.
    """

    granularity: Granularity = Granularity.AUTO
    exact: bool = False
    aggregates: Mapping[str, object] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    uncertain: Uncertainty | None = None
    clock: Clock | None = None


class Combine(Enum):
    """Whether Spark's tasks combine a key's events of a pane before they are shuffled."""

    AUTO = "auto"  # where files' statistics show that no other task has events then, and it pays
    ALWAYS = "always"  # wherever it can be done, whatever it costs
    NEVER = "never"


class Scan(Enum):
    """Who reads files on Spark: Spark itself, the tasks that pack their events, or as it pays."""

    AUTO = "auto"
    SPARK = "spark"
    ARROW = "arrow"


class End(Enum):
    """Whether more events may follow a run's last event."""

    CLOSED = "closed"  # no: every window has passed at the end
    OPEN = "open"  # yes: only what is final at the last event's time is returned


SharingName = Literal["dynamic", "always", "never"]
GranularityName = Literal["auto", "fine"]
CombineName = Literal["auto", "always", "never"]
ScanName = Literal["auto", "spark", "arrow"]
EndName = Literal["closed", "open"]

Mode = TypeVar("Mode", bound=Enum)


def mode_named(modes: type[Mode], name: str, kind: str) -> Mode:
    """Return a mode by its name. Raises ElsinoreError with all names for an unknown one.

    >>> mode_named(Sharing, "never", "sharing")
    <Sharing.NEVER: 'never'>
    """
    names = [mode.value for mode in modes]
    if name not in names:
        raise ElsinoreError(
            f"Unknown {kind} {name!r}.{did_you_mean(str(name), names)} Choices: {', '.join(names)}."
        )
    return modes(name)
