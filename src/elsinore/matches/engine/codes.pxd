# cython: language_level=3
"""The codes of `codes.py`, as constants of compiled code."""

cdef enum Strategy:
    ANY = 0
    NEXT = 1
    CONTIGUOUS = 2

cdef enum Selection:
    ALL = 0
    NEXT_EVENT = 1
    LAST_EVENT = 2

cdef enum Formula:
    CALL = 0
    VAR_POP = 1
    STDDEV_POP = 2
    VARIANCE = 3
    STDDEV = 4

cdef enum:
    TIME = 0
    CLASS = 1
    MOMENT = 2

cdef enum Status:
    DONE = 0
    FULL = 1
    TOO_MANY = 2
    LIMITED = 3
    TOO_LONG = 4
    DEEP = 5
    PAUSED = 6
    FAILED = 7

cdef enum:
    BEGINS_AT = 0
    ENDS_AT = 1
    IN_WINDOW = 2
    PATH = 3
    BOUND = 4

cdef enum:
    BEGINS = 0
    WINDOW = 1
    ENDS = 2
    KEY_FIRST = 3
