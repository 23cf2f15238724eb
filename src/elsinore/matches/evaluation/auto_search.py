"""One match query evaluated as it is cheapest: by paths, or on the fly where that rules out much.

Both go depth first through partial matches. By paths only those that can be completed as far as
types and neighbours tell; on the fly those of the events that early filters leave. What that comes
to is estimated for each batch, from main runs of some beginnings (`expected`): partial matches, and
the events of the window, which both look at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsinore.kernels import enter, is_compiling
from elsinore.matches import keyed as ky
from elsinore.matches.arrays import Doubles, Ints, Rules
from elsinore.matches.evaluation import expected as xp
from elsinore.matches.evaluation.possible import ON_THE_FLY, PATHS
from elsinore.matches.evaluation.postponed_search import PostponedSearch
from elsinore.matches.evaluation.statistics import QueryStatistics
from elsinore.matches.found import Found
from elsinore.matches.interpret import STACK
from elsinore.matches.kernel_search import EVENT_SECONDS
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER, QuerySearch
from elsinore.matches.template import MatchTemplate
from elsinore.plan.classes import Classes

BEGINNINGS = 64  # that are looked at, of a batch
KEYS = 16
NEW_ROWS = 1 << 16  # of a key
FEW = 1_000  # events
MARGIN = 1.2  # on the fly is worth it where it is expected to be so much cheaper


class AutoSearch(QuerySearch):
    """The search of one query that has conditions which early filters may look at."""

    def __init__(
        self,
        template: MatchTemplate,
        classes: Classes,
        layout: Layout,
        size: int,
        statistics: QueryStatistics,
    ) -> None:
        super().__init__(template, classes, layout, size)
        self.statistics = statistics
        counted = QueryStatistics(template.query.name, ON_THE_FLY)
        self._on_the_fly = PostponedSearch(template, classes, layout, size, counted)

    def learn(self, codes: list[int], numbers: list[int]) -> None:
        """Take in classes that came for the first time."""
        super().learn(codes, numbers)
        self._on_the_fly.learn(codes, numbers)

    def matches(
        self, operands: Operands, keys: Ints, *, window: tuple[int, int, int], limit: int
    ) -> Iterator[Found]:
        """Yield the matches among the rows of `keys`, in pieces (see `QuerySearch.matches`)."""
        self._on_the_fly.tables.set_texts(operands)
        prices = self._prices(operands, keys, window)
        is_early = False
        if prices:
            early, late = prices[ON_THE_FLY], prices[PATHS]
            is_early = MARGIN * early < late
            self.statistics.estimates = prices
            self.statistics.evaluation = ON_THE_FLY if is_early else PATHS
        paths = super().matches(operands, keys, window=window, limit=limit)
        on_the_fly = self._on_the_fly.matches(operands, keys, window=window, limit=limit)
        if is_compiling():  # what another batch may need
            for _ in paths if is_early else on_the_fly:
                pass
        yield from on_the_fly if is_early else paths
        self.statistics.take(self._on_the_fly.statistics)

    def _prices(
        self, operands: Operands, keys: Ints, window: tuple[int, int, int]
    ) -> dict[str, float]:
        """Return what a beginning costs by each evaluation, in steps; nothing where none is new."""
        some = keys[np.linspace(0, len(keys) - 1, min(KEYS, len(keys))).astype(np.int64)]
        some[:, ky.END_ROW] = np.minimum(some[:, ky.END_ROW], some[:, ky.NEW_ROW] + NEW_ROWS)
        lengths = some[:, ky.END_ROW] - some[:, ky.FIRST_ROW]
        search = self._on_the_fly
        room = search.room
        room.for_rows(int(lengths.max(initial=0)))
        flags = search.ready(operands, int(lengths.max(initial=0)))
        progress = search.begun(window, ANY_NUMBER)
        stack: Doubles = np.zeros(STACK + 2 * len(self.template.states))
        prices: Doubles = np.zeros(5)
        rows = int(lengths.sum())
        most = BEGINNINGS if rows > FEW else BEGINNINGS // 4
        prices[xp.WANTED] = most
        negatives = np.zeros((0, 0), dtype=np.int64)
        rules = Rules(search.tables.constants, negatives, stack, search.whole_stack)
        enter(
            xp.price, EVENT_SECONDS * most * min(rows, FEW), search.tables.integers, rules,
            operands.values, some, room.events, progress, search.main_run(flags), room.registers,
            1 + rows // (16 * most), prices,
        )  # fmt: skip
        if prices[xp.BEGINNINGS] == 0.0:
            return {}
        events, early, late = (
            float(prices[entry] / prices[xp.BEGINNINGS])
            for entry in (xp.IN_WINDOW, xp.PARTIAL_EARLY, xp.PARTIAL_LATE)
        )
        return {
            PATHS: events + late,
            ON_THE_FLY: events + early,
        }
