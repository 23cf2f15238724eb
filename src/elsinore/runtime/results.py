"""Results of a run: a table per query, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from elsinore.errors import did_you_mean
from elsinore.trends import OperatorStatistics

Frame = TypeVar("Frame")


@dataclass(frozen=True, slots=True)
class Results(Mapping[str, Frame], Generic[Frame]):
    """A mapping from a query's name to its result.

    `rejected` holds the events that could not be used, with a `reject_reason`, where the run was
    allowed to go on without them; `statistics` has an entry per unit of the plan
    (none on Spark, where operators run in many places).
    """

    tables: Mapping[str, Frame]
    rejected: Frame | None = None
    statistics: tuple[OperatorStatistics, ...] = ()
    find_warnings: Callable[[], tuple[str, ...]] = tuple

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what may be a mistake, such as a type that never occurs.

        On Spark this looks at the types of all events.
        """
        return self.find_warnings()

    def __getitem__(self, name: str) -> Frame:
        try:
            return self.tables[name]
        except KeyError:
            names = ", ".join(self.tables)
            raise KeyError(
                f"No query '{name}'.{did_you_mean(name, self.tables)} Queries: {names}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)
