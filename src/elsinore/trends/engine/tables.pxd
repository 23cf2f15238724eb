# cython: language_level=3
"""The structs of the program and of the state; `tables.py` has their NumPy types."""

cdef struct Number:
    double mantissa
    double power

cdef struct Source:
    int cell
    int period
    int read

cdef struct Sum:
    int cell
    int addend
    int sources
    int sources_end

cdef struct Extreme:
    int cell
    int rank
    int sources
    int sources_end

cdef struct Step:
    int block
    int lane
    int lanes
    int sums
    int sums_end
    int extremes
    int extremes_end
    int reads
    int reads_end

cdef struct Read:
    int block
    int lane
    int lanes
    int part
    int parts_end

cdef struct Reset:
    int block
    int lane
    int lanes

cdef struct EventClass:
    int steps
    int steps_end
    int resets
    int resets_end

cdef struct Block:
    int cell
    int width
    int sums
    int extreme
    int extremes
    int flag
    int rows
    int order
    int has_runs
    int is_rising
    int is_next
    int is_contiguous

cdef struct WindowKind:
    long long within
    long long step
    long long origin
    int overlap
    int cell
    int cells_end
    int extreme
    int extremes_end
    int seeds
    int seeds_end
    int ends
    int ends_end
    int blocks
    int blocks_end

cdef struct QueryEnd:
    int query
    int fields
    int fields_end
    int extremes
    int extremes_end
    int pairs

cdef struct Field:
    int places
    int places_end

cdef struct Slot:
    long long time
    long long edge
    int key
    int group
    int touched
    int scaled
    long long rows

cdef struct Range:
    int begin
    int end

cdef struct Leaf:
    int begin
    int count
    int arriving
    int level
    int top

cdef struct Run:
    long long newest
    int begin
    int count

cdef struct Total:
    long long window
    int query
    int group

cdef class Program:
    cdef public EventClass[::1] classes
    cdef public Step[::1] steps
    cdef public Sum[::1] sums
    cdef public Source[::1] sources
    cdef public Extreme[::1] extremes
    cdef public Reset[::1] resets
    cdef public Read[::1] reads
    cdef public Block[::1] blocks
    cdef public WindowKind[::1] kinds
    cdef public QueryEnd[::1] ends
    cdef public Field[::1] fields
    cdef public int[::1] places
    cdef public int[::1] seeds
    cdef public int[::1] known
    cdef public int row_blocks
    cdef public int contiguous_blocks
    cdef public int most_steps

cdef class Batch:
    cdef public const int[::1] slots
    cdef public const int[::1] keys
    cdef public const int[::1] groups
    cdef public const long long[::1] times
    cdef public const long long[::1] codes
    cdef public const double[:, ::1] addends
    cdef public const unsigned char[:, ::1] present
    cdef public bint has_great
    cdef public const long long[:, ::1] ranks
    cdef public const long long[:, ::1] orders
    cdef public const unsigned char[:, ::1] ordered
    cdef public const long long[:, ::1] lows
    cdef public const long long[:, ::1] highs
