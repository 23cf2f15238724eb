# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Batch, Program

cdef void carry(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t at) noexcept nogil
