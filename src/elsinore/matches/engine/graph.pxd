from elsinore.matches.engine.tables cimport Graph, Match, Program, Values, Window

cdef bint is_free(Program program, Values values, int ways, int ways_end, long long moment, long long before) noexcept nogil
cdef long long last_before(Values values, long long row, long long first_row) noexcept nogil
cdef bint is_open(Program program, Values values, int edge, long long current, long long previous, long long first_row) noexcept nogil
cdef bint may_follow(Program program, Values values, Match match, int edge, long long current, long long previous, long long first_row) noexcept nogil
cdef void gather(Program program, Values values, Graph graph, Window window) noexcept nogil
cdef void build(Program program, Values values, Match match, Graph graph, Window window, int begin, int last) noexcept nogil
cdef bint may_begin(Program program, Graph graph, int event) noexcept nogil
