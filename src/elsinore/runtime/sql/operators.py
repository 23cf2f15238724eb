"""Operators of Spark's SQL, and functions that take more than values, as DuckDB has them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from elsinore.runtime.sql import decimals, texts, times
from elsinore.runtime.sql.functions import failing
from elsinore.runtime.sql.kinds import DATE, DOUBLE, NUMBERS, TIME, Kind
from elsinore.runtime.sql.parts import Function, Operator, Part, Translating, as_double

_COMPARED = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
_BITWISE = {exp.BitwiseAnd: "({} & {})", exp.BitwiseOr: "({} | {})", exp.BitwiseXor: "xor({}, {})"}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%", exp.Div: "/"}
_UNITS = frozenset(
    {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
)
_UNITS_OF_DATES = frozenset({"YEAR", "MONTH", "WEEK", "DAY"})


# --- logic ----------------------------------------------------------------------------------------


def _connected(of: Translating, node: exp.Expression) -> Part:
    """Return AND or OR, whose second part is not computed where the first one decides."""
    left, right = of.fitted(node, "b", node.left), of.fitted(node, "b", node.right)
    is_and = isinstance(node, exp.And)
    word, decided = ("AND", "FALSE") if is_and else ("OR", "TRUE")
    return Part(
        f"(CASE WHEN {'NOT ' * is_and}{left} THEN {decided} ELSE ({left} {word} {right}) END)",
        "BOOLEAN",
    )


def _inverted(of: Translating, node: exp.Expression) -> Part:
    return Part(f"(NOT {of.fitted(node, 'b', node.this)})", "BOOLEAN")


def _compared(of: Translating, node: exp.Expression) -> Part:
    left, right = of.alike(node, [node.left, node.right])
    return Part(f"({left.text} {_COMPARED[type(node)]} {right.text})", "BOOLEAN")


def _in_list(of: Translating, node: exp.Expression) -> Part:
    if not node.expressions:
        raise of.rejected(node, "only constants and columns are chosen from")
    value, *choices = of.alike(node, [node.this, *node.expressions])
    listed = ", ".join(choice.text for choice in choices)
    return Part(f"({value.text} IN ({listed}))", "BOOLEAN")


def _between(of: Translating, node: exp.Expression) -> Part:
    value, low, high = of.alike(node, [node.this, node.args["low"], node.args["high"]])
    return Part(f"({value.text} BETWEEN {low.text} AND {high.text})", "BOOLEAN")


def _is(of: Translating, node: exp.Expression) -> Part:
    if isinstance(node.expression, exp.Null):
        return Part(f"({of.translate(node.this).text} IS NULL)", "BOOLEAN")
    if isinstance(node.expression, exp.Boolean):
        word = str(bool(node.expression.this)).upper()
        return Part(f"({of.fitted(node, 'b', node.this)} IS {word})", "BOOLEAN")
    raise of.rejected(node)


# --- choices --------------------------------------------------------------------------------------


def _case(of: Translating, node: exp.Expression) -> Part:
    """Return CASE; `CASE x WHEN v` compares."""
    conditions = []
    for branch in node.args["ifs"]:
        condition = (
            branch.this if node.this is None else exp.EQ(this=node.this, expression=branch.this)
        )
        conditions.append(of.fitted(node, "b", condition))
    values = [branch.args["true"] for branch in node.args["ifs"]]
    return _chosen(of, node, conditions, values, node.args.get("default"))


def _if(of: Translating, node: exp.Expression) -> Part:
    condition = of.fitted(node, "b", node.this)
    return _chosen(of, node, [condition], [node.args["true"]], node.args.get("false"))


def _if_function(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    if len(given) != 3:
        raise of.rejected(node, "it takes 3 arguments here")
    return _chosen(of, node, [of.fitted(node, "b", given[0])], [given[1]], given[2])


def _chosen(
    of: Translating,
    node: exp.Expression,
    conditions: Sequence[str],
    values: Sequence[exp.Expression],
    default: exp.Expression | None,
) -> Part:
    given = [*values, default if default is not None else exp.Null()]
    *parts, last = of.alike(node, given)
    branches = " ".join(
        f"WHEN {condition} THEN {part.text}"
        for condition, part in zip(conditions, parts, strict=True)
    )
    return of.probed(f"(CASE {branches} ELSE {last.text} END)", node)


def _coalesce(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    parts = of.alike(node, given)
    return of.probed(f"coalesce({', '.join(part.text for part in parts)})", node)


def _nullif(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    value, unwanted = of.alike(node, given)
    own = of.translate(given[0]).text
    return of.probed(f"(CASE WHEN {value.text} = {unwanted.text} THEN NULL ELSE {own} END)", node)


def _nvl2(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    known = f"({of.translate(given[0]).text} IS NOT NULL)"
    return _chosen(of, node, [known], [given[1]], given[2])


def _extreme(name: str) -> Function:
    def translate(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
        parts = of.alike(node, given)
        if len(parts) < 2:
            raise of.rejected(node, "it takes 2 arguments or more")
        return of.probed(f"{name}({', '.join(part.text for part in parts)})", node)

    return translate


# --- arithmetic -----------------------------------------------------------------------------------


def _computed(of: Translating, node: exp.Expression) -> Part:
    """Return a sum, a difference, a product, a quotient or a remainder; division by zero fails."""
    if isinstance(node.right, exp.Interval):
        return _moved(of, node, node.left, node.right)
    if isinstance(node.left, exp.Interval) and isinstance(node, exp.Add):
        return _moved(of, node, node.right, node.left)
    left, right = of.translate(node.left), of.translate(node.right)
    kinds = {left.kind, right.kind} - {Kind.NULL}
    if not kinds <= NUMBERS:
        named = " and ".join(sorted(kind.value for kind in kinds))
        raise of.rejected(node, f"{named} cannot be compared or computed with each other")
    if Kind.DECIMAL in kinds and DOUBLE not in kinds:
        return _of_decimals(of, node, left, right)
    if DOUBLE in kinds or isinstance(node, exp.Div):
        left, right = as_double(left), as_double(right)
    text = f"({left.text} {_ARITHMETIC[type(node)]} {right.text})"
    return of.probed(_unless_by_zero(node, text, left, right), node)


def _of_decimals(of: Translating, node: exp.Expression, left: Part, right: Part) -> Part:
    """Return arithmetic of decimals, or of a decimal and a whole number or null."""
    known = [
        decimals.digits_of(of_part, part)
        for of_part, part in ((node.left, left), (node.right, right))
        if part.kind is not Kind.NULL
    ]
    digits = [each for each in known if each is not None]
    part = None
    if len(digits) == len(known):
        operands = (left.text, digits[0]), (right.text, digits[-1])
        part = decimals.computed(type(node), *operands)
    if part is None:
        raise of.rejected(node, "cast the decimal to DOUBLE")
    return Part(_unless_by_zero(node, part.text, left, right), part.type)


def _unless_by_zero(node: exp.Expression, text: str, left: Part, right: Part) -> str:
    """Return a quotient or a remainder that fails where the divisor is zero; other text as is."""
    if not isinstance(node, exp.Div | exp.Mod):
        return text
    return failing(f"{right.text} = 0 AND {left.text} IS NOT NULL", text)


def _whole_quotient(of: Translating, node: exp.Expression) -> Part:
    left, right = of.fitted(node, "i", node.left), of.fitted(node, "i", node.right)
    text = f"(CAST({left} AS BIGINT) // CAST({right} AS BIGINT))"
    return Part(text, "BIGINT")


def _negated(of: Translating, node: exp.Expression) -> Part:
    return of.probed(f"(-{of.fitted(node, 'n', node.this)})", node)


def _bitwise(of: Translating, node: exp.Expression) -> Part:
    operands = of.fitted(node, "i", node.left), of.fitted(node, "i", node.right)
    return of.probed(_BITWISE[type(node)].format(*operands), node)


def _moved(
    of: Translating, node: exp.Expression, time: exp.Expression, length: exp.Interval
) -> Part:
    """Return a time plus or minus a written interval; a date stays one where days are added."""
    part = of.translate(time)
    unit = str(length.args.get("unit") or "").upper().removesuffix("S")
    number = length.this
    is_written = isinstance(number, exp.Literal) and number.this.lstrip("-").isdigit()
    if unit not in _UNITS or not is_written or part.kind not in {DATE, TIME}:
        raise of.rejected(node, "written intervals of one unit are added to dates and times alone")
    if part.kind is DATE and unit not in _UNITS_OF_DATES:
        raise of.rejected(node, "cast the date to TIMESTAMP")
    sign = "-" if isinstance(node, exp.Sub) else "+"
    text = f"({part.text} {sign} INTERVAL '{number.this}' {unit})"
    return Part(text if part.kind is TIME else f"CAST({text} AS DATE)", part.type)


OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.And: _connected,
    exp.Or: _connected,
    exp.Not: _inverted,
    exp.In: _in_list,
    exp.Between: _between,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Neg: _negated,
    exp.IntDiv: _whole_quotient,
}
OPERATORS |= dict.fromkeys(_COMPARED, _compared) | dict.fromkeys(_ARITHMETIC, _computed)
OPERATORS |= dict.fromkeys(_BITWISE, _bitwise) | texts.OPERATORS

SPECIAL: dict[str, Function] = {
    "coalesce": _coalesce,
    "nvl": _coalesce,
    "ifnull": _coalesce,
    "nullif": _nullif,
    "nvl2": _nvl2,
    "if": _if_function,
    "greatest": _extreme("greatest"),
    "least": _extreme("least"),
}
SPECIAL |= texts.FUNCTIONS | times.FUNCTIONS
