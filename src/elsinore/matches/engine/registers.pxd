from elsinore.matches.engine.tables cimport Graph, Match, Output, Program, Values

cdef void begin_registers(Program program, Match match) noexcept nogil
cdef void select(Program program, Values values, Match match, int state, long long row, int step) noexcept nogil
cdef void give_out(Graph graph, Match match, Output output, long long window) noexcept nogil
cdef void give_out_leaf(Program program, Values values, Graph graph, Match match, Output output, int node, long long window) noexcept nogil
cdef void step_aggregate(Program program, Values values, Match match, int aggregate, int place, long long row, int step) noexcept nogil
cdef void take_over(Program program, Match match, int update, int step) noexcept nogil
