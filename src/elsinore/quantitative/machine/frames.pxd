from elsinore.quantitative.machine.tagged cimport Tagged
cdef class Frame(Tagged):
    cdef public object transition
    cdef public Py_ssize_t at

cdef class Buffer(Tagged):
    cdef public Py_ssize_t offset
    cdef public Py_ssize_t count
