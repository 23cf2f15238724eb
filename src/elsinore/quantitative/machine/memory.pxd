from elsinore.quantitative.machine.instructions cimport Value
cdef class Control:
    cdef public tuple waiting
    cdef public Py_ssize_t size
    cdef public list transitions

cdef class Memory:
    cdef public Py_ssize_t count
    cdef public Py_ssize_t width
    cdef public list controls
    cdef public object array
    cdef public Value[::1] values
    cdef public list objects
