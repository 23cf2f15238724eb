from elsinore.quantitative.machine.instructions cimport Instruction
from elsinore.quantitative.machine.memory cimport Control
from elsinore.quantitative.machine.tagged cimport Tagged

cdef class Transition:
    cdef public Control target
    cdef public Py_ssize_t slots
    cdef public Py_ssize_t count
    cdef public Instruction[::1] code
    cdef public int[::1] arguments
    cdef public list functions
    cdef public list sources
    cdef public int[::1] constant_slots
    cdef public Py_ssize_t constant_count
    cdef public Tagged constants
    cdef public int[::1] loads
    cdef public Py_ssize_t load_count
    cdef public int[::1] moves
    cdef public Py_ssize_t move_count
    cdef public Py_ssize_t item
    cdef public object value
    cdef public object form
    cdef public int[::1] value_slots
    cdef public bint stays
    cdef public bint is_idle
    cdef public bint may_raise

