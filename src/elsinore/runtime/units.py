"""Building the input batches of a unit's operator from a table of events in time order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.expressions.columns import doubles, evaluate
from elsinore.operators.ranks import to_ranks
from elsinore.plan import Carried, Travel, Unit
from elsinore.runtime.chunks import plain
from elsinore.runtime.classify import classify
from elsinore.runtime.keys import Keys, NumberedKeys, number_keys

Read = Callable[[str], pa.Array]  # an attribute of all events, by its name


def keys_of(unit: Unit, read: Read, rows: int, threads: int = 1) -> NumberedKeys:
    """Number the keys and groups of a unit; units with equal attributes can share the result."""
    return number_keys(
        [read(name) for name in unit.group_by],
        [read(name) for name in unit.equivalence],
        [read(name) for name in unit.required],
        rows,
        threads,
    )


def event_classes(
    unit: Unit, numbers: NDArray[np.int32], names: Sequence[str], read: Read
) -> NDArray[np.int64]:
    """Return the classes of events, whose types are `numbers` in `names` (see `type_places`)."""
    columns = {name: read(name) for name in unit.classes.attributes}
    return classify(unit.classes, numbers, names, columns)


def batch_of(
    unit: Unit,
    keys: Keys,
    times: NDArray[np.int64],
    codes: NDArray[np.int64],
    read: Read,
) -> pa.RecordBatch:
    """Return the batch of events: key, group, time, class (see `event_classes`), and columns."""
    if keys.incomplete:
        codes = np.where(keys.key < 0, -1, codes)
    return pa.RecordBatch.from_pydict(
        {
            "key": to_arrow(keys.key),
            "group": to_arrow(keys.group),
            "time": to_arrow(times),
            "class": to_arrow(codes),
        }
        | {column.name: _carried(column, read, len(times)) for column in unit.columns}
    )


def _carried(column: Carried, read: Read, rows: int) -> pa.Array:
    """Return a column as it travels to the operator."""
    if isinstance(column.source, str):
        source = read(column.source)
    else:
        source = evaluate(column.source, {name: read(name) for name in column.attributes})
        if isinstance(source, pa.Scalar):
            source = pa.repeat(source, rows)
    match column.travel:
        case Travel.DOUBLE:
            return doubles(source)
        case Travel.RANK:
            return to_ranks(plain(source), column.quoted)
        case Travel.RAW:
            return plain(source)
