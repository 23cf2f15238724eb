from elsinore.matches.engine.possible cimport Worlds
from elsinore.operators.conditions.tables cimport Columns, Conditions, Registers

cdef class Program:
    cdef public EventClass[::1] classes
    cdef public int[::1] class_states
    cdef public State[::1] states
    cdef public Edge[::1] edges
    cdef public Checks[::1] checks
    cdef public Conditions conditions
    cdef public Guard[::1] guards
    cdef public Way[::1] ways
    cdef public int[::1] negatives
    cdef public Update[::1] updates
    cdef public Initial[::1] initials
    cdef public Aggregate[::1] aggregates
    cdef public int[::1] arguments
    cdef public Order[::1] orders
    cdef public Bucket[::1] buckets
    cdef public Relation[::1] relations
    cdef public int[::1] reads
    cdef public Deadline[::1] deadlines
    cdef public const unsigned char[:, ::1] forbids
    cdef public int[::1] limits
    cdef public long long failed_row
    cdef public int first_edges
    cdef public int final
    cdef public int strategy
    cdef public int is_deferred
    cdef public int decides_early
    cdef public int is_near
    cdef public int is_uncertain
    cdef public int has_late
    cdef public int ends_at_once
    cdef public int has_duplicates
    cdef public int has_filters
    cdef public double many
    cdef public int selection
    cdef public long long suppress

cdef class Values(Columns):
    cdef public const long long[:, ::1] negatives
    cdef public const long long[:, ::1] buckets
    cdef public const long long[:, ::1] listed

cdef class Search(Registers):
    cdef public Values values
    cdef public Worlds worlds
    cdef public Key[::1] keys
    cdef public long long within
    cdef public long long slide
    cdef public long long origin
    cdef public int key
    cdef public long long first_row
    cdef public long long fresh
    cdef public Event[::1] events
    cdef public int[::1] event_of
    cdef public Node[::1] nodes
    cdef public int[::1] links
    cdef public int[::1] heads
    cdef public double[::1] sums
    cdef public int[::1] soonest
    cdef public double[::1] tree_counts
    cdef public int[::1] tree_ends
    cdef public int[::1] seen_from
    cdef public int[::1] seen_depth
    cdef public long long[::1] began
    cdef public int[::1] came
    cdef public int[::1] closed
    cdef public long long[::1] since
    cdef public int uses_trees
    cdef public int event_count
    cdef public int node_count
    cdef public int built
    cdef public long long window_number
    cdef public long long lowest
    cdef public long long highest
    cdef public long long gap_after
    cdef public long long gap_last
    cdef public long long gap_next
    cdef public long long gap_before
    cdef public long long final
    cdef public int all_rows
    cdef public int is_new
    cdef public int from_event
    cdef public int begin
    cdef public int begin_end
    cdef public int last
    cdef public Frame[::1] frames
    cdef public Frame[::1] best
    cdef public Cursor[::1] cursors
    cdef public int depth
    cdef public int first_edge
    cdef public int is_made
    cdef public int best_depth
    cdef public int best_event
    cdef public int is_kept
    cdef public int start
    cdef public long long[:, ::1] match_rows
    cdef public double[:, ::1] match_numbers
    cdef public int[:, ::1] match_paths
    cdef public int count
    cdef public int filled
    cdef public int wants_paths
    cdef public int counts_exactly
    cdef public int status
    cdef public long long limit
    cdef public long long most
    cdef public long long in_window
    cdef public double too_many
    cdef public long long steps
    cdef public long long pause
    cdef public long long budget
