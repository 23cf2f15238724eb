from elsinore.matches.engine.tables cimport Graph, Match

cdef void enter(Graph graph, Match match, int node, int edge) noexcept nogil
