# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Batch, Program

cdef bint take_compared(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t section) noexcept nogil
