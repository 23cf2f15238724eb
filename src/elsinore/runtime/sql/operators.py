"""Translating SQL operators, CASE and functions of any types to DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from elsinore.runtime.sql import decimals, texts, times
from elsinore.runtime.sql.functions import failing
from elsinore.runtime.sql.kinds import DATE, DOUBLE, NUMBERS, TIME, Kind
from elsinore.runtime.sql.parts import ExpressionTranslator, Function, Operator, Part, as_double

_COMPARISONS = {
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


def _logical(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    """Translate AND or OR with short-circuit: a deciding left operand skips the right one."""
    left, right = (
        translator.converted(node, "b", node.left),
        translator.converted(node, "b", node.right),
    )
    is_and = isinstance(node, exp.And)
    word, deciding_value = ("AND", "FALSE") if is_and else ("OR", "TRUE")
    return Part(
        f"(CASE WHEN {'NOT ' * is_and}{left} THEN {deciding_value} "
        f"ELSE ({left} {word} {right}) END)",
        "BOOLEAN",
    )


def _negation(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    return Part(f"(NOT {translator.converted(node, 'b', node.this)})", "BOOLEAN")


def _comparison(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    left, right = translator.with_common_type(node, [node.left, node.right])
    return Part(f"({left.text} {_COMPARISONS[type(node)]} {right.text})", "BOOLEAN")


def _in_list(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    if not node.expressions:
        raise translator.rejected(node, "IN accepts only constants and columns")
    value, *choices = translator.with_common_type(node, [node.this, *node.expressions])
    choice_texts = ", ".join(choice.text for choice in choices)
    return Part(f"({value.text} IN ({choice_texts}))", "BOOLEAN")


def _between(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    value, low, high = translator.with_common_type(
        node, [node.this, node.args["low"], node.args["high"]]
    )
    return Part(f"({value.text} BETWEEN {low.text} AND {high.text})", "BOOLEAN")


def _is(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    if isinstance(node.expression, exp.Null):
        return Part(f"({translator.translate(node.this).text} IS NULL)", "BOOLEAN")
    if isinstance(node.expression, exp.Boolean):
        word = str(bool(node.expression.this)).upper()
        return Part(f"({translator.converted(node, 'b', node.this)} IS {word})", "BOOLEAN")
    raise translator.rejected(node)


# --- choices --------------------------------------------------------------------------------------


def _case(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    """Translate CASE; `CASE x WHEN v` compares x with v."""
    conditions = []
    for branch in node.args["ifs"]:
        condition = (
            branch.this if node.this is None else exp.EQ(this=node.this, expression=branch.this)
        )
        conditions.append(translator.converted(node, "b", condition))
    values = [branch.args["true"] for branch in node.args["ifs"]]
    return _case_expression(translator, node, conditions, values, node.args.get("default"))


def _if(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    condition = translator.converted(node, "b", node.this)
    return _case_expression(
        translator, node, [condition], [node.args["true"]], node.args.get("false")
    )


def _if_function(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    if len(arguments) != 3:
        raise translator.rejected(node, "it takes 3 arguments here")
    return _case_expression(
        translator,
        node,
        [translator.converted(node, "b", arguments[0])],
        [arguments[1]],
        arguments[2],
    )


def _case_expression(
    translator: ExpressionTranslator,
    node: exp.Expression,
    conditions: Sequence[str],
    values: Sequence[exp.Expression],
    default: exp.Expression | None,
) -> Part:
    """Return CASE of translated conditions and the values for them, of a common type."""
    results = [*values, default if default is not None else exp.Null()]
    *parts, last = translator.with_common_type(node, results)
    branches = " ".join(
        f"WHEN {condition} THEN {part.text}"
        for condition, part in zip(conditions, parts, strict=True)
    )
    return translator.typed_by_duckdb(f"(CASE {branches} ELSE {last.text} END)", node)


def _coalesce(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    parts = translator.with_common_type(node, arguments)
    return translator.typed_by_duckdb(f"coalesce({', '.join(part.text for part in parts)})", node)


def _nullif(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    left, right = translator.with_common_type(node, arguments)
    value = translator.translate(arguments[0]).text  # in its own type
    text = f"(CASE WHEN {left.text} = {right.text} THEN NULL ELSE {value} END)"
    return translator.typed_by_duckdb(text, node)


def _nvl2(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    is_not_null = f"({translator.translate(arguments[0]).text} IS NOT NULL)"
    return _case_expression(translator, node, [is_not_null], [arguments[1]], arguments[2])


def _extremum(name: str) -> Function:
    def translate(
        translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
    ) -> Part:
        parts = translator.with_common_type(node, arguments)
        if len(parts) < 2:
            raise translator.rejected(node, "it takes 2 arguments or more")
        return translator.typed_by_duckdb(f"{name}({', '.join(part.text for part in parts)})", node)

    return translate


# --- arithmetic -----------------------------------------------------------------------------------


def _arithmetic(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    """Translate a sum, difference, product, quotient or remainder; division by zero fails."""
    if isinstance(node.right, exp.Interval):
        return _interval_arithmetic(translator, node, node.left, node.right)
    if isinstance(node.left, exp.Interval) and isinstance(node, exp.Add):
        return _interval_arithmetic(translator, node, node.right, node.left)
    left, right = translator.translate(node.left), translator.translate(node.right)
    kinds = {left.kind, right.kind} - {Kind.NULL}
    if not kinds <= NUMBERS:
        kind_names = " and ".join(sorted(kind.value for kind in kinds))
        raise translator.rejected(
            node, f"{kind_names} cannot be compared or computed with each other"
        )
    if Kind.DECIMAL in kinds and DOUBLE not in kinds:
        return _decimal_arithmetic(translator, node, left, right)
    if DOUBLE in kinds or isinstance(node, exp.Div):
        left, right = as_double(left), as_double(right)
    text = f"({left.text} {_ARITHMETIC[type(node)]} {right.text})"
    return translator.typed_by_duckdb(_failing_on_zero(node, text, left, right), node)


def _decimal_arithmetic(
    translator: ExpressionTranslator, node: exp.Expression, left: Part, right: Part
) -> Part:
    """Translate arithmetic of decimals, or of a decimal and a whole number or null."""
    operand_digits = [
        decimals.digits_of(operand, part)
        for operand, part in ((node.left, left), (node.right, right))
        if part.kind is not Kind.NULL
    ]
    digits = [
        digits_of_operand for digits_of_operand in operand_digits if digits_of_operand is not None
    ]
    part = None
    if len(digits) == len(operand_digits):
        operands = (left.text, digits[0]), (right.text, digits[-1])
        part = decimals.arithmetic(type(node), *operands)
    if part is None:
        raise translator.rejected(node, "cast the decimal to DOUBLE")
    return Part(_failing_on_zero(node, part.text, left, right), part.type)


def _failing_on_zero(node: exp.Expression, text: str, left: Part, right: Part) -> str:
    """Return the SQL of a quotient or remainder that fails for divisor 0; `text` otherwise."""
    if not isinstance(node, exp.Div | exp.Mod):
        return text
    return failing(f"{right.text} = 0 AND {left.text} IS NOT NULL", text)


def _integer_division(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    left, right = (
        translator.converted(node, "i", node.left),
        translator.converted(node, "i", node.right),
    )
    text = f"(CAST({left} AS BIGINT) // CAST({right} AS BIGINT))"
    return Part(text, "BIGINT")


def _minus(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    return translator.typed_by_duckdb(f"(-{translator.converted(node, 'n', node.this)})", node)


def _bitwise(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    operands = (
        translator.converted(node, "i", node.left),
        translator.converted(node, "i", node.right),
    )
    return translator.typed_by_duckdb(_BITWISE[type(node)].format(*operands), node)


def _interval_arithmetic(
    translator: ExpressionTranslator,
    node: exp.Expression,
    time: exp.Expression,
    length: exp.Interval,
) -> Part:
    """Translate a time plus or minus an interval literal; a date plus days remains a date."""
    part = translator.translate(time)
    unit = str(length.args.get("unit") or "").upper().removesuffix("S")
    number = length.this
    is_written = isinstance(number, exp.Literal) and number.this.lstrip("-").isdigit()
    if unit not in _UNITS or not is_written or part.kind not in {DATE, TIME}:
        raise translator.rejected(
            node, "only interval literals of one unit can be added, and only to dates and times"
        )
    if part.kind is DATE and unit not in _UNITS_OF_DATES:
        raise translator.rejected(node, "cast the date to TIMESTAMP")
    sign = "-" if isinstance(node, exp.Sub) else "+"
    text = f"({part.text} {sign} INTERVAL '{number.this}' {unit})"
    return Part(text if part.kind is TIME else f"CAST({text} AS DATE)", part.type)


OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.And: _logical,
    exp.Or: _logical,
    exp.Not: _negation,
    exp.In: _in_list,
    exp.Between: _between,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Neg: _minus,
    exp.IntDiv: _integer_division,
}
OPERATORS |= dict.fromkeys(_COMPARISONS, _comparison) | dict.fromkeys(_ARITHMETIC, _arithmetic)
OPERATORS |= dict.fromkeys(_BITWISE, _bitwise) | texts.OPERATORS

SPECIAL: dict[str, Function] = {
    "coalesce": _coalesce,
    "nvl": _coalesce,
    "ifnull": _coalesce,
    "nullif": _nullif,
    "nvl2": _nvl2,
    "if": _if_function,
    "greatest": _extremum("greatest"),
    "least": _extremum("least"),
}
SPECIAL |= texts.FUNCTIONS | times.FUNCTIONS
