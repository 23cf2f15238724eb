"""Lists of events as codes, in which conditions look up values: `c.ip IN d.ips`.

The codes are those of one search: they are made of the rows that it reads, and nothing is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_numpy, whole
from elsinore.errors import InputError
from elsinore.expressions.columns import values
from elsinore.expressions.lists import NULL_CODE, codes, elements
from elsinore.matches.arrays import Ints


@dataclass(frozen=True, slots=True)
class Members:
    """The sorted codes of the elements of lists: list n has those from `starts[n]` on.

    A null element has the least code of all.
    """

    starts: Ints
    codes: Ints


NO_MEMBERS = Members(np.zeros(0, np.int64), np.zeros(0, np.int64))


def put_members(
    places: Mapping[tuple[str, str], int], read: Callable[[str], pa.Array], wholes: Ints
) -> Members:
    """Fill rows of integers with numbers of lists and codes of values; return the lists.

    `places` are the rows by the attribute of lists and that of values: the numbers of lists are in
    this row, the codes of values in the next. `read` returns an attribute of all rows.
    Raises InputError if an attribute has no lists, or its elements and the values cannot be
    compared.
    """
    starts: list[Ints] = []
    of_elements: list[Ints] = []
    first, begin = 0, 0  # number of the next list, place of its codes
    for (of_lists, of_values), row in places.items():
        lists, looked_up = whole(read(of_lists)), values(whole(read(of_values)))
        try:
            sizes, flat = elements(lists)
            members, wanted = codes(values(flat), looked_up)
        except InputError as error:
            raise InputError(f"{of_values} IN {of_lists}: {error}") from None
        owner = np.repeat(np.arange(len(sizes)), sizes)
        of_elements.append(members[np.lexsort((members, owner))])
        starts.append(begin + np.append(0, np.cumsum(sizes)))
        numbers = first + np.arange(len(sizes))
        wholes[row] = np.where(to_numpy(lists.is_null()), NULL_CODE, numbers)
        wholes[row + 1] = wanted
        first, begin = first + len(sizes) + 1, begin + len(members)
    return Members(np.concatenate(starts), np.concatenate(of_elements)) if starts else NO_MEMBERS
