# cython: language_level=3
from elsinore.trends.engine.tables cimport Number

cdef Number normal(double mantissa, double power) noexcept nogil
cdef Number plus(Number left, Number right) noexcept nogil
cdef Number times(Number number, double factor) noexcept nogil
cdef Number product(Number left, Number right) noexcept nogil
cdef Number pairs(Number left, Number right, Number both) noexcept nogil
