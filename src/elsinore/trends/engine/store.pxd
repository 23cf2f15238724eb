# cython: language_level=3
from elsinore.trends.engine.tables cimport Range, Slot, Total

cdef class Store:
    cdef public Slot[::1] slots
    cdef public double[:, ::1] cells
    cdef public double[:, ::1] powers
    cdef public double[:, ::1] added
    cdef public double[:, ::1] added_powers
    cdef public long long[:, ::1] extremes
    cdef public long long[:, ::1] added_extremes
    cdef public unsigned char[:, ::1] emptied
    cdef public int[:, ::1] touched
    cdef public Range[:, ::1] ranges
    cdef public long long[:, ::1] first
    cdef public long long[:, ::1] last
    cdef public double[:, ::1] work
    cdef public double[:, ::1] work_powers
    cdef public Total[::1] totals
    cdef public double[:, ::1] total_cells
    cdef public double[:, ::1] total_powers
    cdef public long long[:, ::1] total_extremes
    cdef public int[::1] places
    cdef public Py_ssize_t total_count
    cdef public Py_ssize_t most_totals
    cdef public long long matched
    cdef public bint ordered
    cdef public bint one_slot
    cdef public object shape
