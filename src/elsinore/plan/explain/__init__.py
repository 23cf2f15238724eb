"""What `explain` says about trend queries, and pictures of merged templates."""

from elsinore.plan.explain.graph import TemplateGraph, template_graph
from elsinore.plan.explain.pictures import mermaid, svg

__all__ = ["TemplateGraph", "mermaid", "svg", "template_graph"]
