from elsinore.quantitative.machine.instructions cimport Value
cdef class Frame:
    cdef public Value[::1] values
    cdef public list objects
    cdef public Py_ssize_t size
    cdef public object transition
    cdef public Py_ssize_t at

cdef class Buffer:
    cdef public Py_ssize_t offset
    cdef public Py_ssize_t count
    cdef public object array
    cdef public Value[::1] values
    cdef public list objects
