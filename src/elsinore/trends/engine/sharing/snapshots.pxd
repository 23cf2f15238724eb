# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void put_in(Program program, Store store, Py_ssize_t slot, Py_ssize_t number, Py_ssize_t arriving) noexcept nogil
cdef Py_ssize_t first_weight(Program program, Py_ssize_t number, Py_ssize_t addend) noexcept nogil
cdef Py_ssize_t first_least(Program program, Py_ssize_t number, Py_ssize_t rank) noexcept nogil
cdef void put_form_in(Program program, Store store, Py_ssize_t slot, Py_ssize_t number, Py_ssize_t span, Py_ssize_t member, Py_ssize_t nodes, Py_ssize_t form, Py_ssize_t arriving) noexcept nogil
