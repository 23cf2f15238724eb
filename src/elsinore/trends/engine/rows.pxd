from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Batch, Program

cdef void new_row(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t block) noexcept nogil
cdef void keep_row(Store store, Py_ssize_t slot, Py_ssize_t rows) noexcept nogil
cdef void clear_gathered(Program program, Store store, Py_ssize_t at, Py_ssize_t place) noexcept nogil
cdef void read_rows(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t at, Py_ssize_t place) noexcept nogil
cdef void store_rows(Program program, Store store, Py_ssize_t slot, Py_ssize_t block) noexcept nogil
cdef void drop_rows(Program program, Store store, Py_ssize_t slot, Py_ssize_t block) noexcept nogil
cdef void empty_row_lanes(Program program, Store store, Py_ssize_t slot, Py_ssize_t block, Py_ssize_t lane, Py_ssize_t lanes, Py_ssize_t step) noexcept nogil
cdef void forget_rows_before(Program program, Store store, Py_ssize_t slot, Py_ssize_t block, long long moment) noexcept nogil
cdef void add_up_rows(Program program, Store store, Py_ssize_t slot, Py_ssize_t block, Py_ssize_t lane, Py_ssize_t step) noexcept nogil
cdef bint may_follow(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t at, Py_ssize_t row) noexcept nogil
cdef Py_ssize_t place_of_anchor(Store store, Py_ssize_t begin, Py_ssize_t count, Py_ssize_t near, long long anchor) noexcept nogil
