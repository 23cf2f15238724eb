"""The interface between engines and drivers: the operators' contract, and the registry of kinds."""

from elsinore.operators.kind import Kind, ResultForm, Sample
from elsinore.operators.operator import Operator, OperatorOptions
from elsinore.operators.planning import bind, plan, specialize
from elsinore.operators.registry import kind_for, kind_in, module_for, registered
from elsinore.operators.statistics import BurstCounts, Detail, OperatorStatistics
from elsinore.operators.summed import SummedKind

__all__ = [
    "BurstCounts",
    "Detail",
    "Kind",
    "Operator",
    "OperatorOptions",
    "OperatorStatistics",
    "ResultForm",
    "Sample",
    "SummedKind",
    "bind",
    "kind_for",
    "kind_in",
    "module_for",
    "plan",
    "registered",
    "specialize",
]
