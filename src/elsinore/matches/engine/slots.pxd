cdef class Arena:
    cdef public Slot[::1] slots
    cdef public long long[:, ::1] integers
