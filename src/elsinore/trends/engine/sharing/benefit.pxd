# cython: language_level=3
cdef double EVENT
cdef double GRAPHLET
cdef double PART
cdef double CUT
cdef double SCALED

cdef double plan_cost(double events, double changes, double scale, double[::1] separate, double[::1] values, double[::1] created, unsigned char[::1] chosen, Py_ssize_t begin, Py_ssize_t end, double most_parts) noexcept nogil
