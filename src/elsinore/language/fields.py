"""Resolving names with dots: fields of structs, or attributes of variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from elsinore.errors import QuerySyntaxError, Span
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Column, Expression


def refuse_variables(
    written: str, names: Iterable[str], variables: Collection[str], span: Span | None
) -> None:
    """Raise an error for names in [ ] or GROUP BY that begin with a variable of the pattern."""
    for name in names:
        first_name, dot, rest = name.partition(".")
        if dot and first_name in variables:
            raise QuerySyntaxError(
                f"Attributes stand here without a variable: write {written.format(rest)}.",
                span=span,
                choices=(rest,),
            )


def with_shared_fields(
    expression: Expression, variables: Collection[str], shared: Collection[str]
) -> Expression:
    """Replace `user.id` in an expression by an attribute that all events of a match share.

    That applies if `user` is not a variable, and `user.id` is in [ ] or GROUP BY.
    """

    def replace_attribute(read: Attribute) -> Expression:
        name = f"{read.variable}.{read.name}"
        is_shared = read.variable not in variables and name in shared
        return Column(name, read.span) if is_shared else read

    if not any("." in name for name in shared):
        return expression
    return ex.with_attributes(expression, replace_attribute)
