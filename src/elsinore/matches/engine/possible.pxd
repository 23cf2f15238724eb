# cython: language_level=3
"""The structs of matches with uncertain times; `possible.py` has their NumPy types."""

cdef struct Step:
    long long row
    long long earliest
    long long latest
    int set
    int node
    int has_new

cdef class PossibleTimes:
    cdef public const long long[::1] starts
    cdef public const long long[::1] points
    cdef public const double[::1] odds
    cdef public const double[::1] sums

cdef class Worlds:
    cdef public PossibleTimes possible
    cdef public Step[::1] steps
    cdef public double[:, ::1] mass
    cdef public double[:, ::1] work
    cdef public long long[:, ::1] times
    cdef public const int[::1] sets
    cdef public double threshold
    cdef public long long longest
    cdef public long long window_begin
    cdef public long long window_end
    cdef public long long within
    cdef public int has_sets
    cdef public int register
    cdef public int repeats

cdef long long count_of(PossibleTimes possible, long long row) noexcept nogil
cdef long long first_point(PossibleTimes possible, long long row) noexcept nogil
cdef long long last_point(PossibleTimes possible, long long row) noexcept nogil
cdef double chance_between(PossibleTimes possible, long long row, long long after, long long before) noexcept nogil
