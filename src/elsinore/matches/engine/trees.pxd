from elsinore.matches.engine.tables cimport Graph, Program, Values

cdef void put_in(Program program, Values values, Graph graph, int node) noexcept nogil
cdef void clear_path(Program program, Values values, Graph graph, int node) noexcept nogil
cdef void add_smaller(Program program, Values values, Graph graph, int node, int order) noexcept nogil
