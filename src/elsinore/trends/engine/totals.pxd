# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void add_to_totals(Program program, Store store, Py_ssize_t slot, Py_ssize_t kind, Py_ssize_t lane, long long window) noexcept nogil
