# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef bint keep_form(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef void catch_up(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef void catch_up_units(Program program, Store store, Py_ssize_t slot, Py_ssize_t at) noexcept nogil
