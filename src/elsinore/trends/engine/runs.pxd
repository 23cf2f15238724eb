from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void sort_leaf(Program program, Store store, Py_ssize_t slot, Py_ssize_t block) noexcept nogil
cdef void read_tree(Program program, Store store, Py_ssize_t slot, Py_ssize_t at, Py_ssize_t place, Py_ssize_t begin, Py_ssize_t count, long long low, long long high) noexcept nogil
cdef Py_ssize_t rows_up_to(Store store, Py_ssize_t begin, Py_ssize_t count, long long high) noexcept nogil
cdef Py_ssize_t rows_of_run(Program program, Py_ssize_t block, Py_ssize_t count) noexcept nogil
