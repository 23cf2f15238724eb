"""What kernels of the engine take: a header, whole numbers, doubles and the program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]

NEVER = np.int64(np.iinfo(np.int64).min)  # before all times
FOREVER = np.int64(np.iinfo(np.int64).max)  # after all times; also the least of no ranks
BEFORE_ALL = np.int64(-(2**62))  # before the index of any window

# whether a unit has groups that share bursts; what only these take is not compiled for the others
Shares = np.int64 | None
ALONE, SHARING = None, np.int64(1)


class Columns(NamedTuple):
    """A batch as the kernels read it, and what is known of its classes.

    times, keys, groups, codes: [event]; a code below 0 is of no interest. known: [code] -> where
    the program tells of the class, OF_NO_INTEREST or UNKNOWN. addends, ranks: those of event 0, of
    event 1, ...
    """

    times: Ints
    keys: Codes
    groups: Codes
    codes: Ints
    known: Ints
    addends: Doubles
    ranks: Ints
