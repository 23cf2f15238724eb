from elsinore.matches.engine.possible cimport Worlds

cdef double chance_so_far(Worlds worlds, int depth) noexcept nogil
cdef double chance_of_match(Worlds worlds, int depth) noexcept nogil
