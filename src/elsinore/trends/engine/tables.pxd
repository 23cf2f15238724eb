# cython: language_level=3
"""The structs of the program and of the state; `tables.py` has their NumPy types."""

from elsinore.operators.conditions.tables cimport Columns

ctypedef Py_ssize_t Index  # of lanes, rows, blocks and so on

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
    int weight

cdef struct Extreme:
    int cell
    int rank
    int sources
    int sources_end
    int least

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
    int carries

cdef struct Read:
    int block
    int kind
    int lane
    int lanes
    int part
    int parts_end
    int conditions
    int conditions_end
    int checks
    int checks_end
    int guard

cdef struct Guard:
    int free
    int free_end
    int unless
    int unless_end

cdef struct Way:
    int negatives
    int negatives_end

cdef struct Watch:
    int negative
    int extreme
    int lanes

cdef struct Reset:
    int block
    int lane
    int lanes

cdef struct EventClass:
    int steps
    int steps_end
    int resets
    int resets_end
    int sections
    int sections_end
    int breaks
    int breaks_end

cdef struct SharingSet:
    int cohorts
    int cohorts_end
    int addends
    int addends_end
    int weights
    int ranks
    int ranks_end
    int leasts
    int spans
    int spans_end
    int queries
    int can_share
    int is_repeated
    int units
    int units_end
    int most_forms
    int readers
    int readers_end
    int parts
    int parts_end
    int cells
    int columns
    int snapshots

cdef struct Reader:
    int read
    int block

cdef struct Part:
    int block
    int reader

cdef struct Unit:
    int pieces
    int pieces_end

cdef struct Piece:
    int span
    int member

cdef struct Break:
    int number
    int units
    int units_end
    int is_whole

cdef struct Cohort:
    int queries

cdef struct Span:
    int number
    int step
    int members
    int members_end
    int overlap
    int cell
    int reader

cdef struct Section:
    double taken
    int number
    int spans
    int spans_end
    int takers
    int takers_end
    int is_whole

cdef struct Graphlet:
    long long left
    long long changed
    long long opened
    double spread
    int forms
    int sharing
    int alone
    int pending
    int snapshots
    int columns
    int first
    int opening

cdef struct Burst:
    long long time
    long long events
    double limit
    double benefit
    int queries
    int before
    int is_observed

cdef struct Counts:
    double length
    double observed
    double taken
    double ended
    double put_in
    double columns
    long long bursts
    long long considered
    long long graphlets
    long long shared
    long long splits
    long long merges
    long long graphlet_snapshots
    long long event_snapshots
    long long most_propagated

cdef struct Record:
    long long time
    long long events
    double benefit
    int number
    int key
    int queries

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
    int is_checked
    int is_anchor
    int merges
    int closing
    int watches
    int watches_end

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
    int opened

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
    int pending
    long long moment
    long long anchors

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
