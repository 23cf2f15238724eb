# cython: language_level=3

cdef struct Slot:
    long long begin
    long long first
    long long end
    long long limit
    long long added
    long long place

cdef class Arena:
    cdef public Slot[::1] slots
    cdef public double[:, ::1] doubles
    cdef public long long[:, ::1] integers
    cdef public long long top
