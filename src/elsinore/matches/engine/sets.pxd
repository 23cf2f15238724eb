
cdef class Sets:
    cdef public const long long[:, ::1] rows
    cdef public const unsigned char[::1] known
    cdef public long long[:, ::1] listed
    cdef public unsigned char[::1] marks
    cdef public int[::1] beside
    cdef public int next_row
    cdef public int filled
    cdef public int event
    cdef public int stop
    cdef public int first
    cdef public int first_edge
