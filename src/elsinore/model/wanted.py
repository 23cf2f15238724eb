"""What kind of value stands where: a condition is true or false, a sum is of numbers.

`places` says of each part of a condition what is wanted there; `plain_kind` what a part is whatever
the events hold. The rules of queries compare the two, and so does the check against a schema, which
also knows what attributes are.
"""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.model.expression import (
    SPREADS,
    Attribute,
    Binary,
    Call,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
    children,
)
from elsinore.model.schema import AttributeKind

TRUTH = AttributeKind.BOOLEAN
NUMBER = AttributeKind.NUMBER
TEXT = AttributeKind.STRING
_OF_NUMBERS = frozenset({"ABS", "LOG2", "SUM", "AVG"}) | SPREADS


def places(condition: Expression) -> Iterator[tuple[Expression, AttributeKind]]:
    """Yield the parts of a condition where a truth value, a number or a text must stand.

    >>> from elsinore.model.expression import Literal
    >>> [wanted.value for _, wanted in places(Not(Negative(Literal(1))))]
    ['boolean', 'boolean', 'number']
    """
    pending: list[tuple[Expression, AttributeKind | None]] = [(condition, TRUTH)]
    while pending:
        node, wanted = pending.pop()
        if wanted is not None:
            yield node, wanted
        below: AttributeKind | None
        match node:
            case Not() | Binary(Operator.AND | Operator.OR):
                below = TRUTH
            case Negative():
                below = NUMBER
            case Binary(operator) if operator.is_arithmetic:
                below = NUMBER
            case Call(name) if name in _OF_NUMBERS:
                below = NUMBER
            case Like():
                below = TEXT
            case _:
                below = None
        pending.extend((child, below) for child in reversed(children(node)))


def plain_kind(expression: Expression) -> AttributeKind | None:
    """Return what an expression gives, None where that depends on the events or it is null."""
    match expression:
        case Literal(None) | Attribute() | Column():
            return None
        case Literal(bool()) | Not() | IsNull() | InList() | Like():
            return TRUTH
        case Literal(str()):
            return TEXT
        case Binary(operator):
            return NUMBER if operator.is_arithmetic else TRUTH
        case Call("MIN" | "MAX"):
            return None
        case Call(name) if name not in _OF_NUMBERS | {"COUNT"}:
            return None
        case _:
            return NUMBER


_TOLD = {
    AttributeKind.INTEGER: "a number",
    AttributeKind.NUMBER: "a number",
    AttributeKind.STRING: "text",
    AttributeKind.BOOLEAN: "a truth value",
    AttributeKind.TIME: "a time",
    AttributeKind.NESTED: "a struct, an array or a map",
    AttributeKind.BYTES: "bytes",
    AttributeKind.CLOCK: "a time of day",
    AttributeKind.DURATION: "a length of time",
    AttributeKind.INTERVAL: "an interval with months",
    AttributeKind.COLLATED: "text with a collation other than binary",
    AttributeKind.OTHER: "of a type that is only returned",
}


def kind_text(kind: AttributeKind) -> str:
    """Return what a kind of value is called in a sentence."""
    return _TOLD.get(kind, "null")


def misplaced(node: Expression, kind: AttributeKind, wanted: AttributeKind) -> str | None:
    """Say what is wrong with a value of one kind where another is wanted; None where it fits.

    >>> misplaced(Literal(1), NUMBER, TRUTH)
    'A condition is true or false, and this is a number. Compare it with something.'
    """
    if kind is wanted or kind not in _TOLD or (kind.is_numeric and wanted is NUMBER):
        return None
    actual = kind_text(kind)
    if wanted is TEXT:
        return f"LIKE is for text, and this is {actual}."
    if wanted is NUMBER:
        advice = "."
        if kind is AttributeKind.TIME:
            advice = (
                ": times are compared, not computed with. WITHIN says how far apart they may be."
            )
        return f"A number is needed here, and this is {actual}{advice}"
    example = ""
    if isinstance(node, Attribute) and kind is not AttributeKind.NESTED:
        constant = "> 0" if kind.is_numeric else "= 'a text'"
        constant = "> '2024-01-01'" if kind is AttributeKind.TIME else constant
        example = f", as in {node.variable}{node.reference.value}.{node.name} {constant}"
    return (
        f"A condition is true or false, and this is {actual}. Compare it with something{example}."
    )
