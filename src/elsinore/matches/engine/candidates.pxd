from elsinore.matches.engine.tables cimport Graph, Match, Program, Values

cdef long long reference_of(Program program, Match match, int edge, long long previous, long long before) noexcept nogil
cdef long long first_place(Program program, Values values, int edge, long long previous, long long reference, int linked) noexcept nogil
cdef int node_at(Program program, Values values, Graph graph, int edge, long long place, long long reference) noexcept nogil
cdef long long next_place(Program program, Values values, Graph graph, int edge, long long place, long long reference) noexcept nogil
cdef bint is_past_limit(Program program, Values values, Match match, int edge, long long current, long long previous, long long before) noexcept nogil
