# cython: language_level=3
cdef double GROWTH
cdef double SCALED

cdef double price(double events, double scale, Py_ssize_t sharing, double values, Py_ssize_t others, double separate) noexcept nogil
