cdef class Conditions:
    cdef public Condition[::1] conditions
    cdef public Instruction[::1] code
    cdef public int[::1] lists
    cdef public double[::1] constants
    cdef public long long[::1] wholes
    cdef public double[::1] stack
    cdef public long long[::1] whole_stack
    cdef public const long long[::1] member_starts
    cdef public const long long[::1] members
    cdef public int top
    cdef public int whole
    cdef public int has_overflown

cdef class Columns:
    cdef public const double[:, ::1] doubles
    cdef public const long long[:, ::1] integers

cdef class Registers:
    cdef public long long[:, ::1] bound_rows
    cdef public double[:, ::1] numbers
