from elsinore.matches.engine.tables cimport Match, Program, Values

cdef bint is_passable(Program program, Values values, Match match, int edge, long long moment, long long last_row, long long first_row, long long following, long long before, long long final) noexcept nogil
