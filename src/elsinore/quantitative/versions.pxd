cdef class Counts:
    cdef public dict data
    cdef public object newer
    cdef public object change
    cdef public Py_ssize_t age

cdef class Bag:
    cdef public list data
    cdef public object newer
    cdef public object change
    cdef public Py_ssize_t age
