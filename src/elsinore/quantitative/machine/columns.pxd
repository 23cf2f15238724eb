cdef class Column:
    cdef public int kind
    cdef public bint has_nulls
    cdef public const double[::1] numbers
    cdef public const long long[::1] wholes
    cdef public const unsigned char[::1] present
    cdef public list objects

cdef class Rows:
    cdef public object table
    cdef public object record
    cdef public dict lists
    cdef public dict columns
