# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void set_limits(Program program, Store store, Py_ssize_t slot, Py_ssize_t guard) noexcept nogil
cdef void read_beginnings(Program program, Store store, Py_ssize_t slot, Py_ssize_t at, Py_ssize_t place) noexcept nogil
cdef void note_matches(Program program, Store store, Py_ssize_t slot, Py_ssize_t block) noexcept nogil
