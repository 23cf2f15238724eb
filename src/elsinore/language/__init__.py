"""The query language: from text to nodes and back, and the same nodes from Python."""

from elsinore.language.builder import (
    case,
    column,
    confidence,
    count,
    event,
    event_ids,
    function,
    log2_count,
    match_number,
    no,
    parameter,
    permute,
    query,
    same,
    seq,
)
from elsinore.language.durations import parse_duration
from elsinore.language.parser import parse_expression, parse_pattern, parse_query, parse_workload
from elsinore.language.render import column_name, render

__all__ = [
    "case",
    "column",
    "column_name",
    "confidence",
    "count",
    "event",
    "event_ids",
    "function",
    "log2_count",
    "match_number",
    "no",
    "parameter",
    "parse_duration",
    "parse_expression",
    "parse_pattern",
    "parse_query",
    "parse_workload",
    "permute",
    "query",
    "render",
    "same",
    "seq",
]
