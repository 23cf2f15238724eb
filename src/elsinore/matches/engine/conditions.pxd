from elsinore.matches.engine.tables cimport Match, Program, Values

cdef bint all_hold(Program program, Values values, Match match, int listed, int listed_end, long long current, long long previous, long long before, long long final) noexcept nogil
cdef bint pair_holds(Program program, Values values, int number, long long current, long long previous) noexcept nogil
