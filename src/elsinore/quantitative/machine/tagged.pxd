from elsinore.quantitative.machine.instructions cimport Value
cdef class Tagged:
    cdef public Value[::1] values
    cdef public object array
    cdef public list objects
