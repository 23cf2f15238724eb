"""From queries to plans: what the engines run and `explain` tells."""

from elsinore.plan.bind import bind
from elsinore.plan.explain import explain_json, explain_mermaid, explain_svg, explain_text
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.merged import MergedTemplate
from elsinore.plan.modes import Granularity, Sharing
from elsinore.plan.paths import Path
from elsinore.plan.plan import Plan, Unit, plan
from elsinore.plan.template import Template, template

__all__ = [
    "Granularity",
    "GuardedTemplate",
    "MergedTemplate",
    "Path",
    "Plan",
    "Sharing",
    "Template",
    "Unit",
    "bind",
    "explain_json",
    "explain_mermaid",
    "explain_svg",
    "explain_text",
    "plan",
    "template",
]
