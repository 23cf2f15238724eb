from elsinore.matches.engine.tables cimport Match, Program, Values

cdef bint all_hold(Program program, Values values, Match match, int listed, int listed_end, long long current, long long previous, long long before, long long final) noexcept nogil
cdef bint comparison_holds(Program program, Values values, Match match, int number, long long current, long long previous, long long before) noexcept nogil
