# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef double choose_cohorts(double events, double scale, double[::1] separate, double[::1] values, unsigned char[::1] chosen, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
cdef double decide(Program program, Store store, Py_ssize_t slot, Py_ssize_t number, double events) noexcept nogil
