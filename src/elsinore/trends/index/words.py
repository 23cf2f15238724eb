"""A guarded template as words for the kernels of indexed windows (`index.layout`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from elsinore.model.expression import Expression, Operator
from elsinore.plan.indexed import Extension, Indexed, axis, goes_down, sides
from elsinore.plan.joined import Joined
from elsinore.plan.template import START, Cut
from elsinore.trends.index import layout as w
from elsinore.trends.index.axes import Columns
from elsinore.trends.keyed import Ints

_OPERATORS = {
    Operator.LT: w.BELOW,
    Operator.LE: w.UP_TO,
    Operator.GE: w.FROM_ON,
    Operator.GT: w.ABOVE,
}


@dataclass(frozen=True, slots=True)
class _Edge:
    """A cut in columns; `is_high` tells whether events up to it are followed, or from it on."""

    operator: int
    before: int
    after: int
    shift: int
    is_high: bool


_Parts = tuple[tuple[_Edge, ...], ...]
_Class = tuple[str, frozenset[Expression]]  # its type, and the predicates that hold


@dataclass(frozen=True, slots=True)
class _Ranges:
    """What an extension reads: a tree, how, and where it is cut."""

    kind: int
    axis: int
    turned: bool
    how: int
    parts: _Parts  # all edges of some part must hold


@dataclass(slots=True)
class _Tree:
    node: int
    read: _Ranges  # the first that reads it
    known: frozenset[int]
    reads: list[int] = field(default_factory=list)  # the cuts through its order

    @property
    def order(self) -> tuple[int, bool, frozenset[int]]:
        """By what events are ranked for it, if these columns are known."""
        return self.read.axis, self.read.turned, self.known


@dataclass(slots=True)
class _Cuts:
    """Ranges that are looked for once for all that read them: their first place, and whose."""

    slot: int
    targets: list[int] = field(default_factory=list)


class Sizes(NamedTuple):
    """What the arena and the table of sums must have room for."""

    arena: int
    rows: int


class Rooms(NamedTuple):
    """How much there is to make room for."""

    rows: int  # that are ranked at once
    moment: int  # events of one moment
    by_time: bool


def index_words(
    group: Joined,
    kept: Indexed,
    classes: Sequence[_Class],
    columns: Columns,
    first_state: int,
    rooms: Rooms,
) -> tuple[Ints, Sizes]:
    """Return the words of a group for events of some classes, and the room that it takes.

    first_state: the number that its template's state 0 has among the program's.
    """
    return _Writer(group, kept, columns, classes).written(first_state, rooms)


class _Writer:
    def __init__(
        self, group: Joined, kept: Indexed, columns: Columns, classes: Sequence[_Class]
    ) -> None:
        self._template, self._kept, self._columns = group.template, kept, columns
        self._finals = max(group.finals) + 1
        self._classes = classes
        self._taken = [sorted(group.template.fits(*decoded)) for decoded in classes]
        self._trees: dict[tuple[object, ...], int] = {}
        self._of: list[_Tree] = []
        self._reads: list[tuple[Extension, int, _Ranges | None]] = []
        for extension in kept.extensions:
            ranges = self._ranges(extension) if extension.ranges else None
            tree = -1
            if ranges is not None:
                known = frozenset(edge.before for edges in ranges.parts for edge in edges)
                name = (extension.source, ranges.kind, ranges.axis, ranges.turned, known)
                tree = self._trees.setdefault(name, len(self._of))
                if tree == len(self._of):
                    self._of.append(_Tree(extension.source, ranges, known))
            self._reads.append((extension, tree, ranges))
        self._orders = self._shared_orders()
        self._cuts: dict[tuple[int, _Parts], _Cuts] = {}  # by the order that they cut, and where
        used = 0
        for extension, tree, ranges in self._reads:
            if ranges is None or ranges.how != w.CUT_OUT:
                continue
            cut = self._orders[tree], ranges.parts
            if cut not in self._cuts:
                self._of[self._orders[tree]].reads.append(len(self._cuts))
                self._cuts[cut] = _Cuts(used)
                used += len(ranges.parts)
            self._cuts[cut].targets.append(extension.target)
        self._used = used

    def _entered(self, tree: int) -> frozenset[int]:
        """Return the classes of the events that are entered in a tree."""
        state = self._kept.kept[self._of[tree].node][0]
        return frozenset(number for number, taken in enumerate(self._taken) if state in taken)

    def _shared_orders(self) -> list[int]:
        """Return for each tree the first one whose ranks it has.

        That is one in the same order, for some of the same events: they are sorted once.
        """
        orders: list[int] = []
        entered: dict[int, frozenset[int]] = {}
        for number, tree in enumerate(self._of):
            mine = self._entered(number)
            order = number
            for first, asking in entered.items():
                if self._of[first].order == tree.order and asking & mine:
                    order = first
                    break
            entered[order] = entered.get(order, frozenset()) | mine
            orders.append(order)
        return orders

    def _ranges(self, extension: Extension) -> _Ranges:
        """Return how the predecessors of an extension are looked up."""
        cuts = [cut for part in extension.ranges for cut in part]
        by = axis(cuts)
        assert by is not None
        column = self._columns.of_axis(by, cuts)
        parts = tuple(tuple(self._edges(part, by)) for part in extension.ranges)
        if len(parts) > 1:
            return _Ranges(w.RANGE, column, False, w.CUT_OUT, parts)
        (edges,) = parts
        state = self._kept.kept[extension.source][0]
        is_own = state == extension.target and all(
            (edge.before, edge.after, edge.shift) == (column, column, -1) for edge in edges
        )
        equal = len(cuts) == 1 and cuts[0].operator is Operator.EQ
        if equal and edges[0].before == column and edges[0].shift < 0:
            return _Ranges(w.POINT, column, False, w.OWN if is_own else w.CUT_OUT, parts)
        sides = {edge.is_high for edge in edges}
        if len(sides) == 2:
            return _Ranges(w.RANGE, column, False, w.CUT_OUT, parts)
        turned = goes_down(cuts, by)
        if turned:
            edges = tuple(replace(edge, is_high=True) for edge in edges)
        how = w.CUT_OUT
        if is_own and len(edges) == 1:
            how = w.OWN_UP_TO if edges[0].operator in {w.UP_TO, w.FROM_ON} else w.OWN_BELOW
        return _Ranges(w.PREFIX, column, turned, how, (edges,))

    def _edges(self, cuts: Sequence[Cut], by: Expression) -> Iterator[_Edge]:
        for cut in cuts:
            before, after, shift = self._columns.of_cut(cut)
            for operator, is_high in sides(cut, by):
                yield _Edge(_OPERATORS[operator], before, after, shift, is_high)

    def written(self, first_state: int, rooms: Rooms) -> tuple[Ints, Sizes]:
        """Return all words, tables first; what they say of classes is a flag for each, in lists."""
        template, kept, classes, taken = self._template, self._kept, self._classes, self._taken
        emptied = [self._emptied(*decoded) for decoded in classes]
        resets = {node for nodes in emptied for node in nodes}
        edges = [edge for _, parts in self._cuts for part in parts for edge in part]
        head = [0] * w.HEAD
        place = w.HEAD
        for table, length in (
            (w.NODES_AT, len(kept.kept) * w.NODE),
            (w.TREES_AT, len(self._of) * w.TREE),
            (w.CUT_READS_AT, len(self._cuts) * w.CUT_READ),
            (w.CUTS_AT, len(edges) * w.CUT),
            (w.CLASSES_AT, len(classes)),
        ):
            head[table] = place
            place += length
        lists = _Lists(place)
        head[w.BY_TIME], head[w.ROOM] = int(rooms.by_time), rooms.rows
        head[w.NODES], head[w.TREES], head[w.RESETS] = len(kept.kept), len(self._of), len(resets)
        window = template.query.window
        head[w.OVERLAP] = int(window is not None and window.step < window.within)
        sides = [end.side for end in template.ends]
        finals = [
            lists.put(n for n, side in zip(kept.ends, sides, strict=True) if side == final)
            for final in range(self._finals)
        ]
        head[w.ENDS] = lists.put(finals)
        head[w.FOUND] = w.FIRST_NODE + len(kept.kept)
        first_row = head[w.FOUND] + max(map(len, taken), default=0) * rooms.moment
        arena = _Arena(len(self._of), self._used, rooms.rows, logged=bool(resets))
        head[w.KEYS], head[w.SORTED] = arena.keys, arena.sorted
        trees, rows = self._tree_words(lists, first_row, arena)
        words = [*self._node_words(lists), *trees, *self._read_words(lists, arena)]
        for edge in edges:
            words += [edge.operator, int(edge.is_high), edge.before, edge.after, edge.shift]
        places = [
            lists.add(self._state_words(state, resets, head, arena, first_state))
            for state in range(len(template.states))
        ]
        for nodes, states in zip(emptied, taken, strict=True):
            words.append(lists.put(nodes))
            lists.put(places[state] for state in states)
        return np.array([*head, *words, *lists.numbers], dtype=np.int64), Sizes(arena.size, rows)

    def _state_words(
        self,
        state: int,
        resets: AbstractSet[int],
        head: Sequence[int],
        arena: _Arena,
        first_state: int,
    ) -> list[int]:
        reads: list[int] = []
        whole = w.TOTAL
        for read, tree, ranges in self._reads:
            if read.target != state:
                continue
            if ranges is None:
                row = w.FIRST_NODE + read.source
                if whole == w.TOTAL:
                    whole = row
                else:
                    reads += [w.ALL, row, 0, 0]
                continue
            of = head[w.TREES_AT] + tree * w.TREE
            if ranges.how != w.CUT_OUT:
                reads += [ranges.how, of, arena.ranks(self._orders[tree]), 0]
                continue
            slot = self._cuts[self._orders[tree], ranges.parts].slot
            for part in range(len(ranges.parts)):
                reads += [w.CUT_OUT, of, *arena.bounds(slot + part)]
        words = [int(state in self._kept.starts), first_state + state, whole]
        words += [len(reads) // w.READ, *reads]
        nodes = [n for n, (of, _) in enumerate(self._kept.kept) if of == state]
        words.append(len(nodes))
        for node in nodes:
            trees = [n for n, tree in enumerate(self._of) if tree.node == node]
            words += [w.FIRST_NODE + node, int(node in resets), len(trees)]
            for tree in trees:
                words += [head[w.TREES_AT] + tree * w.TREE, arena.ranks(self._orders[tree])]
        return words

    def _node_words(self, lists: _Lists) -> list[int]:
        words: list[int] = []
        first = w.HEAD + len(self._kept.kept) * w.NODE
        for node, (state, _) in enumerate(self._kept.kept):
            mine = (first + n * w.TREE for n, tree in enumerate(self._of) if tree.node == node)
            words += [lists.put(mine), int(state == START)]
        return words

    def _tree_words(self, lists: _Lists, first_row: int, arena: _Arena) -> tuple[list[int], int]:
        """Return the words of trees, and how many rows of sums there are with theirs."""
        words: list[int] = []
        for number, (tree, order) in enumerate(zip(self._of, self._orders, strict=True)):
            read = tree.read
            sharing = [n for n, first in enumerate(self._orders) if first == number]
            entering = frozenset[int]().union(*map(self._entered, sharing))
            words += [read.kind, first_row, order, len(self._of) + number, arena.log(number)]
            words += [arena.ranks(order), read.axis if order == number else w.RANKED_BEFORE]
            words += [int(read.turned), lists.put(sorted(tree.known | {read.axis}))]
            words.append(lists.put(int(n in entering) for n in range(len(self._classes))) + 1)
            words += [lists.put(tree.reads), arena.kept(number)]
            first_row += arena.rows * (2 if read.kind == w.RANGE else 1)
        return words, first_row

    def _read_words(self, lists: _Lists, arena: _Arena) -> list[int]:
        words: list[int] = []
        first = 0
        for (_, cut_at), cuts in self._cuts.items():
            parts = []
            for edges in cut_at:
                parts.append(lists.put(range(first, first + len(edges))))
                first += len(edges)
            words += [*arena.bounds(cuts.slot), lists.put(parts)]
            reading = (int(not set(cuts.targets).isdisjoint(states)) for states in self._taken)
            words.append(lists.put(reading) + 1)
        return words

    def _emptied(self, type_name: str, true: frozenset[Expression]) -> list[int]:
        """Return the nodes that an event of a class empties."""
        forbidden = {
            number
            for number, negative in enumerate(self._template.negatives)
            if negative.fits(type_name, true)
        }
        return [n for n, (_, way) in enumerate(self._kept.kept) if way & forbidden]


@dataclass(frozen=True, slots=True)
class _Arena:
    """Where in the arena is what: first, of each tree, how many ranks it has and were entered."""

    trees: int
    bounded: int  # ranges that are looked for
    rows: int
    _: KW_ONLY
    logged: bool  # whether trees are emptied by events

    def log(self, tree: int) -> int:
        """Return where the ranks are that were entered into a tree."""
        return 2 * self.trees + tree * self.rows * self.logged

    def ranks(self, tree: int) -> int:
        """Return where the ranks of rows are for a tree."""
        return 2 * self.trees + (self.trees * self.logged + tree) * self.rows

    def bounds(self, slot: int) -> tuple[int, int]:
        """Return where for each row a range's first rank is, and the one after its last."""
        first = 2 * self.trees + (self.trees * (1 + self.logged) + 2 * slot) * self.rows
        return first, first + self.rows

    @property
    def keys(self) -> int:
        """Where the room is to sort."""
        return self.bounds(self.bounded)[0]

    @property
    def sorted(self) -> int:
        """Where it stands which rows are sorted."""
        return self.keys + 4 * self.rows + w.DIGITS

    def kept(self, tree: int) -> int:
        """Return where a tree's sorted rows are."""
        return self.sorted + w.SORTED_WORDS + tree * (1 + 4 * (self.rows + 1))

    @property
    def size(self) -> int:
        """How long it is."""
        return self.kept(self.trees)


class _Lists:
    """Lists of numbers one after another, each with its length first."""

    def __init__(self, first: int) -> None:
        self._first = first
        self.numbers: list[int] = []

    def put(self, items: Iterable[int]) -> int:
        """Add a list; return its place."""
        numbers = list(items)
        return self.add([len(numbers), *numbers])

    def add(self, words: Sequence[int]) -> int:
        """Add words as they are; return their place."""
        place = self._first + len(self.numbers)
        self.numbers += words
        return place
