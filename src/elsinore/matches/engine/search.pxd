from elsinore.matches.engine.tables cimport Graph, Match, Program, Values, Window

cdef bint is_match(Program program, Values values, Graph graph, Window window, Match match) noexcept nogil
cdef void enter(Graph graph, Match match, int node, int edge) noexcept nogil
