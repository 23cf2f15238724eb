"""Extended-range numbers: doubles with a separate exponent.

A number is a pair (mantissa, exponent) with the value `mantissa * 2**(256 * exponent)`; the
exponent is an integer of at least 0. Up to 2**384 the exponent is 0 and the number is a
plain double, so counts are exact up to 2**53; beyond that, nothing overflows before
2**(256 * 2**31).
"""

from elsinore.numeric.arrays import log2, ratio, to_double
from elsinore.numeric.extended import LIMB_BITS, THRESHOLD, add, add_runs, product, scale

__all__ = [
    "LIMB_BITS",
    "THRESHOLD",
    "add",
    "add_runs",
    "log2",
    "product",
    "ratio",
    "scale",
    "to_double",
]
