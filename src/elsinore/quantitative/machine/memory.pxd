from elsinore.quantitative.machine.tagged cimport Tagged
cdef class Control:
    cdef public tuple waiting
    cdef public Py_ssize_t size
    cdef public list transitions

cdef class Memory(Tagged):
    cdef public Py_ssize_t count
    cdef public Py_ssize_t width
    cdef public list controls
