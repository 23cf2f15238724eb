"""Which units the engine runs, and the templates that it runs them by."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from elsinore.plan import Path, TrendUnit
from elsinore.plan.merged import merge_templates
from elsinore.plan.stored import stored
from elsinore.plan.template import Template
from elsinore.trends.counted import as_guarded


def engine_unit(unit: TrendUnit) -> TrendUnit | None:
    """Return a unit with templates that the engine runs, or None if there are none."""
    if "engine" not in unit.kept:
        unit.kept["engine"] = _engine_unit(unit)
    return cast("TrendUnit | None", unit.kept["engine"])


def _engine_unit(unit: TrendUnit) -> TrendUnit | None:
    if unit.exact or unit.path is Path.COARSE:
        return None if unit.exact else unit
    guarded = as_guarded(unit).guarded if unit.path is Path.SHARED else unit.guarded
    templates = tuple(map(stored, guarded))
    if any(isinstance(template, str) for template in templates):
        return None
    found = cast("tuple[Template, ...]", templates)
    return replace(
        unit, path=Path.COARSE, templates=found, guarded=(), merged=merge_templates(found)
    )
