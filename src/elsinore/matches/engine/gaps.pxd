from elsinore.matches.engine.possible cimport PossibleTimes
from elsinore.matches.engine.tables cimport Key

cdef class Gaps:
    cdef public PossibleTimes possible
    cdef public Key[::1] keys
    cdef public const int[:, ::1] paths
    cdef public const long long[:, ::1] integers
    cdef public const unsigned char[:, ::1] breaks
    cdef public const int[:, ::1] ways
    cdef public int[::1] sets
    cdef public Near[::1] near
    cdef public Tied[::1] tied
    cdef public Choice[::1] choices
    cdef public double[:, ::1] mass
    cdef public int near_count
    cdef public int tied_count
    cdef public int choice_count
    cdef public long long begin
    cdef public int count
    cdef public long long within
    cdef public long long slide
    cdef public long long origin
    cdef public long long longest
    cdef public long long window_begin
    cdef public long long window_end
    cdef public long long summed
    cdef public long long budget
