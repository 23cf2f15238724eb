from elsinore.matches.engine.tables cimport Graph, Match, Program, Values, Window

cdef void filter_early(Program program, Values values, Graph graph, Window window, Match match) noexcept nogil
