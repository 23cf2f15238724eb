from elsinore.matches.engine.tables cimport Graph, Match, Program, Values, Window

cdef bint is_match(Program program, Values values, Graph graph, Window window, Match match) noexcept nogil
cdef bint is_gap_free(Program program, Values values, Window window, Match match, int edge, long long row, long long previous, long long before, long long final) noexcept nogil
