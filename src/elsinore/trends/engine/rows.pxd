from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Batch, Program

cdef bint has_row_room(Program program, Store store, int slot) noexcept nogil
cdef void new_row(Program program, Store store, Batch batch, Py_ssize_t event, int slot, int block) noexcept nogil
cdef void keep_row(Store store, int slot, int rows) noexcept nogil
cdef void read_rows(Program program, Store store, Batch batch, Py_ssize_t event, int slot, int at, int place) noexcept nogil
cdef void store_rows(Program program, Store store, int slot, int block) noexcept nogil
cdef void drop_rows(Program program, Store store, int slot, int block) noexcept nogil
cdef void empty_row_lanes(Program program, Store store, int slot, int block, int lane, int lanes, int step) noexcept nogil
cdef void forget_rows_before(Program program, Store store, int slot, int block, long long time) noexcept nogil
cdef void add_row(Program program, Store store, int slot, int at, int place, int row) noexcept nogil
