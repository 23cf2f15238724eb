"""Arrays as the type checker sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Doubles = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]
