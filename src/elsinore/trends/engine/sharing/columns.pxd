# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef Py_ssize_t column_of(Program program, Py_ssize_t number, Py_ssize_t column) noexcept nogil
cdef void add_up(Program program, Store store, Py_ssize_t slot, Py_ssize_t span, Py_ssize_t place, double[::1] form, Py_ssize_t first, Py_ssize_t begin, Py_ssize_t lanes, Py_ssize_t columns) noexcept nogil
cdef void put_columns_in(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef bint has_rows_apart(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef void split_rows(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
cdef void close_snapshots(Program program, Store store, Py_ssize_t slot, Py_ssize_t kind, Py_ssize_t window) noexcept nogil
cdef void forget_snapshots(Program program, Store store, Py_ssize_t slot) noexcept nogil
