from elsinore.matches.engine.tables cimport Graph, Match, Output, Program, Values, Window

cdef bint was_seen(Program program, Graph graph, Match match, int node, int depth) noexcept nogil
cdef void note_best(Graph graph, Match match) noexcept nogil
cdef void keep_best(Match match, int depth) noexcept nogil
cdef void give_best(Program program, Values values, Graph graph, Window window, Match match, Output output) noexcept nogil
