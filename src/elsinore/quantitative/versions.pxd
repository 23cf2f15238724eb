cdef class Version:
    cdef public object data
    cdef public object newer
    cdef public object change
    cdef public Py_ssize_t age

cdef class Counts(Version):
    pass

cdef class Bag(Version):
    pass
