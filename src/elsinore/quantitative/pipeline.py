"""Streaming composition: the values of one query are the items of the next (`f >> g`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.query import Keyed, Query, running

if TYPE_CHECKING:
    from elsinore.quantitative.stream import Stream


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """Queries one after another; at the top only, so no rate is asked for."""

    stages: tuple[Query, ...]

    def __rshift__(self, after: Query | Pipeline) -> Pipeline:
        return pipeline(self, after)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake in a query that can be run."""
        return tuple(text for stage in self.stages for text in stage.warnings)

    def start(self) -> Stream:
        """Return a stream at its beginning, to push items into."""
        from elsinore.quantitative.stream import Stream  # noqa: PLC0415 - it knows the nodes

        return Stream.of(self)

    def load(self, state: bytes) -> Stream:
        """Return a stream that goes on where one of this pipeline was saved."""
        from elsinore.quantitative.stream import Stream  # noqa: PLC0415

        return Stream.load(self, state)

    def run(
        self,
        data: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        compiled: bool | None = None,
        **options: Any,
    ) -> Any:
        """Return the values over the events in `data`, as `Query.run` does."""
        return running(data).run(self, data, time=time, type=type, compiled=compiled, **options)

    def by(self, *attributes: str) -> Keyed:
        """Return the pipeline run apart for each value of some attributes."""
        return Keyed(self, attributes)

    def explain(self, format: str = "text") -> str:  # noqa: A002 - the word for it
        """Return the expression trees with rates, as "text", "mermaid" or "svg"."""
        from elsinore.quantitative.explain import explain  # noqa: PLC0415

        return explain(self, format)

    def __str__(self) -> str:
        return " >> ".join(map(str, self.stages))


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


def stages_of(query: Query | Pipeline) -> tuple[Query, ...]:
    """Return the queries of a pipeline, or the one query itself."""
    return query.stages if isinstance(query, Pipeline) else (query,)
