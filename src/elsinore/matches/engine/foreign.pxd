# cython: language_level=3
"""Calling a function by its address: an aggregate that a user defined, compiled or in Python."""

ctypedef long long (*Step)(double*) noexcept nogil

cdef inline long long call_step(long long address, double[:, ::1] numbers, Py_ssize_t row, Py_ssize_t place) noexcept nogil:
    return (<Step><Py_ssize_t>address)(&numbers[row, place])
