from elsinore.operators.conditions.tables cimport Columns

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
    cdef public Guard[::1] guards
    cdef public Way[::1] ways
    cdef public int[::1] negatives
    cdef public Watch[::1] watches
    cdef public int[::1] known
    cdef public SharingSet[::1] sets
    cdef public Cohort[::1] cohorts
    cdef public Span[::1] spans
    cdef public Section[::1] sections
    cdef public int[::1] members
    cdef public Range[::1] takers
    cdef public Break[::1] breaks
    cdef public Unit[::1] units
    cdef public Piece[::1] pieces
    cdef public int[::1] touched
    cdef public int[::1] member_units
    cdef public Reader[::1] readers
    cdef public Part[::1] parts
    cdef public double[::1] separate
    cdef public double[::1] values
    cdef public int[::1] shared_addends
    cdef public int[::1] shared_ranks
    cdef public int row_blocks
    cdef public int most_parts
    cdef public bint has_anchors
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
    cdef public Columns values
