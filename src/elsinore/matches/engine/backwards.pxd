from elsinore.matches.engine.tables cimport Key
from elsinore.operators.conditions.tables cimport Conditions, Registers

cdef class Merged:
    cdef public Key[::1] keys
    cdef public ClassMoves[::1] classes
    cdef public Begin[::1] begins
    cdef public Extend[::1] extends
    cdef public Change[::1] changes
    cdef public Conditions conditions
    cdef public Registers registers
    cdef public Slot[::1] slots
    cdef public long long[::1] numbers
    cdef public const long long[::1] first_numbers
    cdef public long long[::1] lane_ends
