# cython: language_level=3
cdef double EDGE
cdef double EVENT
cdef double GROWTH
cdef double SCALED
cdef double VALUE

cdef double price(double events, double scale, Py_ssize_t sharing, double values, Py_ssize_t others, double separate) noexcept nogil
