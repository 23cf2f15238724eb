"""Queries that keep single events, as one automaton: what they have in common is there once.

Two states are equal where the same trends end in them: events of one type that satisfy the same
predicates take them, trends begin in them alike, and they follow equal states on equal conditions.
So `SEQ(A, B+)` and `SEQ(A, B+, C)` have A and B+ in common, and what an index keeps of these is
kept once (merged templates: HAMLET, Section 3.1). What follows a state says nothing of it. Queries
that no index runs are together where they are equal as a whole (`elsinore.plan.alike`). Those that
count trends and put events in one order are together too, so that these are sorted once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elsinore.model.expression import Attribute, Expression
from elsinore.plan.alike import shape, why_apart
from elsinore.plan.guarded import End, GuardedState, GuardedTemplate, Move, Start
from elsinore.plan.guards import Ways
from elsinore.plan.indexed import Indexed, axis, goes_down, indexed
from elsinore.plan.sharing import aggregated

MOST_TOGETHER = 16  # automata of which an index keeps the sums at once: more leave the cache
_State = tuple[int, int]  # number of a query's template, state


@dataclass(frozen=True, slots=True)
class Joined:
    """Queries by number, the automaton that they are one of, and where in it their states are.

    `finals`: for each query, which `side` of the template's ends are its own.
    """

    queries: tuple[int, ...]
    template: GuardedTemplate
    places: tuple[tuple[int, ...], ...]  # [query][state]
    finals: tuple[int, ...]

    def covers(self, queries: Sequence[int]) -> bool:
        """Return whether queries are equal as a whole, and not in some states only."""
        chosen = [self.queries.index(query) for query in queries]
        same = {(frozenset(self.places[place]), self.finals[place]) for place in chosen}
        return len(same) == 1

    def keeps(self, states: Sequence[int]) -> bool:
        """Return whether some of the states are repeated, or follow others on conditions."""
        return any(_compares(self.template, state) for state in states)

    @property
    def common(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """The sets of at least two queries that have states in common, with all of these."""
        if len(self.queries) > 1 and self.covers(self.queries):
            return ((self.queries, tuple(range(len(self.template.states)))),)
        having: dict[int, list[int]] = {}
        for query, places in zip(self.queries, self.places, strict=True):
            for state in places:
                having.setdefault(state, []).append(query)
        sets = dict.fromkeys(tuple(queries) for queries in having.values() if len(queries) > 1)
        return tuple(
            (chosen, tuple(sorted(n for n, queries in having.items() if {*chosen} <= {*queries})))
            for chosen in sets
        )


def joined(templates: Sequence[GuardedTemplate]) -> list[Joined]:
    """Put queries together that are of one automaton, or have states in common, by first queries.

    States are looked at where an index runs the queries, and those of one window; and so are orders
    where all of them only count.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> found = joined([guarded_template(query) for query in parse_workload('''
    ...     QUERY short RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v >= b[i-1].v;
    ...     QUERY long RETURN COUNT(*) PATTERN SEQ(A, B b+, C) WHERE b[i].v >= b[i-1].v;
    ...     QUERY other RETURN COUNT(*) PATTERN SEQ(D, B b+) WHERE b[i].v >= b[i-1].v;
    ... ''').queries])
    >>> [one.queries for one in found], len(found[0].template.states)
    ([(0, 1, 2)], 5)
    """
    windows: dict[object, list[int]] = {}
    whole: dict[object, list[int]] = {}
    orders: dict[int, frozenset[object]] = {}  # of each query that an index runs
    for number, template in enumerate(templates):
        form = indexed(template)
        if template.states and isinstance(form, Indexed):
            orders[number] = _orders(template, form) or frozenset({number})
            windows.setdefault(template.query.window, []).append(number)
        else:
            whole.setdefault(shape(template), []).append(number)
    groups = [_of_shape(numbers, templates[numbers[0]]) for numbers in whole.values()]
    for numbers in windows.values():
        color = dict(zip(numbers, _colors([templates[n] for n in numbers]), strict=True))
        with_states = [
            [numbers[place] for place in together]
            for together in _connected([frozenset(color[number]) for number in numbers])
        ]
        with_orders = [
            frozenset[object]().union(*(orders[n] for n in together))
            if all(aggregated(templates[n].aggregation).counts for n in together)
            else frozenset({together[0]})
            for together in with_states
        ]
        for places in _connected(with_orders):
            chosen = [number for place in places for number in with_states[place]]
            groups += _batches(chosen, templates, color)
    return sorted(groups, key=lambda group: group.queries)


def _orders(template: GuardedTemplate, form: Indexed) -> frozenset[object]:
    """Return how events of which type are put in order for a query: by what, and which way."""
    orders = set()
    for extension in form.extensions:
        cuts = [cut for part in extension.ranges for cut in part]
        by = axis(cuts) if cuts else None
        if by is not None:
            # whether columns are compared as they are, or as doubles
            columns = {(cut.previous, _is_read(cut.current) and cut.shift is None) for cut in cuts}
            down = len(extension.ranges) == 1 and goes_down(cuts, by)
            kept = template.states[form.kept[extension.source][0]].type
            orders.add((kept, by, down, frozenset(columns)))
    return frozenset(orders)


def _is_read(expression: Expression) -> bool:
    return isinstance(expression, Attribute)


def _batches(
    queries: Sequence[int], templates: Sequence[GuardedTemplate], color: Mapping[int, list[int]]
) -> list[Joined]:
    """Put queries that have states in common together, of `MOST_TOGETHER` automata at most.

    Those that have the most in common stand beside one another in the order of their colors.
    """
    automata: dict[tuple[int, ...], list[int]] = {}
    for query in queries:
        automata.setdefault(tuple(sorted(color[query])), []).append(query)
    rows = [automata[name] for name in sorted(automata)]
    batches = []
    for first in range(0, len(rows), MOST_TOGETHER):
        chosen = sorted(itertools.chain(*rows[first : first + MOST_TOGETHER]))
        batches.append(_one(chosen, [templates[n] for n in chosen], [color[n] for n in chosen]))
    return batches


def by_itself(query: int, template: GuardedTemplate) -> Joined:
    """Return a query that no other is joined to."""
    return _of_shape((query,), template)


def _of_shape(queries: Sequence[int], template: GuardedTemplate) -> Joined:
    """Return queries whose automata do not differ."""
    places = tuple(range(len(template.states)))
    return Joined(tuple(queries), template, (places,) * len(queries), (0,) * len(queries))


def _colors(templates: Sequence[GuardedTemplate]) -> list[list[int]]:
    """Return a color for each state of each template: equal states have the same.

    Colors are told apart by what leads to a state until that tells no more of them apart. States of
    one template never have the same: each has its variable, whose events queries may ask about.
    """
    starts = [{edge.target: _named(t, edge.ways) for edge in t.starts} for t in templates]
    moves: list[dict[int, list[tuple[int, object, frozenset[Expression]]]]] = []
    for template in templates:
        into: dict[int, list[tuple[int, object, frozenset[Expression]]]] = {}
        for move in template.moves:
            into.setdefault(move.target, []).append(
                (move.source, _named(template, move.ways), template.conditions_of(move))
            )
        moves.append(into)
    color: dict[_State, int] = {}
    named: dict[object, int] = {}
    for number, template in enumerate(templates):
        for place, state in enumerate(template.states):
            asked_of = state.type, state.needs, starts[number].get(place)
            color[number, place] = named.setdefault(asked_of, len(named))
    while True:
        named = {}
        finer: dict[_State, int] = {}
        for number, template in enumerate(templates):
            seen: dict[object, int] = {}
            for place in range(len(template.states)):
                name = (
                    color[number, place],
                    frozenset(
                        (color[number, s], *label) for s, *label in moves[number].get(place, ())
                    ),
                )
                twin = seen.setdefault(name, 0)
                seen[name] += 1
                finer[number, place] = named.setdefault((name, twin), len(named))
        if len(named) == len(set(color.values())):
            break
        color = finer
    return [
        [finer[number, place] for place in range(len(template.states))]
        for number, template in enumerate(templates)
    ]


def _named(template: GuardedTemplate, ways: Ways) -> object:
    """Return ways with the shapes of negatives in place of their numbers."""
    return frozenset(frozenset(shape(template.negatives[n]) for n in way) for way in ways)


def _connected(sets: Sequence[frozenset[Any]]) -> list[list[int]]:
    """Return the places of sets that meet, directly or by way of others, together.

    >>> _connected([frozenset({1}), frozenset({2}), frozenset({1, 3}), frozenset({3})])
    [[0, 2, 3], [1]]
    """
    parent = list(range(len(sets)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[object, int] = {}
    for place, items in enumerate(sets):
        for item in items:
            left, right = root(first.setdefault(item, place)), root(place)
            parent[max(left, right)] = min(left, right)
    by_root: dict[int, list[int]] = {}
    for place in range(len(sets)):
        by_root.setdefault(root(place), []).append(place)
    return list(by_root.values())


def _one(
    queries: Sequence[int], templates: Sequence[GuardedTemplate], color: Sequence[Sequence[int]]
) -> Joined:
    """Return the automaton of templates, their states by color."""
    number: dict[int, int] = {}
    states: list[GuardedState] = []
    conditions: dict[Expression, int] = {}
    negatives: dict[object, int] = {}
    forbidden: list[GuardedTemplate] = []
    starts: dict[Start, None] = {}
    moves: dict[Move, None] = {}
    ends: dict[frozenset[End], int] = {}
    places, finals = [], []
    for template, colors in zip(templates, color, strict=True):
        for state, of in zip(template.states, colors, strict=True):
            if of not in number:
                number[of] = len(number)
                states.append(state)
        mine = tuple(number[of] for of in colors)
        renamed = []
        for negative in template.negatives:
            name = shape(negative)
            if name not in negatives:
                negatives[name] = len(negatives)
                forbidden.append(negative)
            renamed.append(negatives[name])

        def told(ways: Ways, renamed: Sequence[int] = renamed) -> Ways:
            return frozenset(frozenset(renamed[n] for n in way) for way in ways)

        starts |= {Start(mine[one.target], told(one.ways)): None for one in template.starts}
        for move in template.moves:
            asked = frozenset(
                conditions.setdefault(template.conditions[n], len(conditions))
                for n in move.conditions
            )
            moves[Move(mine[move.source], mine[move.target], told(move.ways), asked)] = None
        ending = frozenset(End(mine[one.source], told(one.ways)) for one in template.ends)
        finals.append(ends.setdefault(ending, len(ends)))
        places.append(mine)
    whole = replace(
        templates[0],
        states=tuple(states),
        starts=tuple(starts),
        moves=tuple(moves),
        ends=tuple(
            replace(one, side=final)
            for ending, final in ends.items()
            for one in sorted(ending, key=lambda one: one.source)
        ),
        conditions=tuple(conditions),
        negatives=tuple(forbidden),
    )
    return Joined(tuple(queries), whole, tuple(places), tuple(finals))


def have_one_order(left: GuardedTemplate, right: GuardedTemplate) -> bool:
    """Return whether an index puts some events in one order for both of two queries."""
    here, there = indexed(left), indexed(right)
    if not (isinstance(here, Indexed) and isinstance(there, Indexed)):
        return False
    return not _orders(left, here).isdisjoint(_orders(right, there))


def why_not_joined(left: GuardedTemplate, right: GuardedTemplate) -> str:
    """Return why two queries have no state in common that is compared or repeated."""
    if not all(isinstance(indexed(template), Indexed) for template in (left, right)):
        return why_apart(left, right) or "each is processed by itself"
    if left.query.window != right.query.window:
        return "their windows differ"
    pairs = [
        (here, there)
        for here, state in enumerate(left.states)
        for there, standing in enumerate(right.states)
        if state.type == standing.type and _compares(left, here) and _compares(right, there)
    ]
    if not pairs:
        return "they have no type in common whose events both compare or repeat"
    names = " and ".join(dict.fromkeys(left.states[here].type for here, _ in pairs))
    alike = [pair for pair in pairs if left.states[pair[0]].needs == right.states[pair[1]].needs]
    if not alike:
        return f"they have different conditions on single {names} events"
    if not any(
        _conditions_into(left, here) == _conditions_into(right, there) for here, there in alike
    ):
        return f"they compare {names} events with preceding ones in different ways"
    return f"they differ in what precedes {names} in a trend"


def _compares(template: GuardedTemplate, state: int) -> bool:
    """Return whether events in a state are repeated, or follow others on conditions."""
    return any(
        move.target == state and (move.conditions or move.source == state)
        for move in template.moves
    )


def _conditions_into(template: GuardedTemplate, state: int) -> frozenset[frozenset[Expression]]:
    """Return what is asked of an event and those that it may follow."""
    return frozenset(
        template.conditions_of(move) for move in template.moves if move.target == state
    )
