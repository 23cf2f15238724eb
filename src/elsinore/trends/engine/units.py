"""Which units the engine runs, and the templates that it runs them by.

All but EXACT and what `elsinore.plan.stored` gives a reason against: conditions, NOT and strategies
in ambiguous patterns, NOT at an edge of a pattern under NOT, and trends with several anchors.
`elsinore.trends.sets` has these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pyarrow as pa

from elsinore.plan import Path, TrendUnit
from elsinore.plan.assembly import guarded_template
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.merged import merge_templates
from elsinore.plan.stored import Negatives, stored
from elsinore.plan.template import Cut, Template
from elsinore.trends.engine.bounds import is_range

Types = Mapping[str, pa.DataType]  # of the attributes that conditions between events read


def engine_unit(unit: TrendUnit, types: Types | None = None) -> TrendUnit | None:
    """Return a unit with templates that the engine runs, or None if there are none.

    types: None before any event has come.
    """
    place = "engine", None if types is None else tuple(sorted(map(str, types.items())))
    if place not in unit.kept:
        unit.kept[place] = _engine_unit(unit, types)
    return cast("TrendUnit | None", unit.kept[place])


def _engine_unit(unit: TrendUnit, types: Types | None) -> TrendUnit | None:
    if unit.exact or unit.path is Path.COARSE:
        return None if unit.exact else unit
    negatives = Negatives()
    members: list[Template | GuardedTemplate] = list(unit.members)
    for place, template in enumerate(unit.templates):
        if any(move.adjacent is not None for move in template.transitions):
            members[place] = guarded_template(template.query)

    def can_be_ordered(cut: Cut) -> bool:
        return types is None or is_range(cut, types)

    templates = [
        member if isinstance(member, Template) else stored(member, negatives, can_be_ordered)
        for member in members
    ]
    if any(isinstance(template, str) for template in templates):
        return None
    found = cast("list[Template]", templates)
    merged = merge_templates(found, negatives.templates(can_be_ordered))
    return replace(unit, path=Path.COARSE, templates=tuple(found), guarded=(), merged=merged)
