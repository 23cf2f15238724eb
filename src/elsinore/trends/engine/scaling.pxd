from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void make_scaled(Program program, Store store, Py_ssize_t slot) noexcept nogil
