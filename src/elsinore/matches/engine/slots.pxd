cdef class Arena:
    cdef public Slot[::1] slots
    cdef public double[:, ::1] doubles
    cdef public long long[:, ::1] integers
    cdef public long long top
