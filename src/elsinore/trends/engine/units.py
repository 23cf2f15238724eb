"""Which units the engine runs, and the templates that it runs them by.

All but EXACT and what `elsinore.plan.stored` gives a reason against: conditions, NOT and strategies
in ambiguous patterns, NOT at an edge of a pattern under NOT, and trends with several anchors.
`elsinore.trends.sets` has these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pyarrow as pa

from elsinore.plan import Path, TrendUnit
from elsinore.plan.trends import stored_unit
from elsinore.trends.engine.bounds import is_range

Types = Mapping[str, pa.DataType]  # of the attributes that conditions between events read


def engine_unit(unit: TrendUnit, types: Types | None = None) -> TrendUnit | None:
    """Return a unit with templates that the engine runs, or None if there are none.

    types: None before any event has come.
    """
    if unit.exact or unit.path is Path.SETS:
        return None
    if types is None or unit.path is Path.COARSE:
        return unit
    place = "engine", tuple(sorted(map(str, types.items())))
    if place not in unit.kept:
        unit.kept[place] = stored_unit(unit, lambda cut: is_range(cut, types))
    return cast("TrendUnit", unit.kept[place])
