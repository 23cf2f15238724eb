from elsinore.matches.engine.tables cimport Graph, Match, Output, Program, Values, Window

cdef void gather(Program program, Values values, Graph graph, Window window) noexcept nogil
cdef void build(Program program, Values values, Match match, Graph graph, Window window, int begin, int last) noexcept nogil
cdef bint may_begin(Program program, Graph graph, int event) noexcept nogil
cdef bint is_too_many(Program program, Values values, Match match, Graph graph, Window window, Output output) noexcept nogil
