"""Conditions on an anchor that follow from conditions on neighbours, and so need no anchor.

If each `b` is above the `b` before it, and the first one is above `a`, all are above `a`: for later
events `b[i].v > a.v` is implied. For the event right after `a` it is a condition on neighbours. So
`SEQ(A a, B b+)` with both conditions only compares neighbours.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Expression, Literal, Negative, Operator
from elsinore.plan.between import CURRENT, PREVIOUS, TURNED
from elsinore.plan.template import Move, Reads, Template

# comparisons of neighbours that keep one with an earlier event true
_KEEPING = {
    Operator.GT: (Operator.GT, Operator.GE, Operator.EQ),
    Operator.GE: (Operator.GT, Operator.GE, Operator.EQ),
    Operator.LT: (Operator.LT, Operator.LE, Operator.EQ),
    Operator.LE: (Operator.LT, Operator.LE, Operator.EQ),
    Operator.EQ: (Operator.EQ,),
}


def without_implied(template: Template) -> Template:
    """Return a template without the anchors whose conditions follow from those on neighbours.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> def anchors(where):
    ...     text = f"QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE {where};"
    ...     return without_implied(guarded_template(parse_workload(text).queries[0])).anchors
    >>> anchors("b[i].v > a.v AND b[i].v >= b[i-1].v")
    ()
    >>> anchors("b[i].v > a.v AND b[i].v <= b[i-1].v")
    ('a',)
    """
    negatives = tuple(map(without_implied, template.negatives))
    if not template.anchors:
        return replace(template, negatives=negatives) if negatives else template
    into: list[list[Move]] = [[] for _ in template.states]
    for step in template.steps:
        into[step.target].append(step)
    needed = set()
    for step in template.steps:
        for anchor, check in step.reads.checks:
            known = all((anchor, check) in before.reads.checks for before in into[step.source])
            if anchor != template.states[step.source].variable and not (
                known and _stays_true(check, step.reads.conditions)
            ):
                needed.add(anchor)

    def guards(step: Move) -> Reads:
        reads, source = step.reads, template.states[step.source].variable
        near = [
            check for anchor, check in reads.checks if anchor == source and source not in needed
        ]
        conditions = tuple(dict.fromkeys((*reads.conditions, *near)))
        checks = tuple(check for check in reads.checks if check[0] in needed)
        return reads._replace(conditions=conditions, checks=checks)

    return replace(
        template,
        moves=(*template.starts, *(replace(s, reads=guards(s)) for s in template.steps)),
        anchors=tuple(anchor for anchor in template.anchors if anchor in needed),
        negatives=negatives,
    )


def _stays_true(check: Expression, neighbours: Collection[Expression]) -> bool:
    """Return whether a check that is true for an event is also true for the next one."""
    checked = _compared(check)
    if checked is None:
        return False
    name, operator, _ = checked
    sufficient = [(name, keeping, Attribute(PREVIOUS, name)) for keeping in _KEEPING[operator]]
    return any(_compared(condition) in sufficient for condition in neighbours)


def _compared(condition: Expression) -> tuple[str, Operator, Expression] | None:
    """Return an attribute of the later event, the operator, and the earlier value compared with.

    The earlier value is computed from the same attribute, so that all values have one order.
    """
    match condition:
        case Binary(operator, left, right) if operator in TURNED:
            if isinstance(right, Attribute) and right.variable == CURRENT:
                operator, left, right = TURNED[operator], right, left
            if not isinstance(left, Attribute) or left.name is None:
                return None
            one_order = set(ex.attributes(right)) == {Attribute(PREVIOUS, left.name)}
            if left.variable == CURRENT and one_order and all(map(_computes, ex.walk(right))):
                return left.name, operator, right
    return None


def _computes(node: Expression) -> bool:
    if isinstance(node, Binary):
        return node.operator.is_arithmetic
    return isinstance(node, Attribute | Literal | Negative)
