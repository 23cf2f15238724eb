"""Streaming composition: the values of one query are the items of the next (`f >> g`)."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.query import Query
from elsinore.quantitative.runnable import Runnable


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pipeline(Runnable):
    """Queries one after another; at the top only, so no rate is asked for."""

    stages: tuple[Query, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake in a query that can be run."""
        return tuple(text for stage in self.stages for text in stage.warnings)

    def __str__(self) -> str:
        return " >> ".join(map(str, self.stages))

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.stages))


def pipeline(*parts: object) -> Pipeline:
    """Return the queries one after another."""
    stages: list[Query] = []
    for part in parts:
        if isinstance(part, Pipeline):
            stages += part.stages
        elif isinstance(part, Query):
            stages.append(part)
        else:
            raise QuerySemanticError(f"f >> g takes queries, not {part!r}.")
    return Pipeline(tuple(stages))


def stages_of(query: Runnable) -> tuple[Query, ...]:
    """Return the queries of a pipeline, or the one query itself."""
    if isinstance(query, Pipeline):
        return query.stages
    if isinstance(query, Query):
        return (query,)
    raise QuerySemanticError(f"{query!r} is neither a query nor a pipeline of queries.")
