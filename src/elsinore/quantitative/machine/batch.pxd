from elsinore.quantitative.machine.frames cimport Buffer
from elsinore.quantitative.machine.memory cimport Memory
from elsinore.quantitative.machine.moments cimport Moment

cdef class Values(Buffer):
    cdef public object form
    cdef public Py_ssize_t width
    cdef public int[::1] tags
    cdef public list earlier

cdef class Batch:
    cdef public list programs
    cdef public list memories
    cdef public const int[::1] classes
    cdef public const int[::1] codes
    cdef public const long long[::1] rows
    cdef public bint has_codes
    cdef public bint has_rows
    cdef public Moment moment
    cdef public Values values
    cdef public long long[::1] places
    cdef public object places_array
    cdef public list last
    cdef public list passed
    cdef public Py_ssize_t taken
    cdef public Py_ssize_t stage
    cdef public object error
