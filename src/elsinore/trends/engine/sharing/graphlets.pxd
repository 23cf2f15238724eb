# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Batch, Program

cdef void begin_graphlet(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef void end_graphlet(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef void take(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t section) noexcept nogil
cdef void store_graphlets(Program program, Store store, Py_ssize_t slot) noexcept nogil
cdef Py_ssize_t take_row(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t known) noexcept nogil
