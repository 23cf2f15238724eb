# cython: language_level=3
from elsinore.trends.engine.tables cimport Number

cdef Number normal(double mantissa, double power) noexcept nogil
cdef Number plus(Number left, Number right) noexcept nogil
cdef Number times(Number number, double factor) noexcept nogil
cdef Number product(Number left, Number right) noexcept nogil
cdef Number pairs(Number left, Number right, Number both) noexcept nogil
cdef void add_lanes(double[:, ::1] cells, double[:, ::1] powers, Py_ssize_t at, Py_ssize_t first, double[:, ::1] others, double[:, ::1] other_powers, Py_ssize_t row, Py_ssize_t begin, Py_ssize_t period, Py_ssize_t lanes) noexcept nogil
cdef void add_multiples(double[:, ::1] cells, double[:, ::1] powers, Py_ssize_t at, Py_ssize_t first, double[:, ::1] others, double[:, ::1] other_powers, Py_ssize_t row, double[::1] factors, double[::1] factor_powers, Py_ssize_t lanes) noexcept nogil
