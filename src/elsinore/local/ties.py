"""Counting simultaneous events of one key and pattern in this process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.operators.ties import TieTypes
from elsinore.plan import Unit
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.rows import simultaneous
from elsinore.runtime.travelling import ClassFilter
from elsinore.runtime.units import Read, event_classes


def count_tied(
    unit: Unit,
    times: NDArray[np.int64],
    keys: NumberedKeys,
    places: tuple[Numbering, Sequence[str]],
    read: Read,
    threads: int,
) -> int:
    """Return the number of a unit's tied events (`elsinore.operators.ties`).

    times: ascending. places: the events' types as places among names, and the names.
    """
    tie_types = TieTypes(unit)
    if not tie_types:
        return 0
    rows, moments = simultaneous(times, keys.key, threads)
    if not len(rows):
        return 0
    numbers, names = places
    row_indices = to_arrow(rows)
    codes = event_classes(
        unit, numbers.whole(threads)[rows], names, lambda name: read(name).take(row_indices)
    )
    codes = ClassFilter(unit).apply(codes)
    is_relevant = codes >= 0
    types = tie_types.of_classes(codes[is_relevant])
    return int(np.count_nonzero(tie_types.tied(moments[is_relevant], types)))
