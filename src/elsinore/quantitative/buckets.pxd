cdef class Buckets:
    cdef public long long size
    cdef public long long most_single
    cdef public long long most_wider
    cdef public long long number
    cdef public long long total
    cdef public Py_ssize_t widest
    cdef public long long[:, ::1] rings
    cdef public object array

cdef class Pushes:
    cdef public Buckets before
    cdef public Buckets after
    cdef public unsigned char[::1] marks
    cdef public Py_ssize_t count

cdef class Histogram:
    cdef public Pushes pushes
    cdef public Py_ssize_t at
    cdef public long long estimate
