# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void store_moment(Program program, Store store, Py_ssize_t slot) noexcept nogil
cdef void empty(Program program, Store store, Py_ssize_t slot, Py_ssize_t at) noexcept nogil
