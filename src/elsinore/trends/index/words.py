"""A guarded template as words for the kernels of indexed windows (`index.layout`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from elsinore.model.expression import Expression, Operator
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.indexed import Extension, Indexed, axis, slope
from elsinore.plan.template import START
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


@dataclass(frozen=True, slots=True)
class _Range:
    """What an extension reads: a tree, how, and where it is cut."""

    kind: int
    axis: int
    turned: bool
    how: int
    edges: tuple[_Edge, ...]


@dataclass(slots=True)
class _Tree:
    node: int
    read: _Range  # the first that reads it
    known: frozenset[int]
    reads: list[int] = field(default_factory=list)


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
    template: GuardedTemplate,
    kept: Indexed,
    classes: Sequence[tuple[str, frozenset[Expression]]],
    columns: Columns,
    first_state: int,
    rooms: Rooms,
) -> tuple[Ints, Sizes]:
    """Return the words of a template for events of some classes, and the room that it takes.

    first_state: the number that its state 0 has among the program's. Raises InfiniteError as
    `Columns.of_cut` does.
    """
    return _Writer(template, kept, columns).written(classes, first_state, rooms)


class _Writer:
    def __init__(self, template: GuardedTemplate, kept: Indexed, columns: Columns) -> None:
        self._template, self._kept, self._columns = template, kept, columns
        self._trees: dict[tuple[object, ...], int] = {}
        self._of: list[_Tree] = []
        self._reads: list[tuple[Extension, int, _Range | None]] = []
        self._slots: dict[int, int] = {}  # of the reads whose ranges are looked for
        for extension in kept.extensions:
            found = self._range(extension) if extension.cuts else None
            tree = -1
            if found is not None:
                known = frozenset(edge.before for edge in found.edges)
                name = (extension.source, found.kind, found.axis, found.turned, known)
                tree = self._trees.setdefault(name, len(self._of))
                if tree == len(self._of):
                    self._of.append(_Tree(extension.source, found, known))
                if found.how == w.CUT_OUT:
                    self._slots[len(self._reads)] = len(self._slots)
                    self._of[tree].reads.append(len(self._reads))
            self._reads.append((extension, tree, found))

    def _range(self, extension: Extension) -> _Range:
        """Return how the predecessors of an extension are looked up."""
        cuts = extension.cuts
        by = axis(cuts)
        assert by is not None
        column = self._columns.of_axis(by, cuts)
        edges: list[_Edge] = []
        for cut in cuts:
            before, after, shift = self._columns.of_cut(cut)
            rises = cut.previous == by or (slope(cut.previous) or (by, 1))[1] > 0
            for operator in (
                (Operator.GE, Operator.LE) if cut.operator is Operator.EQ else (cut.operator,)
            ):
                below = operator in {Operator.LT, Operator.LE}
                edges.append(_Edge(_OPERATORS[operator], before, after, shift, below == rises))
        state = self._kept.kept[extension.source][0]
        own = state == extension.target and all(
            (edge.before, edge.after, edge.shift) == (column, column, -1) for edge in edges
        )
        equal = len(cuts) == 1 and cuts[0].operator is Operator.EQ
        if equal and edges[0].before == column and edges[0].shift < 0:
            how = w.OWN if own else w.CUT_OUT
            return _Range(w.POINT, column, False, how, tuple(edges))
        sides = {edge.is_high for edge in edges}
        if len(sides) == 2:
            return _Range(w.RANGE, column, False, w.CUT_OUT, tuple(edges))
        turned = sides == {False}
        if turned:
            edges = [_Edge(e.operator, e.before, e.after, e.shift, True) for e in edges]
        how = w.CUT_OUT
        if own and len(edges) == 1:
            how = w.OWN_UP_TO if edges[0].operator in {w.UP_TO, w.FROM_ON} else w.OWN_BELOW
        return _Range(w.PREFIX, column, turned, how, tuple(edges))

    def written(
        self, classes: Sequence[tuple[str, frozenset[Expression]]], first_state: int, rooms: Rooms
    ) -> tuple[Ints, Sizes]:
        """Return all words, tables first; what they say of classes is a flag for each, in lists."""
        template, kept = self._template, self._kept
        taken = [sorted(template.fits(*told)) for told in classes]
        emptied = [self._emptied(*told) for told in classes]
        resets = {node for nodes in emptied for node in nodes}
        edges = [edge for _, _, found in self._reads for edge in (found.edges if found else ())]
        head = [0] * w.HEAD
        place = w.HEAD
        for table, length in (
            (w.STATES_AT, len(template.states) * w.STATE),
            (w.NODES_AT, len(kept.kept) * w.NODE),
            (w.TREES_AT, len(self._of) * w.TREE),
            (w.READS_AT, len(self._reads) * w.READ),
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
        head[w.ENDS] = lists.put(kept.ends)
        head[w.FOUND] = w.FIRST_NODE + len(kept.kept)
        first_row = head[w.FOUND] + max(map(len, taken), default=0) * rooms.moment
        trees, rows = self._tree_words(taken, lists, first_row, rooms)
        words = [
            *self._state_words(lists, first_state),
            *self._node_words(lists, resets),
            *trees,
            *self._read_words(taken, lists),
        ]
        for edge in edges:
            words += [edge.operator, int(edge.is_high), edge.before, edge.after, edge.shift]
        for nodes, states in zip(emptied, taken, strict=True):
            words.append(lists.put(nodes))
            lists.put(states)
        size = self._lay_out(head, rooms.rows, logged=bool(resets))
        return np.array([*head, *words, *lists.numbers], dtype=np.int64), Sizes(size, rows)

    def _lay_out(self, head: list[int], rows: int, *, logged: bool) -> int:
        """Tell the parts of the arena in the head; return how long it is."""
        trees, size = len(self._of), 0
        for part, length in (
            (w.SIZES, trees),
            (w.ENTERED, trees),
            (w.LOG, trees * rows * logged),
            (w.RANK, trees * rows),
            (w.LOW, len(self._slots) * rows),
            (w.HIGH, len(self._slots) * rows),
            (w.KEYS, 4 * rows + w.DIGITS),
        ):
            head[part] = size
            size += length
        return size

    def _state_words(self, lists: _Lists, first_state: int) -> list[int]:
        words: list[int] = []
        for state in range(len(self._template.states)):
            reads = (n for n, (read, _, _) in enumerate(self._reads) if read.target == state)
            nodes = (n for n, (of, _) in enumerate(self._kept.kept) if of == state)
            begins = state in self._kept.starts
            words += [int(begins), lists.put(reads), lists.put(nodes), first_state + state]
        return words

    def _node_words(self, lists: _Lists, resets: AbstractSet[int]) -> list[int]:
        words: list[int] = []
        for node, (state, _) in enumerate(self._kept.kept):
            trees = lists.put(n for n, tree in enumerate(self._of) if tree.node == node)
            words += [trees, int(state == START), int(node in resets)]
        return words

    def _tree_words(
        self, taken: Sequence[Sequence[int]], lists: _Lists, first_row: int, rooms: Rooms
    ) -> tuple[list[int], int]:
        """Return the words of trees, and how many rows of sums there are with theirs."""
        words: list[int] = []
        for tree in self._of:
            read = tree.read
            words += [read.kind, read.axis, int(read.turned), first_row]
            words.append(lists.put(sorted(tree.known | {read.axis})))
            words.append(_taking(lists, taken, self._kept.kept[tree.node][0]))
            words.append(lists.put(tree.reads))
            first_row += rooms.rows * (2 if read.kind == w.RANGE else 1)
        return words, first_row

    def _read_words(self, taken: Sequence[Sequence[int]], lists: _Lists) -> list[int]:
        words: list[int] = []
        first = 0
        for number, (extension, tree, found) in enumerate(self._reads):
            cuts = len(found.edges) if found else 0
            words += [extension.source, tree, found.how if found else w.ALL]
            words.append(self._slots.get(number, -1))
            words.append(lists.put(range(first, first + cuts)))
            words.append(_taking(lists, taken, extension.target))
            first += cuts
        return words

    def _emptied(self, type_name: str, true: frozenset[Expression]) -> list[int]:
        """Return the nodes that an event of a class empties."""
        forbidden = {
            number
            for number, negative in enumerate(self._template.negatives)
            if negative.fits(type_name, true)
        }
        return [n for n, (_, way) in enumerate(self._kept.kept) if way & forbidden]


def _taking(lists: _Lists, taken: Sequence[Sequence[int]], state: int) -> int:
    """Return where flags are of the classes that take a state."""
    return lists.put(int(state in states) for states in taken) + 1


class _Lists:
    """Lists of numbers one after another, each with its length first."""

    def __init__(self, first: int) -> None:
        self._first = first
        self.numbers: list[int] = []

    def put(self, items: Iterable[int]) -> int:
        """Add a list; return its place."""
        found = list(items)
        place = self._first + len(self.numbers)
        self.numbers += [len(found), *found]
        return place
