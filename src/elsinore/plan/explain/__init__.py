"""What `explain` says about trend queries, and pictures of merged templates."""

from elsinore.plan.explain.graph import TemplateGraph, template_graph
from elsinore.plan.explain.mermaid import mermaid
from elsinore.plan.explain.svg import svg

__all__ = [
    "TemplateGraph",
    "mermaid",
    "svg",
    "template_graph",
]
