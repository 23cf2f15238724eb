from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef bint has_row_room(Program program, Store store, Py_ssize_t slot) noexcept nogil
cdef Py_ssize_t allocate(Store store, Py_ssize_t slot, Py_ssize_t level) noexcept nogil
cdef void free_rows(Store store, Py_ssize_t slot, Py_ssize_t begin, Py_ssize_t level) noexcept nogil
cdef void copy_event(Program program, Store store, Py_ssize_t block, Py_ssize_t row, Py_ssize_t to) noexcept nogil
cdef void copy_row(Program program, Store store, Py_ssize_t block, Py_ssize_t row, Py_ssize_t to) noexcept nogil
cdef void clear_row(Program program, Store store, Py_ssize_t block, Py_ssize_t row) noexcept nogil
cdef void add_rows(Program program, Store store, Py_ssize_t slot, Py_ssize_t block, Py_ssize_t row, Py_ssize_t other, Py_ssize_t to) noexcept nogil
cdef void add_to_row(Program program, Store store, Py_ssize_t slot, Py_ssize_t block, Py_ssize_t row, Py_ssize_t to) noexcept nogil
cdef void add_row(Program program, Store store, Py_ssize_t slot, Py_ssize_t at, Py_ssize_t place, Py_ssize_t row) noexcept nogil
cdef void empty_lanes_of(Program program, Store store, Py_ssize_t block, Py_ssize_t row, Py_ssize_t lane, Py_ssize_t lanes, Py_ssize_t step) noexcept nogil
cdef Py_ssize_t level_of(Py_ssize_t rows) noexcept nogil
cdef void empty_lane(Program program, Store store, Py_ssize_t slot, Py_ssize_t block, Py_ssize_t lane) noexcept nogil
