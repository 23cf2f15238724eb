"""The syntax tree of queries: patterns, expressions, windows; independent of engines."""

from elsinore.model.clauses import ReturnItem
from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Column,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
    Reference,
)
from elsinore.model.kinds import AfterMatch, Kind, Strategy
from elsinore.model.pattern import (
    Conjunction,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Permutation,
    Sequence,
)
from elsinore.model.query import PythonQuery, Query, Workload
from elsinore.model.schema import AttributeKind, Schema
from elsinore.model.window import Window

__all__ = [
    "AfterMatch",
    "Attribute",
    "AttributeKind",
    "Binary",
    "Call",
    "Column",
    "Conjunction",
    "Disjunction",
    "Duration",
    "Event",
    "Expression",
    "InList",
    "IsNull",
    "Kind",
    "Kleene",
    "Like",
    "Literal",
    "Negation",
    "Negative",
    "Not",
    "Operator",
    "Pattern",
    "Permutation",
    "PythonQuery",
    "Query",
    "Reference",
    "ReturnItem",
    "Schema",
    "Sequence",
    "Strategy",
    "Window",
    "Workload",
]
