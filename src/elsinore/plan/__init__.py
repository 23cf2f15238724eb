"""From queries to plans: what the engines run and `explain` shows."""

from elsinore.plan.merged import MergedTemplate
from elsinore.plan.modes import Granularity, PlanOptions, Sharing
from elsinore.plan.paths import Path
from elsinore.plan.template import Template
from elsinore.plan.trends import TrendUnit, plan_trends
from elsinore.plan.unit import Carried, Partition, Plan, Travel, Unit, partition_of

__all__ = [
    "Carried",
    "Granularity",
    "MergedTemplate",
    "Partition",
    "Path",
    "Plan",
    "PlanOptions",
    "Sharing",
    "Template",
    "Travel",
    "TrendUnit",
    "Unit",
    "partition_of",
    "plan_trends",
]
