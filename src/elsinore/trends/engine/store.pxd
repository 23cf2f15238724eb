from elsinore.operators.conditions.tables cimport Columns, Conditions, Registers
from elsinore.trends.engine.numbers cimport Lanes
from elsinore.trends.engine.tables cimport Range

cdef class Store:
    cdef public Slot[::1] slots
    cdef public Lanes stored
    cdef public Lanes added
    cdef public Lanes rows
    cdef public Lanes gathered
    cdef public Lanes work
    cdef public Lanes factors
    cdef public unsigned char[:, ::1] emptied
    cdef public int[:, ::1] touched
    cdef public Range[:, ::1] ranges
    cdef public long long[:, ::1] first
    cdef public long long[:, ::1] last
    cdef public unsigned char[::1] seen
    cdef public Leaf[:, ::1] leaves
    cdef public Run[:, :, ::1] runs
    cdef public long long[:, ::1] latest
    cdef public long long[:, ::1] opened
    cdef public long long[::1] row_orders
    cdef public long long[::1] row_moments
    cdef public unsigned char[::1] row_ordered
    cdef public unsigned char[::1] row_taken
    cdef public int[::1] row_columns
    cdef public int[::1] row_next
    cdef public long long[::1] row_anchors
    cdef public unsigned char[::1] anchor_columns
    cdef public double[:, ::1] row_doubles
    cdef public long long[:, ::1] row_integers
    cdef public Columns earlier
    cdef public Conditions conditions
    cdef public Registers registers
    cdef public long long low
    cdef public long long high
    cdef public int[::1] sorted_rows
    cdef public int[::1] free
    cdef public Py_ssize_t row_top
    cdef public int row
    cdef public bint needs_rows
    cdef public Graphlet[:, ::1] graphlets
    cdef public unsigned char[:, ::1] shares
    cdef public double[:, :, ::1] forms
    cdef public long long[:, :, ::1] form_leasts
    cdef public unsigned char[:, ::1] marks
    cdef public double[:, ::1] composed
    cdef public double[:, ::1] composed_powers
    cdef public long long[:, ::1] composed_leasts
    cdef public double[::1] put_prices
    cdef public double[:, ::1] snapshots
    cdef public Burst[:, ::1] bursts
    cdef public Counts[::1] counts
    cdef public double[::1] separate
    cdef public unsigned char[::1] chosen
    cdef public Record[::1] records
    cdef public Py_ssize_t record_count
    cdef public int mode
    cdef public Total[::1] totals
    cdef public double[:, ::1] total_cells
    cdef public double[:, ::1] total_powers
    cdef public long long[:, ::1] total_extremes
    cdef public int[::1] places
    cdef public Py_ssize_t total_count
    cdef public Py_ssize_t most_totals
    cdef public long long matched
    cdef public bint ordered
    cdef public bint one_slot
    cdef public object shape
    cdef public dict per_slot
    cdef public dict per_row
    cdef public dict per_total
