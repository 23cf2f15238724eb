# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Batch, Program

cdef void act(Program program, Store store, Batch batch, Py_ssize_t event, Py_ssize_t slot, Py_ssize_t at, Py_ssize_t begin, Py_ssize_t lanes) noexcept nogil
cdef double addend_of(Batch batch, Py_ssize_t event, Py_ssize_t addend) noexcept nogil
cdef void gather(Program program, Store store, Py_ssize_t slot, Py_ssize_t number, Py_ssize_t begin, Py_ssize_t lanes, Py_ssize_t row) noexcept nogil
cdef void gather_scaled(Program program, Store store, Py_ssize_t slot, Py_ssize_t number, Py_ssize_t begin, Py_ssize_t lanes, Py_ssize_t row) noexcept nogil
cdef void add_products(Store store, double value, Py_ssize_t lanes) noexcept nogil
cdef long long least_of(Program program, Store store, Py_ssize_t slot, Py_ssize_t number, Py_ssize_t lane, long long rank) noexcept nogil
