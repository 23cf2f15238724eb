from elsinore.matches.engine.tables cimport Graph, Match, Program, Values, Window

cdef bint next_window(Program program, Values values, Match match, Graph graph, Window window) noexcept nogil
cdef void leave_key(Window window, Graph graph) noexcept nogil
cdef long long first_at(Values values, long long begin, long long end, long long value) noexcept nogil
cdef long long first_number(Window window, long long time) noexcept nogil
