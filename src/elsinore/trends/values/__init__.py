"""What events add up: columns of numbers, deviations from a shift, variances from sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]

NEVER = np.int64(np.iinfo(np.int64).min)  # before all times
FOREVER = np.int64(np.iinfo(np.int64).max)  # after all times; also the least of no ranks
