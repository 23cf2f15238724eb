# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void add_to_totals(Program program, Store store, int slot, int kind, int lane, long long window) noexcept nogil
