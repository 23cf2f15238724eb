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
    cdef public Near[::1] near
    cdef public int near_count
    cdef public double threshold
    cdef public long long longest
    cdef public int high
    cdef public int has_gaps
    cdef public long long window_begin
    cdef public long long window_end
    cdef public long long within
    cdef public int has_sets
    cdef public int register
    cdef public int repeats
    cdef public long long summed
    cdef public long long budget
