from elsinore.matches.engine.tables cimport Match, Program, Values

cdef bint is_free(Program program, Values values, int ways, int ways_end, long long moment, long long before) noexcept nogil
cdef long long last_before(Values values, long long row, long long first_row) noexcept nogil
cdef bint is_open(Program program, Values values, int edge, long long current, long long previous, long long first_row) noexcept nogil
cdef bint may_follow(Program program, Values values, Match match, int edge, long long current, long long previous, long long first_row) noexcept nogil
cdef bint near_hold(Program program, Values values, Match match, int edge, long long current, long long previous, int step) noexcept nogil
cdef bint far_hold(Program program, Values values, Match match, int edge, long long current, long long previous, int step) noexcept nogil
