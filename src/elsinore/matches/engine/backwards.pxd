# cython: language_level=3
"""The structs of queries answered together; `backwards.py` has their NumPy types."""

cdef struct ClassMoves:
    int begins
    int begins_end
    int extends
    int extends_end

cdef struct Begin:
    long long within
    int slot
    int lane
    int is_contiguous
    int changes
    int changes_end

cdef struct Extend:
    int source
    int slot
    int is_contiguous
    int is_end
    int comparisons
    int comparisons_end
    int changes
    int changes_end

cdef struct Change:
    long long below
    long long added

cdef struct Comparison:
    int code
    int is_whole
    int current
    int previous

cdef struct Slot:
    long long last
    long long next
    int numbers

cdef class Merged:
    cdef public ClassMoves[::1] classes
    cdef public Begin[::1] begins
    cdef public Extend[::1] extends
    cdef public Change[::1] changes
    cdef public Comparison[::1] comparisons
    cdef public Slot[::1] slots
    cdef public long long[::1] numbers
    cdef public const long long[::1] first_numbers
    cdef public long long[::1] lane_ends
