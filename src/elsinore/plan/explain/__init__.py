"""What a plan does, told in words, as data, and as a picture of the merged template."""

from elsinore.plan.explain.graph import TemplateGraph, template_graph
from elsinore.plan.explain.mermaid import explain_mermaid
from elsinore.plan.explain.sharing import Sample, SharedBursts
from elsinore.plan.explain.svg import explain_svg
from elsinore.plan.explain.text import explain_json, explain_text

__all__ = [
    "Sample",
    "SharedBursts",
    "TemplateGraph",
    "explain_json",
    "explain_mermaid",
    "explain_svg",
    "explain_text",
    "template_graph",
]
