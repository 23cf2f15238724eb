"""A plugin for mypy: Cython's slices, such as `cython.double[:, ::1]`, are types of NumPy arrays.

`stubs/cython.pyi` has an alias for the array type of each number: `double_array` for this one.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import TypeAlias
from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import RawExpressionType, Type

PREFIX = "cython."


class CythonPlugin(Plugin):
    """Give `cython.NAME[...]` and `cython.const_NAME[...]` the type of `NAME_array`."""

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """Return what makes a type of `cython.NAME` and of slices of it, or None for others."""
        if not fullname.startswith(PREFIX):
            return None
        name = fullname.removeprefix(PREFIX).removeprefix("const_")
        array = self._alias(f"{PREFIX}{name}_array")
        number = self._alias(f"{PREFIX}{name}")
        if array is None or number is None:
            return None

        def analyze(context: AnalyzeTypeContext) -> Type:
            slices = context.type.args
            if not all(isinstance(part, RawExpressionType) for part in slices):
                context.api.fail(f"{fullname}[...] takes slices only", context.context)
            return array if slices else number

        return analyze

    def _alias(self, fullname: str) -> Type | None:
        """Return what an alias stands for, or None if there is no such alias."""
        symbol = self.lookup_fully_qualified(fullname)
        return symbol.node.target if symbol and isinstance(symbol.node, TypeAlias) else None


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin, for mypy."""
    return CythonPlugin
