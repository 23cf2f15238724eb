cdef class Lanes:
    cdef public double[:, ::1] cells
    cdef public double[:, ::1] powers
    cdef public long long[:, ::1] extremes
