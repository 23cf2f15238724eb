# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef long long first_to_end_after(Program program, Py_ssize_t kind, long long time) noexcept nogil
cdef long long end_of(Program program, Py_ssize_t kind, long long window) noexcept nogil
cdef void close_windows(Program program, Store store, Py_ssize_t slot, Py_ssize_t kind, long long end) noexcept nogil
cdef void move_windows(Program program, Store store, Py_ssize_t slot, long long time) noexcept nogil
