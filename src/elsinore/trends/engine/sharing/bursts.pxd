# cython: language_level=3
from elsinore.trends.engine.store cimport Store
from elsinore.trends.engine.tables cimport Program

cdef void break_bursts(Program program, Store store, Py_ssize_t slot, Py_ssize_t known) noexcept nogil
cdef void end_bursts(Program program, Store store, Py_ssize_t slot) noexcept nogil
cdef void note_event(Program program, Store store, Py_ssize_t slot, Py_ssize_t section, bint has_great) noexcept nogil
cdef void split(Program program, Store store, Py_ssize_t slot, Py_ssize_t number) noexcept nogil
