from elsinore.quantitative.machine.memory cimport Memory
from elsinore.quantitative.machine.tagged cimport Tagged

cdef class Moment:
    cdef public object items
    cdef public list rows_columns
    cdef public list attributes
    cdef public bint is_row
    cdef public Py_ssize_t row
    cdef public Py_ssize_t item_class
    cdef public list undo
    cdef public list frames
    cdef public Tagged scratch
    cdef public Py_ssize_t depth
    cdef public object known_item
    cdef public bint has_item
    cdef public bint may_raise

cdef class Keys:
    cdef public object program
    cdef public Memory memory
    cdef public list names
    cdef public dict codes
    cdef public dict outputs
    cdef public int[::1] small
    cdef public Py_ssize_t small_count
    cdef public object small_array
    cdef public Py_ssize_t attribute
