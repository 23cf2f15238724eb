# cython: language_level=3
"""The structs of the program, the graph and the search; `tables.py` has their NumPy types."""

from elsinore.operators.conditions.tables cimport Columns, Conditions, Registers

cdef struct State:
    int edges
    int edges_end
    int ends
    int is_free
    int ways
    int ways_end
    int updates
    int updates_end
    int is_leaf
    int relations
    int relations_end
    int early
    int early_end

cdef struct Edge:
    int source
    int target
    int near
    int near_end
    int far
    int far_end
    int late
    int late_end
    int is_free
    int ways
    int ways_end
    int unless
    int unless_end
    int is_plain
    int order
    int bucket
    int limits
    int limits_end
    int relations
    int relations_end
    int early
    int early_end

cdef struct Way:
    int negatives
    int negatives_end

cdef struct Update:
    int kind
    int register
    int column
    int is_whole
    int source
    int width

cdef struct Aggregate:
    long long address
    long long python_address
    int arguments
    int arguments_end
    int place
    int formula

cdef struct Initial:
    double value
    int register

cdef struct Order:
    int target
    int place
    int bound
    int tree
    int places
    int is_equality

cdef struct Bucket:
    int register
    int rows

cdef struct Relation:
    int negative
    int conditions
    int conditions_end
    int is_late
    int bucket
    int limits
    int limits_end

cdef struct EventClass:
    int states
    int states_end

cdef struct Key:
    long long first_row
    long long end_row
    long long new_row
    long long passed
    long long reached
    long long next_row
    long long quiet

cdef struct Event:
    long long time
    long long row
    long long moment
    int node
    int node_end

cdef struct Node:
    double count
    long long until
    int event
    int state
    int soonest
    int later
    int link

cdef struct Frame:
    long long row
    long long until
    int node
    int edge
    int trying
    long long candidate
    long long reference

cdef class Program:
    cdef public EventClass[::1] classes
    cdef public int[::1] class_states
    cdef public State[::1] states
    cdef public Edge[::1] edges
    cdef public Conditions conditions
    cdef public Way[::1] ways
    cdef public int[::1] negatives
    cdef public Update[::1] updates
    cdef public Initial[::1] initials
    cdef public Aggregate[::1] aggregates
    cdef public int[::1] arguments
    cdef public Order[::1] orders
    cdef public Bucket[::1] buckets
    cdef public Relation[::1] relations
    cdef public const unsigned char[:, ::1] forbids
    cdef public int[::1] limits
    cdef public long long failed_row
    cdef public int first_edges
    cdef public int final
    cdef public int final_end
    cdef public int strategy
    cdef public int is_deferred
    cdef public int is_near
    cdef public int has_late
    cdef public int has_late_relations
    cdef public int has_duplicates
    cdef public int has_filters
    cdef public double many
    cdef public int selection
    cdef public long long suppress

cdef class Values(Columns):
    cdef public const long long[:, ::1] negatives
    cdef public const long long[:, ::1] buckets

cdef class Graph:
    cdef public Event[::1] events
    cdef public int[::1] event_of
    cdef public Node[::1] nodes
    cdef public int[::1] links
    cdef public int[::1] heads
    cdef public double[::1] sums
    cdef public int[::1] soonest
    cdef public double[::1] tree_counts
    cdef public int[::1] tree_ends
    cdef public int uses_trees
    cdef public int event_count
    cdef public int node_count
    cdef public int built
    cdef public int[::1] seen_from
    cdef public int[::1] seen_depth
    cdef public long long[::1] began
    cdef public int[::1] came
    cdef public int[::1] closed
    cdef public long long[::1] since

cdef class Window:
    cdef public Key[::1] keys
    cdef public long long within
    cdef public long long slide
    cdef public long long origin
    cdef public long long number
    cdef public long long first_row
    cdef public long long fresh
    cdef public long long lowest
    cdef public long long highest
    cdef public int key
    cdef public int all_rows
    cdef public int is_new
    cdef public int from_event
    cdef public int begin
    cdef public int begin_end
    cdef public int last

cdef class Match(Registers):
    cdef public Frame[::1] frames
    cdef public int depth
    cdef public int first_edge
    cdef public int is_made
    cdef public Frame[::1] best
    cdef public int best_depth
    cdef public int best_event
    cdef public int is_kept
    cdef public int start

cdef class Output:
    cdef public long long[:, ::1] found
    cdef public double[:, ::1] counted
    cdef public int[:, ::1] paths
    cdef public int count
    cdef public int filled
    cdef public int wants_paths
    cdef public int status
    cdef public int counts_exactly
    cdef public long long limit
    cdef public long long guard
    cdef public long long in_window
    cdef public double too_many
    cdef public long long steps
    cdef public long long pause
    cdef public long long budget
