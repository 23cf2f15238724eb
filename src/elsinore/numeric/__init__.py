"""Extended-range numbers: doubles with a separately kept exponent.

A number is a pair (mantissa, exponent) worth `mantissa * 2**(256 * exponent)`, the exponent a whole
number from 0 on. Up to 2**384 the exponent is 0 and the number is a plain double, so counts are
exact up to 2**53; beyond it nothing overflows before 2**(256 * 2**31).
"""

from elsinore.numeric.arrays import log2, ratio, to_double
from elsinore.numeric.extended import LIMB_BITS, THRESHOLD, add, product, scale

__all__ = ["LIMB_BITS", "THRESHOLD", "add", "log2", "product", "ratio", "scale", "to_double"]
